package gitrepo

import (
	"bufio"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/hash"
)

// A packer writes the objects that a repository lacks into one pack, each as it
// comes and none as a delta (git repacks better, and with the history in view),
// so that memory is bounded by the largest object. The form is gitformat-pack(5).
//
// go-git's own writer is not used: it needs all objects at once, parses what it
// wrote a second time to index it, and creates the index file in place, so that
// a crash leaves half an index that the next attempt takes for a whole one.
type packer struct {
	repo   *Repo
	step   *stepper
	file   *os.File // nil until the first object
	buf    *bufio.Writer
	offset uint64
	zw     *zlib.Writer
	idx    idxfile.Writer
	added  map[plumbing.Hash]bool
}

// packHeader is what a pack begins with: PACK, version 2, number of objects.
const packHeader = 12

// add sees to it that the repository will hold an object of type t with the given
// content, and returns its id.
func (p *packer) add(t plumbing.ObjectType, content []byte) (plumbing.Hash, error) {
	id, err := objectID(t, content)
	if err != nil || p.added[id] || p.repo.store.HasEncodedObject(id) == nil {
		return id, err
	}
	if p.file == nil {
		if err := p.begin(); err != nil {
			return id, err
		}
	}
	crc := crc32.NewIEEE()
	start := p.offset
	w := io.MultiWriter(p.buf, crc, (*counter)(&p.offset))
	if _, err := w.Write(entryHeader(t, len(content))); err != nil {
		return id, err
	}
	p.zw.Reset(w)
	if _, err := p.zw.Write(content); err != nil {
		return id, err
	}
	if err := p.zw.Close(); err != nil {
		return id, err
	}
	p.idx.Add(id, start, crc.Sum32())
	p.added[id] = true
	return id, nil
}

// counter counts the bytes written to it.
type counter uint64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// entryHeader returns the type and size that precede an object in a pack.
func entryHeader(t plumbing.ObjectType, size int) []byte {
	b := []byte{byte(t)<<4 | byte(size&0x0f)}
	for size >>= 4; size > 0; size >>= 7 {
		b[len(b)-1] |= 0x80
		b = append(b, byte(size&0x7f))
	}
	return b
}

// tmp returns the name of a file that is being written. git prune removes files
// named tmp_ that a crash left behind; the name is fixed, so the next attempt
// replaces ours.
func (p *packer) tmp(kind string) string {
	return filepath.Join(p.repo.packDir(), "tmp_"+kind+"_mcpstrata_"+filepath.Base(p.repo.gitDir))
}

func (r *Repo) packDir() string { return filepath.Join(r.common, "objects", "pack") }

func (p *packer) begin() error {
	if err := p.step.do(StepPack); err != nil {
		return err
	}
	if err := os.MkdirAll(p.repo.packDir(), 0o777); err != nil {
		return err
	}
	f, err := os.Create(p.tmp("pack"))
	if err != nil {
		return err
	}
	p.file = f
	p.buf = bufio.NewWriterSize(f, 1<<16)
	p.zw = zlib.NewWriter(io.Discard)
	p.added = map[plumbing.Hash]bool{}
	p.offset = packHeader
	_, err = p.buf.Write(make([]byte, packHeader)) // filled in by finish
	return err
}

// finish puts the pack where git finds it, and makes the objects known to the
// repository. Index first: neither git nor go-git look at an index without its
// pack, but go-git fails on a pack without its index.
func (p *packer) finish() error {
	if p.file == nil {
		return syncDir(p.repo.packDir()) // renamed before a crash, perhaps
	}
	sum, err := p.seal()
	if err != nil {
		return err
	}
	if err := p.writeIndex(sum); err != nil {
		return err
	}
	base := filepath.Join(p.repo.packDir(), "pack-"+sum.String())
	for _, part := range []struct{ step, tmp, name string }{
		{StepPackIndexInPlace, p.tmp("idx"), base + ".idx"},
		{StepPackInPlace, p.tmp("pack"), base + ".pack"},
	} {
		if err := p.step.do(part.step); err != nil {
			return err
		}
		if err := os.Rename(part.tmp, part.name); err != nil {
			return err
		}
	}
	if err := syncDir(p.repo.packDir()); err != nil {
		return err
	}
	p.file = nil
	p.repo.store.Reindex()
	return nil
}

// seal completes the pack file: the number of objects, known only now, the
// checksum, and its way to the disk.
func (p *packer) seal() (sum plumbing.Hash, err error) {
	if err := p.buf.Flush(); err != nil {
		return sum, err
	}
	header := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(p.added)))
	if _, err := p.file.WriteAt(header, 0); err != nil {
		return sum, err
	}
	h := hash.New(hash.CryptoType)
	if _, err := io.Copy(h, io.NewSectionReader(p.file, 0, int64(p.offset))); err != nil {
		return sum, err
	}
	copy(sum[:], h.Sum(nil))
	if _, err := p.file.WriteAt(sum[:], int64(p.offset)); err != nil {
		return sum, err
	}
	return sum, closeSynced(p.file)
}

func (p *packer) writeIndex(sum plumbing.Hash) error {
	if err := p.idx.OnFooter(sum); err != nil {
		return err
	}
	x, err := p.idx.Index()
	if err != nil {
		return err
	}
	f, err := os.Create(p.tmp("idx"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if _, err := idxfile.NewEncoder(w).Encode(x); err != nil {
		f.Close()
		return err
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	return closeSynced(f)
}

// closeSynced brings f to the disk, makes it read-only, as git does with packs,
// and closes it.
func closeSynced(f *os.File) error {
	err := f.Chmod(0o444)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// abandon closes what is open and, unless the step hook played a crash, removes
// what was written. After finish it does nothing.
func (p *packer) abandon() {
	if p.file == nil {
		return
	}
	p.file.Close()
	if !p.step.stopped {
		os.Remove(p.tmp("pack"))
		os.Remove(p.tmp("idx"))
	}
}

// objectID returns the id of an object. It fails on content that takes part in a
// known kind of attack on SHA-1, which git calls a collision and refuses.
func objectID(t plumbing.ObjectType, content []byte) (plumbing.Hash, error) {
	h := plumbing.NewHasher(t, int64(len(content)))
	h.Write(content)
	if d, ok := h.Hash.(interface {
		CollisionResistantSum([]byte) ([]byte, bool)
	}); ok {
		sum, collides := d.CollisionResistantSum(nil)
		if collides {
			return plumbing.ZeroHash, errors.New("its content is part of a SHA-1 collision, which git refuses")
		}
		return plumbing.Hash(sum), nil
	}
	return h.Sum(), nil
}

// readRegular reads a regular file, with the stat data that goes with the bytes.
func readRegular(root *os.Root, name string) ([]byte, fs.FileInfo, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: not a regular file", fs.ErrInvalid)}
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	b := make([]byte, info.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	if n, _ := f.Read(make([]byte, 1)); n > 0 {
		return nil, nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("it grew while it was read")}
	}
	return b, info, nil
}
