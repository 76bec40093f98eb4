package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// StageDir is where a run's files wait, below the git directory.
const StageDir = "mcpstrata/stage"

const (
	manifestName = "manifest.json"
	filesName    = "files"
	done         = ".done" // suffix of a stage that is no longer needed
)

// A Manifest says what a stage holds and how it is to be committed. Its presence
// makes the stage whole.
type Manifest struct {
	Files   []StagedFile `json:"files"`
	Message string       `json:"message"`
	Parent  string       `json:"parent"` // commit that the run was compared with; "" before the first
	Removed []string     `json:"removed"`
	Run     string       `json:"run"`
	When    record.Time  `json:"when"`
}

// A StagedFile is one file of a stage: its n-th file, by the number in its name.
type StagedFile struct {
	Path   string       `json:"path"` // relative to the data folder
	SHA256 canon.Digest `json:"sha256"`
}

// Paths returns the paths of the files of m.
func (m Manifest) Paths() []string {
	paths := make([]string, len(m.Files))
	for i, f := range m.Files {
		paths[i] = f.Path
	}
	return paths
}

// A Stage collects the files of one run outside the data folder until all of
// them are durable.
type Stage struct {
	dir      string // <git dir>/mcpstrata/stage
	step     func(string) error
	manifest Manifest
}

// NewStage begins an empty stage below gitDir. It fails where one exists: see
// [OpenStage]. The step function, which may be nil, is called before each
// durable step; its error stops the stage at once, as a crash would.
func NewStage(gitDir string, step func(string) error) (*Stage, error) {
	s := newStage(gitDir, step)
	if err := s.step("stage: make folder"); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o777); err != nil {
		return nil, fmt.Errorf("staging: %w", err)
	}
	if err := os.RemoveAll(s.dir + done); err != nil {
		return nil, fmt.Errorf("removing the stage of an earlier run: %w", err)
	}
	if err := os.Mkdir(s.dir, 0o777); err != nil {
		return nil, fmt.Errorf("staging: %w", err)
	}
	if err := os.Mkdir(filepath.Join(s.dir, filesName), 0o777); err != nil {
		return nil, fmt.Errorf("staging: %w", err)
	}
	return s, nil
}

func newStage(gitDir string, step func(string) error) *Stage {
	if step == nil {
		step = func(string) error { return nil }
	}
	return &Stage{dir: filepath.Join(gitDir, filepath.FromSlash(StageDir)), step: step,
		manifest: Manifest{Files: []StagedFile{}, Removed: []string{}}}
}

// OpenStage opens the stage that a run left below gitDir. It returns nil where
// there is none, and whole=false where the run died before its stage was whole.
func OpenStage(gitDir string, step func(string) error) (s *Stage, whole bool, err error) {
	s = newStage(gitDir, step)
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, fmt.Errorf("opening the stage: %w", err)
	}
	b, err := os.ReadFile(filepath.Join(s.dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err == nil {
		err = record.Decode(b, &s.manifest)
	}
	if err != nil {
		return nil, false, &DamagedError{s.dir, err}
	}
	return s, true, nil
}

// A DamagedError reports a stage whose manifest can't be read.
type DamagedError struct {
	Dir string // of the stage
	Err error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("reading the manifest of the stage %s: %v", e.Dir, e.Err)
}

// Unwrap returns why.
func (e *DamagedError) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *DamagedError) Hint() string {
	return "the run that it holds can't be recorded any more: remove that folder and run again"
}

// Manifest returns what the stage holds.
func (s *Stage) Manifest() Manifest { return s.manifest }

// Put stages a file at a path relative to the data folder. Each path is put
// once.
func (s *Stage) Put(name string, b []byte) error {
	if err := s.step("stage: " + name); err != nil {
		return err
	}
	if err := os.WriteFile(s.file(len(s.manifest.Files)), b, 0o666); err != nil {
		return fmt.Errorf("staging %s: %w", name, err)
	}
	s.manifest.Files = append(s.manifest.Files, StagedFile{name, canon.Sum(b)})
	return nil
}

// Remove stages the removal of a file.
func (s *Stage) Remove(name string) error {
	s.manifest.Removed = append(s.manifest.Removed, name)
	return nil
}

func (s *Stage) file(i int) string { return filepath.Join(s.dir, filesName, strconv.Itoa(i)) }

// Seal makes the stage durable and whole: everything is synced once, then the
// manifest is renamed into place.
func (s *Stage) Seal(run, parent, message string, when record.Time) error {
	s.manifest.Run, s.manifest.Parent, s.manifest.Message, s.manifest.When = run, parent, message, when
	if err := s.step("stage: sync files"); err != nil {
		return err
	}
	if err := syncTree(filepath.Join(s.dir, filesName)); err != nil {
		return fmt.Errorf("syncing the stage: %w", err)
	}
	if err := s.step("stage: write manifest"); err != nil {
		return err
	}
	err := WriteDurable(filepath.Join(s.dir, manifestName), func(w io.Writer) error {
		_, err := w.Write(record.File(s.manifest))
		return err
	})
	if err != nil {
		return fmt.Errorf("sealing the stage: %w", err)
	}
	return nil
}

// Dir returns the folder of the stage, for messages.
func (s *Stage) Dir() string { return s.dir }

// Apply copies the files of a sealed stage into the data folder dataDir, and
// removes what is to be removed. Each file is in place whole or not at all, and
// all are durable when it returns. The stage keeps its own copy until
// [Stage.Discard], so Apply can be repeated whatever became of the data folder.
func (s *Stage) Apply(dataDir string) error {
	if err := os.MkdirAll(dataDir, 0o777); err != nil {
		return fmt.Errorf("making the data folder: %w", err)
	}
	root, err := os.OpenRoot(dataDir)
	if err != nil {
		return fmt.Errorf("opening the data folder: %w", err)
	}
	defer root.Close()
	for i, f := range s.manifest.Files {
		if err := s.step("place: " + f.Path); err != nil {
			return err
		}
		if err := s.place(root, i, f); err != nil {
			return fmt.Errorf("placing %s: %w", f.Path, err)
		}
	}
	for _, name := range s.manifest.Removed {
		if err := s.step("remove: " + name); err != nil {
			return err
		}
		if err := root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing %s: %w", name, err)
		}
		removeEmpty(root, path.Dir(name))
	}
	if err := s.step("place: sync"); err != nil {
		return err
	}
	return syncTree(dataDir)
}

// place copies staged file i to a temporary name beside where it belongs and
// renames it.
func (s *Stage) place(root *os.Root, i int, f StagedFile) error {
	local, err := filepath.Localize(f.Path)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(s.file(i))
	if err != nil {
		return err
	}
	if got := canon.Sum(b); got != f.SHA256 {
		return fmt.Errorf("the stage holds %s, not %s", got, f.SHA256)
	}
	if err := root.MkdirAll(filepath.Dir(local), 0o777); err != nil {
		return err
	}
	if fi, err := root.Lstat(local); err == nil && !fi.Mode().IsRegular() {
		return fmt.Errorf("there is something else than a file")
	}
	tmp := Unplaced(local)
	if err := root.WriteFile(tmp, b, 0o666); err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	return root.Rename(tmp, local)
}

// Unplaced returns the name under which a file is written before it is renamed
// into place. + never occurs in a slug, and no other file ends so.
func Unplaced(name string) string { return name + "+tmp" }

// removeEmpty removes the folders from dir upwards as long as they are empty.
func removeEmpty(root *os.Root, dir string) {
	for dir != "." && root.Remove(filepath.FromSlash(dir)) == nil {
		dir = path.Dir(dir)
	}
}

// Discard removes the stage: at once for who opens it, then file by file.
func (s *Stage) Discard() error {
	if err := s.step("stage: remove"); err != nil {
		return err
	}
	if err := os.RemoveAll(s.dir + done); err != nil {
		return fmt.Errorf("removing the stage: %w", err)
	}
	if err := os.Rename(s.dir, s.dir+done); err != nil {
		return fmt.Errorf("removing the stage: %w", err)
	}
	if err := s.step("stage: remove files"); err != nil {
		return err
	}
	if err := os.RemoveAll(s.dir + done); err != nil {
		return fmt.Errorf("removing the stage: %w", err)
	}
	return nil
}

// WriteDurable writes a file whole or not at all: to a temporary name, synced,
// renamed, and its folder synced. It takes no part in a stage.
func WriteDurable(name string, write func(io.Writer) error) error {
	f, err := os.Create(name + ".tmp")
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(name+".tmp"))
	}
	return syncDir(filepath.Dir(name))
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
