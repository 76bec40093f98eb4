package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Source is what is started: a package of npm, or the file of a program.
type Source struct {
	Package string // name, such as @scope/name; "" for a file
	Version string // exact
	Path    string // of the file; "" for a package
}

// The grammar of npm: the name as in the schema of package.json, capitals as in
// names of before 2015, and no leading hyphen, which a program could take for a
// flag; the version as in Semantic Versioning 2.0.0.
var (
	npmName    = regexp.MustCompile(`^(@[A-Za-z0-9~][A-Za-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*$`)
	npmVersion = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
)

// Lengths in bytes that npm allows.
const (
	maxNPMName    = 214
	maxNPMVersion = 256
)

// ParseSource reads npm:NAME@VERSION, where the version is exact, or cmd:PATH.
func ParseSource(s string) (Source, error) {
	if path, ok := strings.CutPrefix(s, "cmd:"); ok {
		if path == "" || strings.ContainsRune(path, 0) {
			return Source{}, fmt.Errorf("%q names no program", s)
		}
		return Source{Path: path}, nil
	}
	spec, ok := strings.CutPrefix(s, "npm:")
	if !ok {
		return Source{}, fmt.Errorf("%.300q: it is npm:NAME@VERSION or cmd:PATH", s)
	}
	i := strings.LastIndexByte(spec, '@')
	if i <= 0 {
		return Source{}, fmt.Errorf("%.300q has no version: it is npm:NAME@VERSION", s)
	}
	src := Source{Package: spec[:i], Version: spec[i+1:]}
	bare := src.Package[strings.IndexByte(src.Package, '/')+1:]
	switch {
	case len(src.Package) > maxNPMName, !npmName.MatchString(src.Package), bare == "node_modules", bare == "favicon.ico":
		return Source{}, fmt.Errorf("%.300q is not the name of a package", src.Package)
	case len(src.Version) > maxNPMVersion, !npmVersion.MatchString(src.Version):
		return Source{}, fmt.Errorf("%.300q is not an exact version, such as 1.2.3", src.Version)
	}
	return src, nil
}

// maxManifest bounds a package.json, in bytes.
const maxManifest = 1 << 20

// program reads the package.json of the package that was installed below dir, and
// returns its version and the path of its program from dir. Nothing in it is
// trusted as a path.
func (s Source) program(dir string) (version, path string, err error) {
	folder := filepath.Join("node_modules", filepath.FromSlash(s.Package))
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", "", err
	}
	defer root.Close()
	f, err := root.Open(filepath.Join(folder, "package.json"))
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxManifest))
	if err != nil {
		return "", "", err
	}
	var manifest struct {
		Name, Version string
		Bin           json.RawMessage
	}
	if err := json.Unmarshal(b, &manifest); err != nil {
		return "", "", fmt.Errorf("reading its package.json: %w", err)
	}
	if manifest.Name != s.Package || !npmVersion.MatchString(manifest.Version) {
		return "", "", fmt.Errorf("its package.json is that of %.100q, version %.100q", manifest.Name, manifest.Version)
	}
	bin, err := s.bin(manifest.Bin)
	if err != nil {
		return "", "", err
	}
	local, err := filepath.Localize(strings.TrimPrefix(bin, "./"))
	if err != nil {
		return "", "", fmt.Errorf("its program %.200q is not a path in it", bin)
	}
	path = filepath.Join(folder, local)
	if info, err := root.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "", "", fmt.Errorf("its program %.200q is not there", bin)
	}
	return manifest.Version, path, nil
}

// bin returns the program that bin of package.json declares: the only one, or of
// several the one that is called as the package is, as npx chooses.
func (s Source) bin(raw json.RawMessage) (string, error) {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return one, nil
	}
	var many map[string]string
	if len(raw) == 0 || json.Unmarshal(raw, &many) != nil || len(many) == 0 {
		return "", errors.New("it declares no program")
	}
	paths := slices.Compact(slices.Sorted(maps.Values(many)))
	if len(paths) == 1 {
		return paths[0], nil
	}
	if p, ok := many[s.Package[strings.IndexByte(s.Package, '/')+1:]]; ok {
		return p, nil
	}
	return "", fmt.Errorf("it declares %d programs, none with its name", len(paths))
}
