// Package audit checks the tree by every rule.
//
// # What is checked
//
// [Rules] is the list. A data folder is sound when every file in it is one that
// the archive writes and none is missing; when each has the bytes that the run
// records, the rows and the indexes state; when every row, event and count
// follows from the dated files before it, as far as these show it; and when the registry's pages can be
// rebuilt. What a run wrote is recomputed here on its own, from the dated files,
// and not by the code that wrote it.
//
// # First causes
//
// One flipped byte is one fault. A file has at most one; what is derived from a
// file that is known to be wrong is not checked against it. So a tree may show
// further faults once the first are mended. Where the newest commit is known, a
// file that differs from it is blamed before one that does not.
//
// # What is not checked
//
// Bodies that are no longer in the tree: that git has the object which an index
// states is checked, its bytes are not. So the classes and the changes of a drift
// are taken as written, and which contracts an unstable server gave on a day before
// its newest unstable one: they are what those bodies said. Of a second reading
// that failed or was not made the rows don't tell which. Everything else in an
// event is derived anew.
//
// What a server sent, and when, beyond what the archive holds of it: a tree that
// was made up whole, every digest included, has no fault. Nor is a body that was
// removed on request looked for in the history of git; there it may still be.
//
// Without a newest commit to compare
// with, the newest run record is checked only for what follows from the rest.
//
// # Mending
//
// Every fault names a command. A file of the work tree that the newest commit
// has otherwise is checked out, a stray one is removed. Where the commit itself
// is wrong, the command lists the commits that touched the file, or takes the
// bytes of a body from git by the id that the index states.
package audit

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A Config names what is checked. The zero value of each member but FS means
// that it is not known.
type Config struct {
	FS fs.FS // the data folder, as it is

	// Data is the data folder as the user would write it in a command, and Git
	// the command that reaches its repository from there: "git", or "git -C DIR".
	Data, Git string

	// Committed is the git object id of every file of the newest commit, by path
	// in the data folder. Nil: there is no commit to compare with.
	Committed map[string]string

	// Has reports whether the repository holds an object. Nil: there is no
	// repository, or it holds only part of the history.
	Has func(id string) bool
}

// A Fault is one file that breaks a rule.
type Fault struct {
	Path string `json:"path"` // the data folder as given, and the path in it; as a quoted Go string if it is not UTF-8
	Rule string `json:"rule"` // an ID of Rules
	Says string `json:"says"` // what is wrong, one sentence without a full stop; may quote hostile text
	Mend string `json:"mend"` // the command that mends it, or shows where it went wrong
}

// A Report is what was found, by path, and what was looked at.
type Report struct {
	Faults  []Fault        `json:"faults"`
	Checked map[string]int `json:"checked"` // files, runs, rows, events, bodies, pages
}

// Check checks a data folder. The error says that it could not be read, or that
// ctx ended; what is wrong in it is in the Report.
func Check(ctx context.Context, cfg Config) (*Report, error) {
	if cfg.Git == "" {
		cfg.Git = "git"
	}
	a := &auditor{Config: cfg, tree: archive.Open(cfg.FS), files: map[string]fs.FileMode{}, sums: map[string]sum{},
		found: map[string]finding{}, expected: map[string]bool{}, indexed: map[canon.Digest]bool{},
		newest: map[string]entryIn{}, unstable: map[string]map[string]rejection{}, tombs: map[canon.Digest]bool{}, checked: map[string]int{}}
	for _, stage := range []func(context.Context) error{
		a.walk, a.sumFiles, a.checkRoot, a.checkRuns, a.checkIndexes, a.checkRoster, a.checkLines, a.checkBodies, a.checkPresence, a.checkCommitted,
	} {
		if err := stage(ctx); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return a.report(), nil
}

// sum is what a file's bytes hash to.
type sum struct {
	sha256 canon.Digest
	blob   string // git's object id; empty when no commit is known
	size   int64
}

// auditor is the state of one Check.
type auditor struct {
	Config
	tree  *archive.Tree
	files map[string]fs.FileMode // everything but folders, by path
	sums  map[string]sum         // of regular files, once read

	mu      sync.Mutex // guards found, sums and checked while bodies are read
	racing  bool       // bodies are read: which fault of a file comes first is chance
	found   map[string]finding
	checked map[string]int

	expected map[string]bool // paths that belong to the tree; true: the file has to be there
	open     []string        // path prefixes of which it is not known what belongs there

	runs    []*run
	roster  *rosterState
	indexed map[canon.Digest]bool   // digests of all index entries that were read
	holes   bool                    // an index could not be read
	newest  map[string]entryIn      // newest index entry, by path below the series
	tombs   map[canon.Digest]bool   // bodies removed on request
	lines   map[string]*observation // by methodology

	unsure   bool                            // the events of a run can't be relied on, so the newest unstable days are not known
	unstable map[string]map[string]rejection // by methodology and name: the newest unstable day
}

// finding is a fault before its path and mend are written out.
type finding struct {
	rule, says string
	raced      bool // found while bodies were read
}

// fault records what is wrong with a file, unless something is known already. Of
// what is found in no order, the least by rule and words is kept.
func (a *auditor) fault(name, rule, format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := finding{rule, fmt.Sprintf(format, args...), a.racing}
	old, ok := a.found[name]
	if !ok || old.raced && f.raced && cmp.Or(strings.Compare(f.rule, old.rule), strings.Compare(f.says, old.says)) < 0 {
		a.found[name] = f
	}
}

// faulty reports whether something is known to be wrong with a file.
func (a *auditor) faulty(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.found[name]
	return ok
}

// dirty reports whether a file differs from the newest commit, as far as that is
// known.
func (a *auditor) dirty(name string) bool {
	if a.Committed == nil {
		return false
	}
	id, tracked := a.Committed[name]
	if _, exists := a.files[name]; !exists {
		return tracked
	}
	if !fs.ValidPath(name) { // its bytes can't be compared
		return !a.tracked(name)
	}
	return !tracked || a.sums[name].blob != id
}

// suspect reports whether a file is faulty, differs from the newest commit, or
// should be there and is not.
func (a *auditor) suspect(name string) bool {
	return a.faulty(name) || a.dirty(name) || a.expected[name] && !a.regular(name)
}

// blame returns the first suspect of several files that contradict each other,
// and the first of all if there is none.
func (a *auditor) blame(names ...string) string {
	for _, n := range names {
		if a.suspect(n) {
			return n
		}
	}
	return names[0]
}

func (a *auditor) regular(name string) bool {
	mode, ok := a.files[name]
	return ok && mode.IsRegular()
}

// read returns a regular file, and nil if there is none.
func (a *auditor) read(name string) ([]byte, error) {
	if !a.regular(name) {
		return nil, nil
	}
	b, err := fs.ReadFile(a.FS, name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path.Join(a.Data, name), err)
	}
	return b, nil
}

// sumOf hashes the bytes of a file.
func (a *auditor) sumOf(b []byte) sum {
	s := sum{sha256: canon.Sum(b), size: int64(len(b))}
	if a.Committed != nil {
		s.blob = gitrepo.BlobID(b)
	}
	return s
}

// walk lists every file.
func (a *auditor) walk(ctx context.Context) error {
	err := fs.WalkDir(a.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case !fs.ValidPath(name): // cannot be opened
			a.files[name] = d.Type() | fs.ModeIrregular
			a.fault(name, "unexpected-file", "its name is not UTF-8, and the archive writes no such name")
			if d.IsDir() {
				return fs.SkipDir
			}
		case name == ".git" && d.IsDir(): // the data folder is the whole work tree
			return fs.SkipDir
		case name != ".git" && !d.IsDir():
			a.files[name] = d.Type()
		}
		return ctx.Err()
	})
	if err != nil {
		return fmt.Errorf("reading %s: %w", a.Data, err)
	}
	return nil
}

// isBody reports whether a file is one of the many that are read once, when the
// row that they belong to is known.
func isBody(name string) bool {
	rest, ok := strings.CutPrefix(name, archive.Dir+"/")
	return ok && (strings.HasPrefix(rest, "contracts/") ||
		strings.HasPrefix(rest, "artifacts/") && !strings.HasPrefix(rest, "artifacts/index/"))
}

// sumFiles hashes the other files.
func (a *auditor) sumFiles(ctx context.Context) error {
	return a.sumWhere(ctx, func(name string) bool { return !isBody(name) })
}

// sumWhere hashes the regular files whose name is wanted.
func (a *auditor) sumWhere(ctx context.Context, wanted func(name string) bool) error {
	for name, mode := range a.files {
		if !mode.IsRegular() || !wanted(name) {
			continue
		}
		b, err := a.read(name)
		if err != nil {
			return err
		}
		a.sums[name] = a.sumOf(b)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// checkPresence compares the files that are there with those that belong there.
func (a *auditor) checkPresence(context.Context) error {
	for name, mode := range a.files {
		_, belongs := a.expected[name]
		switch {
		case !mode.IsRegular():
			a.fault(name, "unexpected-file", "it is %s, and the tree holds files only", kindOf(mode))
		case belongs || a.unknown(name):
		default:
			a.fault(name, "unexpected-file", "no record of the tree has a file there")
		}
	}
	for name, must := range a.expected {
		if _, exists := a.files[name]; must && !exists && !a.hidden(name) {
			a.fault(name, "missing-file", "it is not there, and a record of the tree says that it should be")
		}
	}
	return nil
}

// unknown reports whether what belongs at a path hangs on a file that can't be
// trusted.
func (a *auditor) unknown(name string) bool {
	return slices.ContainsFunc(a.open, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// hidden reports whether something that is no folder stands where a folder of
// the path should be.
func (a *auditor) hidden(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := a.files[dir]; ok {
			return true
		}
	}
	return false
}

func kindOf(mode fs.FileMode) string {
	if mode&fs.ModeSymlink != 0 {
		return "a symbolic link"
	}
	return "not a regular file"
}

// checkCommitted finds what else differs from the newest commit.
func (a *auditor) checkCommitted(ctx context.Context) error {
	if a.Committed == nil {
		return nil
	}
	if err := a.sumRest(ctx); err != nil {
		return err
	}
	for name := range a.Committed {
		if _, exists := a.files[name]; !exists && !a.hidden(name) {
			a.fault(name, "committed", "the newest commit has it, the work tree does not")
		}
	}
	for name := range a.files {
		if !a.dirty(name) {
			continue
		}
		if _, tracked := a.Committed[name]; tracked {
			a.fault(name, "committed", "it differs from the newest commit")
		} else {
			a.fault(name, "committed", "the newest commit does not have it")
		}
	}
	return nil
}

// sumRest hashes the files that no rule has read.
func (a *auditor) sumRest(ctx context.Context) error {
	return a.sumWhere(ctx, func(name string) bool {
		_, done := a.sums[name]
		return !done
	})
}

// tracked reports whether the newest commit has a file there or, where the name
// of a folder can't be opened, below it.
func (a *auditor) tracked(name string) bool {
	if _, ok := a.Committed[name]; ok || !a.files[name].IsDir() {
		return ok
	}
	for other := range a.Committed {
		if strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

// report writes out the findings, sorted by path.
func (a *auditor) report() *Report {
	a.checked["files"], a.checked["runs"] = len(a.files), len(a.runs)
	r := &Report{Faults: []Fault{}, Checked: a.checked}
	for _, name := range slices.Sorted(maps.Keys(a.found)) {
		f := a.found[name]
		says, mend := a.mend(name, f)
		r.Faults = append(r.Faults, Fault{Path: quoted(path.Join(a.Data, name)), Rule: f.rule, Says: says, Mend: mend})
	}
	return r
}

// quoted returns a path as it is if JSON can hold it, and otherwise in quotes and
// with escapes, as Go writes strings.
func quoted(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return strconv.Quote(name)
}

// mend returns what is said of a fault and the command that mends it.
func (a *auditor) mend(name string, f finding) (says, command string) {
	target := Quote(path.Join(a.Data, name))
	mode, exists := a.files[name]
	rm := "rm -f -- "
	if mode.IsDir() {
		rm = "rm -rf -- "
	}
	if a.Committed == nil {
		if f.rule == "unexpected-file" || f.rule == "tombstone" && name != tombsPath {
			return f.says, rm + target
		}
		return f.says + "; no git repository holds this folder, so take the file from another copy of the dataset", "cp COPY/" + Quote(name) + " " + target
	}
	tracked := a.tracked(name)
	switch {
	case f.rule == "tombstone" && name != tombsPath && tracked && !a.dirty(name):
		return f.says + "; the newest commit has it so: remove it, and commit that", a.Git + " rm -- " + target
	case !tracked && exists:
		command = rm + target
		for other := range a.Committed {
			if strings.HasPrefix(other, name+"/") {
				return f.says, command + " && " + a.Git + " checkout HEAD -- " + target
			}
		}
		return f.says, command
	case tracked && a.dirty(name):
		return f.says, a.Git + " checkout HEAD -- " + target
	}
	says = f.says + "; the newest commit has it so"
	if blob, ok := a.restorable(name); ok && f.rule != "unexpected-file" {
		command = a.Git + " cat-file blob " + blob + " > " + target
		if !exists {
			command = "mkdir -p " + Quote(path.Join(a.Data, path.Dir(name))) + " && " + command
		}
		return says, command
	}
	return says + ": find the commit that did it, and revert it", a.Git + " log --oneline -- " + target
}

// restorable returns the git object that the indexes state for a body which the
// newest commit has otherwise; never one that was removed on request.
func (a *auditor) restorable(name string) (blob string, ok bool) {
	e, ok := a.newest[strings.TrimPrefix(name, archive.Dir+"/")]
	if !ok || a.tombs[e.SHA256] || a.Has == nil || a.Committed[name] == e.Blob || !a.Has(e.Blob) {
		return "", false
	}
	return e.Blob, true
}

// Quote returns s as one word of a shell command. What a terminal would not show
// as it is, is written in octal.
func Quote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	if s != "" && strings.Trim(s, plain) == "" && s[0] != '-' {
		return s
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(plain, s[i]) >= 0 && s[i] != '%' {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, `\%03o`, s[i])
		}
	}
	return `"$(printf '` + b.String() + `')"`
}

// decodeLines reads a file of lines, each of which has to be as [record.Line]
// writes it. It returns false, and the fault is known, if one is not.
func decodeLines[T any](a *auditor, name string, b []byte) ([]T, bool) {
	var out []T
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		var v T
		if !decodeLine(a, name, n, line, &v) {
			return out, false
		}
		out = append(out, v)
	}
	return out, true
}

func decodeLine(a *auditor, name string, n int, line string, v any) bool {
	if err := record.Decode([]byte(line), v); err != nil {
		a.fault(name, "canonical-form", "line %d can't be read: %v", n, err)
		return false
	}
	if string(record.Line(v)) != line {
		a.fault(name, "canonical-form", "line %d is not written as the archive writes it: sorted members, no white space, LF", n)
		return false
	}
	return true
}

// decodeFile reads a file that holds one record, as [record.File] writes it.
func decodeFile(a *auditor, name string, b []byte, v any) bool {
	if err := record.Decode(b, v); err != nil {
		a.fault(name, "canonical-form", "it can't be read: %v", err)
		return false
	}
	if string(record.File(v)) != string(b) {
		a.fault(name, "canonical-form", "it is not written as the archive writes it: sorted members, one space of indent, LF")
		return false
	}
	return true
}

// sortedBy returns the number of the first element, from 1, that is not after
// the one before it, and 0 if all are.
func sortedBy[T any](s []T, compare func(a, b T) int) int {
	for i := 1; i < len(s); i++ {
		if compare(s[i-1], s[i]) >= 0 {
			return i + 1
		}
	}
	return 0
}

func compareBodies(x, y record.Body) int { return strings.Compare(x.Path, y.Path) }

func compareEvents(x, y record.Event) int {
	return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(string(x.Kind), string(y.Kind)), strings.Compare(x.Methodology, y.Methodology))
}
