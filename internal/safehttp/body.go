package safehttp

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// A body decodes and bounds the body of an answer.
type body struct {
	ctx    context.Context    // the caller's
	cancel context.CancelFunc // gives up the request, and nothing else
	status int
	raw    io.ReadCloser
	wire   *wire     // raw, bounded and watched
	src    io.Reader // decoded; nil until the first read
	encode string    // Content-Encoding, as sent
	left   int64     // decoded bytes that may still come
	max    int64
	err    error // of the first read that failed, for all later ones
}

func newBody(ctx context.Context, cancel context.CancelFunc, resp *http.Response, max int64) *body {
	return &body{
		ctx:    ctx,
		cancel: cancel,
		status: resp.StatusCode,
		raw:    resp.Body,
		wire:   &wire{r: resp.Body, left: max + wireSlack},
		encode: strings.Join(resp.Header.Values("Content-Encoding"), ","),
		left:   max,
		max:    max,
	}
}

// Read reads decoded bytes. It fails with io.EOF or an *Error, and then always
// with the same.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if err := b.ctx.Err(); err != nil {
		return 0, b.fail(err)
	}
	if b.src == nil {
		src, err := b.open()
		if err != nil {
			return 0, b.fail(err)
		}
		b.src = src
	}
	// One byte more than may come tells a body at the limit from one beyond.
	if int64(len(p)) > b.left {
		p = p[:b.left+1]
	}
	n, err := b.src.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), errTooLarge
	}
	b.left -= int64(n)
	if err != nil {
		return n, b.fail(err)
	}
	return n, nil
}

// Close gives the connection up, unless the body was read to its end.
func (b *body) Close() error {
	if b.err == nil {
		b.err = &Error{Kind: Canceled, Status: b.status, Err: http.ErrBodyReadAfterClose}
	}
	err := b.raw.Close()
	b.cancel()
	return err
}

// drain reads up to maxRest bytes of the wire, no longer than grace.
func (b *body) drain(grace time.Duration) {
	if b.wire.err != nil || b.raw == http.NoBody {
		return
	}
	timer := time.AfterFunc(grace, b.cancel)
	defer timer.Stop()
	io.CopyN(io.Discard, b.raw, maxRest)
}

// errTooLarge and errEncoding mark what the body itself has wrong.
var (
	errTooLarge = errors.New("the body is longer than allowed")
	errEncoding = errors.New("content encoding")
)

// open returns a reader of the decoded body.
func (b *body) open() (io.Reader, error) {
	zipped := false
	for _, coding := range strings.Split(b.encode, ",") {
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "", "identity":
		case "gzip", "x-gzip":
			if zipped {
				return nil, fmt.Errorf("%w %q", errEncoding, b.encode)
			}
			zipped = true
		default:
			return nil, fmt.Errorf("%w %q", errEncoding, b.encode)
		}
	}
	if !zipped {
		return b.wire, nil
	}
	return gzip.NewReader(b.wire)
}

// fail keeps and returns the error that this and all later reads give.
func (b *body) fail(err error) error {
	b.err = b.explain(err)
	return b.err
}

func (b *body) explain(err error) error {
	is := func(k Kind, err error) error { return &Error{Kind: k, Status: b.status, Err: err} }
	switch {
	case err == errTooLarge || b.wire.err == errTooLarge:
		return is(TooLarge, fmt.Errorf("the body is longer than %d bytes", b.max))
	case isAny(err, errEncoding):
		return is(ContentEncoding, err)
	case err == io.EOF && (b.wire.err == io.EOF || b.wire.err == nil):
		return io.EOF
	case b.ctx.Err() != nil || b.wire.err != nil && b.wire.err != io.EOF:
		e := classify(b.ctx, err)
		e.Status = b.status
		return e
	}
	// The bytes came as sent, and did not decode.
	return is(ContentEncoding, fmt.Errorf("decoding gzip: %w", err))
}

// A wire reads the body as it comes over the connection, at most left bytes, and
// remembers how that ended: the error of a decoder does not say whether the
// connection broke or the encoding was wrong.
type wire struct {
	r    io.Reader
	left int64
	err  error
}

func (w *wire) Read(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if int64(len(p)) > w.left {
		p = p[:w.left+1]
	}
	n, err := w.r.Read(p)
	if int64(n) > w.left {
		n, err = int(w.left), errTooLarge
	}
	w.left -= int64(n)
	w.err = err
	return n, err
}
