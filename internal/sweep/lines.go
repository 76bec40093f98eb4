package sweep

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/mcpstrata/mcpstrata/internal/canon"
)

// errCut reports a last line without its LF: the file was cut, or is not ours.
var errCut = errors.New("the last line does not end in a line feed")

// lines reads a file of lines without ever holding more than one, of at most
// max bytes.
type lines struct {
	r   *bufio.Reader
	max int
	n   int // number of the line that next returned, from 1
	buf []byte
}

func newLines(r io.Reader, max int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// next returns the next line with its LF, valid until the next call. At the end
// it returns io.EOF, and for a last line without LF that line and an errCut. Its
// other errors, too, say at which line.
func (l *lines) next() ([]byte, error) {
	l.n++
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.buf)+len(part) > l.max {
			return nil, l.error(fmt.Errorf("longer than %d bytes", l.max))
		}
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && len(l.buf) == 0:
			return nil, io.EOF
		case err == io.EOF:
			return l.buf, l.error(errCut)
		default:
			return nil, l.error(err)
		}
	}
}

// error returns err with the number of the line that next returned.
func (l *lines) error(err error) error { return fmt.Errorf("line %d: %w", l.n, err) }

// digest returns the digest of what was written to a SHA-256.
func digest(h hash.Hash) canon.Digest {
	return canon.Digest("sha256:" + hex.EncodeToString(h.Sum(nil)))
}
