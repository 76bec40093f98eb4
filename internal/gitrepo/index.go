package gitrepo

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/hash"
)

// The form of the index is gitformat-index(5). go-git's own reader and writer
// are not used: they lose the assume-valid flag, write extended flags into
// version 2, and take a second for the 46,000 entries that this takes 30 ms for.

// errIndexForm is wrapped by the errors of readIndex that mean a form of index
// which only git itself can write.
var errIndexForm = errors.New("a form of index that only git itself can write")

// errIndexBroken is wrapped by the errors of parseIndex that mean that the bytes
// are wrong.
var errIndexBroken = errors.New("the index file is broken")

const (
	flagAssumeValid  = 0x8000
	flagExtended     = 0x4000
	flagStage        = 0x3000
	flagName         = 0x0fff
	extSkipWorktree  = 0x4000
	modeRegular      = 0o100644
	modeSubmodule    = 0o160000
	indexHeader      = 12 // bytes: DIRC, version, number of entries
	indexEntry       = 62 // bytes of an entry before extended flags and name
	indexExtension   = 8  // bytes: signature, size
	maxIndexVersion  = 4
	minIndexVersion  = 2
	freshIndex       = 2 // version of an index made here
	extendedIndex    = 3 // lowest version that has extended flags
	compressedIndex  = 4 // version whose names are prefix-compressed
	maxVarintEncoded = 10
)

// An index is what lies in git's index file.
type index struct {
	version uint32
	entries []entry     // sorted by name, then stage
	written fs.FileInfo // of the file; nil if there is none
	keep    []byte      // extensions to write back: REUC, of use to people
}

// An entry is one entry of an index.
type entry struct {
	stat  statData
	mode  uint32
	id    plumbing.Hash
	flags uint16 // without the length of the name and flagExtended
	ext   uint16 // extended flags
	name  string // below the root of the work tree
}

// A statData is what an index remembers of a file, so that an unchanged one need
// not be read again. The fields are as in gitformat-index(5): the low 32 bits.
type statData struct {
	CtimeSec, CtimeNsec, MtimeSec, MtimeNsec, Dev, Ino uint32
	UID, GID                                           uint32
	Size                                               uint32
}

// readIndex reads the index file called name. A missing file is an empty index.
func readIndex(name string) (*index, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &index{version: freshIndex}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, info.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, err
	}
	x, err := parseIndex(b)
	if err != nil {
		return nil, err
	}
	x.written = info
	return x, nil
}

var errIndexShort = fmt.Errorf("%w: it is cut short", errIndexBroken)

// parseIndex reads the bytes of an index file.
func parseIndex(b []byte) (*index, error) {
	if len(b) < indexHeader+hash.Size || string(b[:4]) != "DIRC" {
		return nil, fmt.Errorf("%w: it has no header", errIndexBroken)
	}
	x := &index{version: binary.BigEndian.Uint32(b[4:])}
	body, sum := b[:len(b)-hash.Size], b[len(b)-hash.Size:]
	// All zero means index.skipHash: git did not compute it.
	if base := plumbing.Hash(sum); !base.IsZero() && checksum(body) != base {
		return nil, fmt.Errorf("%w: its checksum is wrong", errIndexBroken)
	}
	if x.version < minIndexVersion || x.version > maxIndexVersion {
		return nil, fmt.Errorf("version %d: %w", x.version, errIndexForm)
	}
	n := binary.BigEndian.Uint32(b[8:])
	if int64(n)*indexEntry > int64(len(body)) {
		return nil, errIndexShort
	}
	x.entries = make([]entry, 0, n)
	rest, prev := body[indexHeader:], ""
	for range n {
		e, size, err := parseEntry(rest, x.version, prev)
		if err != nil {
			return nil, err
		}
		x.entries = append(x.entries, e)
		rest, prev = rest[size:], e.name
	}
	return x, x.parseExtensions(rest)
}

// parseExtensions goes through what follows the entries. An extension whose name
// begins with a capital may be ignored; it is dropped when the index is written,
// and git makes it again. The others change what the entries mean.
func (x *index) parseExtensions(b []byte) error {
	for len(b) > 0 {
		if len(b) < indexExtension {
			return errIndexShort
		}
		name, size := string(b[:4]), int64(binary.BigEndian.Uint32(b[4:]))
		if size > int64(len(b)-indexExtension) {
			return errIndexShort
		}
		if name[0] < 'A' || name[0] > 'Z' {
			return fmt.Errorf("extension %q: %w", name, errIndexForm)
		}
		if name == "REUC" { // how a conflict was resolved
			x.keep = append(x.keep, b[:indexExtension+size]...)
		}
		b = b[indexExtension+size:]
	}
	return nil
}

// parseEntry reads the entry at the start of b, and its length in bytes. prev is
// the name of the entry before.
func parseEntry(b []byte, version uint32, prev string) (e entry, size int, err error) {
	if len(b) < indexEntry {
		return e, 0, errIndexShort
	}
	u := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
	e.stat = statData{u(0), u(1), u(2), u(3), u(4), u(5), u(7), u(8), u(9)}
	e.mode = u(6)
	copy(e.id[:], b[40:])
	flags := binary.BigEndian.Uint16(b[60:])
	size = indexEntry
	if flags&flagExtended != 0 {
		if version < extendedIndex || len(b) < indexEntry+2 {
			return e, 0, fmt.Errorf("%w: an entry has impossible flags", errIndexBroken)
		}
		e.ext = binary.BigEndian.Uint16(b[size:])
		size += 2
	}
	e.flags = flags & (flagAssumeValid | flagStage)
	if version == compressedIndex {
		strip, n := offsetVarint(b[size:])
		if n == 0 || strip > uint64(len(prev)) {
			return e, 0, errIndexShort
		}
		size += n
		prev = prev[:len(prev)-int(strip)]
	} else {
		prev = ""
	}
	end := bytes.IndexByte(b[size:], 0)
	if end < 0 {
		return e, 0, errIndexShort
	}
	e.name = prev + string(b[size:size+end])
	if size += end; version == compressedIndex {
		return e, size + 1, nil
	}
	size += 8 - size%8 // at least one NUL, to a multiple of eight
	if size > len(b) {
		return e, 0, errIndexShort
	}
	return e, size, nil
}

// encode returns the bytes of the index file.
func (x *index) encode() []byte {
	version := x.version
	if version < compressedIndex {
		version = freshIndex
		if slices.ContainsFunc(x.entries, func(e entry) bool { return e.ext != 0 }) {
			version = extendedIndex
		}
	}
	b := make([]byte, 0, 128*len(x.entries)+1024)
	b = append(b, "DIRC"...)
	b = binary.BigEndian.AppendUint32(b, version)
	b = binary.BigEndian.AppendUint32(b, uint32(len(x.entries)))
	prev := ""
	for _, e := range x.entries {
		b = appendEntry(b, e, version, prev)
		prev = e.name
	}
	b = append(b, x.keep...)
	sum := checksum(b)
	return append(b, sum[:]...)
}

func appendEntry(b []byte, e entry, version uint32, prev string) []byte {
	start := len(b)
	s := e.stat
	for _, u := range []uint32{s.CtimeSec, s.CtimeNsec, s.MtimeSec, s.MtimeNsec, s.Dev, s.Ino, e.mode, s.UID, s.GID, s.Size} {
		b = binary.BigEndian.AppendUint32(b, u)
	}
	b = append(b, e.id[:]...)
	flags := e.flags | uint16(min(len(e.name), flagName))
	if e.ext != 0 {
		flags |= flagExtended
	}
	b = binary.BigEndian.AppendUint16(b, flags)
	if e.ext != 0 {
		b = binary.BigEndian.AppendUint16(b, e.ext)
	}
	if version == compressedIndex {
		common := 0
		for common < min(len(prev), len(e.name)) && prev[common] == e.name[common] {
			common++
		}
		b = appendOffsetVarint(b, uint64(len(prev)-common))
		return append(append(b, e.name[common:]...), 0)
	}
	b = append(b, e.name...)
	for pad := 8 - (len(b)-start)%8; pad > 0; pad-- {
		b = append(b, 0)
	}
	return b
}

// offsetVarint reads a number as in the offsets of OFS_DELTA
// (gitformat-pack(5)) and its length, 0 if there is none.
func offsetVarint(b []byte) (v uint64, n int) {
	for n < len(b) && n < maxVarintEncoded {
		c := b[n]
		if n > 0 {
			v++
		}
		v = v<<7 | uint64(c&0x7f)
		if n++; c&0x80 == 0 {
			return v, n
		}
	}
	return 0, 0
}

func appendOffsetVarint(b []byte, v uint64) []byte {
	var buf [maxVarintEncoded]byte
	i := len(buf) - 1
	buf[i] = byte(v & 0x7f)
	for v >>= 7; v != 0; v >>= 7 {
		v--
		i--
		buf[i] = 0x80 | byte(v&0x7f)
	}
	return append(b, buf[i:]...)
}

func checksum(b []byte) (sum plumbing.Hash) {
	h := hash.New(hash.CryptoType)
	h.Write(b)
	copy(sum[:], h.Sum(nil))
	return sum
}

// compareEntries orders entries as git does, by bytes of the name, then stage.
func compareEntries(a, b entry) int {
	return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.flags&flagStage, b.flags&flagStage))
}

// update makes every name of set the entry given there, removes those of gone,
// and removes what can't stand beside a new entry: other stages of its name,
// entries below it, and entries that are a parent of it. Flags of a new entry
// that an old one had and that still make sense (assume-valid) are kept.
func (x *index) update(set map[string]entry, gone map[string]bool) {
	parents := map[string]bool{}
	for name := range set {
		for dir := parent(name); dir != "" && !parents[dir]; dir = parent(dir) {
			parents[dir] = true
		}
	}
	kept := x.entries[:0]
	for _, e := range x.entries {
		if n, ok := set[e.name]; ok {
			n.flags |= e.flags & flagAssumeValid
			set[e.name] = n
			continue
		}
		if gone[e.name] || parents[e.name] || below(e.name, set, gone) {
			continue
		}
		kept = append(kept, e)
	}
	x.entries = kept
	for _, e := range set {
		x.entries = append(x.entries, e)
	}
	slices.SortFunc(x.entries, compareEntries)
}

// below reports whether a parent of name is a new file or a removed path.
func below(name string, set map[string]entry, gone map[string]bool) bool {
	for dir := parent(name); dir != ""; dir = parent(dir) {
		if _, ok := set[dir]; ok || gone[dir] {
			return true
		}
	}
	return false
}

// parent returns the directory of a slash-separated name, "" at the top.
func parent(name string) string { return name[:max(0, strings.LastIndexByte(name, '/'))] }
