package sweep

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// maxShardLine bounds a line of a shard file, in bytes: all bodies of a target
// (32 MiB) and of its handshake (8 MiB), in base64, of two readings.
const maxShardLine = 128 << 20

// maxFooter bounds the last line of a shard file, in bytes: a count and a digest.
const maxFooter = 1 << 10

// ShardOf returns the shard, from 1 to of, to which a host and port
// ([target.Host]) belongs: all its endpoints are probed by one process, which
// alone can keep its pace. Of below 1 counts as 1.
func ShardOf(host string, of int) int {
	if of <= 1 {
		return 1
	}
	sum := sha256.Sum256([]byte(host))
	return 1 + int(binary.BigEndian.Uint64(sum[:8])%uint64(of))
}

// A ShardWriter writes a shard file. It is not safe for concurrent use.
type ShardWriter struct {
	w       io.Writer // the file and the hash
	sum     hash.Hash
	results int
	err     error // the first one; nothing is written after it
}

// WriteShard starts a shard file on w. An error of writing the header is
// returned by the next call.
func WriteShard(w io.Writer, header record.ShardHeader) *ShardWriter {
	sum := sha256.New()
	s := &ShardWriter{w: io.MultiWriter(w, sum), sum: sum}
	s.write(header)
	return s
}

func (s *ShardWriter) write(v any) {
	if s.err != nil {
		return
	}
	if _, err := s.w.Write(record.Line(v)); err != nil {
		s.err = fmt.Errorf("writing shard: %w", err)
	}
}

// Write adds one result.
func (s *ShardWriter) Write(r record.Result) error {
	s.write(r)
	if s.err == nil {
		s.results++
	}
	return s.err
}

// Close writes the footer, without which the file counts as cut. It doesn't
// close or sync the underlying writer.
func (s *ShardWriter) Close() error {
	s.write(record.ShardFooter{Results: s.results, SHA256: digest(s.sum)})
	if s.err != nil {
		return s.err
	}
	s.err = errors.New("writing shard: it is closed")
	return nil
}

// ReadShard reads a shard file, one result at a time. A file that was cut, or
// whose bytes are not those that its footer names, is not complete: nothing of
// it is yielded, and that is no error, because the run is then partial by rule;
// its header is not to be relied on. A malformed line before the last is an error
// that names it. So is one in a complete file, and then results before it may
// have been yielded. An error of yield comes back as it is.
//
// The file is read twice from where r stands: once to check it, once to yield.
func ReadShard(r io.ReadSeeker, yield func(record.Result) error) (header record.ShardHeader, complete bool, err error) {
	start, err := r.Seek(0, io.SeekCurrent)
	if err != nil {
		return header, false, fmt.Errorf("reading shard: %w", err)
	}
	count, complete, err := checkShard(r)
	if err != nil {
		return header, false, fmt.Errorf("reading shard: %w", err)
	}
	if _, err := r.Seek(start, io.SeekStart); err != nil {
		return header, false, fmt.Errorf("reading shard: %w", err)
	}
	if !complete {
		yield = func(record.Result) error { return nil }
	}
	header, err = readResults(newLines(r, maxShardLine), count, yield)
	return header, complete && err == nil, err
}

// CheckShard reads a shard file without its results: its header, and whether it
// is complete. The header of a file that is not is not to be relied on.
func CheckShard(r io.ReadSeeker) (header record.ShardHeader, complete bool, err error) {
	start, err := r.Seek(0, io.SeekCurrent)
	if err != nil {
		return header, false, fmt.Errorf("reading shard: %w", err)
	}
	_, complete, err = checkShard(r)
	if err == nil {
		_, err = r.Seek(start, io.SeekStart)
	}
	if err != nil {
		return header, false, fmt.Errorf("reading shard: %w", err)
	}
	if !complete {
		return header, false, nil
	}
	line, err := newLines(r, maxShardLine).next()
	if err == nil {
		err = decodeExact(line, &header)
	}
	if err != nil {
		return header, false, fmt.Errorf("reading shard: line 1: %w", err)
	}
	return header, true, nil
}

// checkShard reads a shard file to its end and reports whether the last line is
// the footer of all before it. It returns how many lines lie between the first
// and the last.
func checkShard(r io.Reader) (between int, complete bool, err error) {
	l := newLines(r, maxShardLine)
	sum := sha256.New()
	var last []byte // not yet in sum; empty where the last line is no footer
	for {
		line, err := l.next()
		if err == io.EOF {
			break
		}
		if err != nil && !errors.Is(err, errCut) {
			return 0, false, err
		}
		sum.Write(last)
		last = last[:0]
		if len(line) > maxFooter {
			sum.Write(line) // it is no footer, and too long to hold twice
		} else {
			last = append(last, line...)
		}
		if err != nil {
			return max(0, l.n-2), false, nil
		}
	}
	between = max(0, l.n-1-2) // l.n counts the end, too
	var f record.ShardFooter
	if decodeExact(last, &f) != nil || f.Results != between || f.SHA256 != digest(sum) {
		return between, false, nil
	}
	return between, l.n-1 >= 2, nil
}

// readResults reads the header and count results.
func readResults(l *lines, count int, yield func(record.Result) error) (record.ShardHeader, error) {
	var header record.ShardHeader
	line, err := l.next()
	if err == io.EOF || errors.Is(err, errCut) {
		return header, nil // cut before anything was written
	}
	if err == nil {
		if err = decodeExact(line, &header); err == nil {
			err = checkShardHeader(header)
		}
		if err != nil {
			err = l.error(err)
		}
	}
	if err != nil {
		return record.ShardHeader{}, fmt.Errorf("reading shard: %w", err)
	}
	type key struct{ name, methodology string }
	seen := make(map[key]bool)
	for range count {
		line, err := l.next()
		if err != nil {
			return header, fmt.Errorf("reading shard: %w", err)
		}
		var r record.Result
		err = record.Decode(line, &r)
		k := key{r.Name, r.Method}
		switch {
		case err != nil:
		case r.Name == "" || r.Method == "":
			err = errors.New("a result without a name or a methodology")
		case seen[k]:
			err = fmt.Errorf("a second result of %s under %s", r.Name, r.Method)
		default:
			err = checkSecond(r)
		}
		if err != nil {
			return header, fmt.Errorf("reading shard: %w", l.error(err))
		}
		seen[k] = true
		if err := yield(r); err != nil {
			return header, err
		}
	}
	return header, nil
}

// checkSecond reports what is wrong with where the second reading of a result
// stands.
func checkSecond(r record.Result) error {
	again := r.Second
	switch {
	case again == nil:
	case again.Name != r.Name || again.Method != r.Method:
		return fmt.Errorf("the second reading of %s under %s is of %s under %s", r.Name, r.Method, again.Name, again.Method)
	case again.Second != nil:
		return fmt.Errorf("a third reading of %s under %s", r.Name, r.Method)
	case r.Class != record.Success:
		return fmt.Errorf("a second reading of %s under %s, although the first one failed", r.Name, r.Method)
	}
	return nil
}

func checkShardHeader(h record.ShardHeader) error {
	if _, err := canon.ParseDigest(string(h.Plan)); err != nil {
		return err
	}
	if h.Of < 1 || h.Shard < 1 || h.Shard > h.Of {
		return fmt.Errorf("there is no shard %d of %d", h.Shard, h.Of)
	}
	return nil
}

// MergeCheck reports why the shards with these headers can't be recorded
// together: they must be different shards of one run under one plan, cut into
// the same number of shards. Missing ones are no error; they make a run partial.
func MergeCheck(headers []record.ShardHeader) error {
	seen := map[int]bool{}
	for _, h := range headers {
		first := headers[0]
		switch {
		case h.Run != first.Run:
			return fmt.Errorf("the shards are of different runs: %s and %s", first.Run, h.Run)
		case h.Plan != first.Plan:
			return fmt.Errorf("the shards are of different plans: %s and %s", first.Plan.Short(), h.Plan.Short())
		case h.Of != first.Of:
			return fmt.Errorf("the shards do not fit: one is of %d, another of %d", first.Of, h.Of)
		case h.Shard < 1 || h.Shard > h.Of:
			return fmt.Errorf("there is no shard %d of %d", h.Shard, h.Of)
		case seen[h.Shard]:
			return fmt.Errorf("shard %d of %d occurs twice", h.Shard, h.Of)
		}
		seen[h.Shard] = true
	}
	return nil
}
