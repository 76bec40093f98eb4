package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mcpstrata/mcpstrata/internal/safehttp"
)

// How requests are made.
const (
	tries    = 4                      // for one page or look-up
	deadline = 60 * time.Second       // for one try, its body included
	listPace = 500 * time.Millisecond // between starts of page requests; the ingress allows ten a second
	askPace  = 350 * time.Millisecond // between starts of look-ups; the ingress allows three a second
)

// A failure says why a page or look-up could not be read.
type failure struct {
	says   string // short, fit to be published
	tries  int
	status int  // of the last answer; 0 if there was none
	gone   bool // a 404 that the registry itself gave
	err    error
}

// Brief returns the failure without what concerns only this machine.
func (f *failure) Brief() string {
	switch {
	case f == nil:
		return "failed"
	case f.tries > 1:
		return fmt.Sprintf("%s after %d tries", f.says, f.tries)
	}
	return f.says
}

func (f *failure) Error() string {
	if f.err == nil {
		return f.Brief()
	}
	return f.Brief() + ": " + f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// get reads link and gives the body of a 200 to read, again and again until read
// takes it, the tries are used up, the answer is final or the time is over, which
// is errLate inside. Its error is a *failure, or that of ctx when it ended.
func (c *Client) get(ctx context.Context, link string, pace time.Duration, read func([]byte) error) error {
	wait := &backoff.ExponentialBackOff{InitialInterval: 2 * time.Second, Multiplier: 3, MaxInterval: time.Minute}
	f := &failure{says: "not asked"}
	late := func(err error) error {
		if err == errLate {
			return &failure{says: f.says, tries: f.tries, status: f.status, err: err}
		}
		return err
	}
	for n := 1; ; n++ {
		if err := c.pace(ctx, pace); err != nil {
			return late(err)
		}
		body, after, err := c.once(ctx, link)
		if err == nil {
			if err = read(body); err == nil {
				return nil
			}
			err = &failure{says: err.Error(), status: http.StatusOK}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f, _ = errors.AsType[*failure](err)
		f.tries = n
		if _, final := errors.AsType[*backoff.PermanentError](err); final || n == tries {
			return f
		}
		d := wait.NextBackOff()
		d = d/2 + time.Duration(c.jitter()*float64(d/2))
		if err := c.wait(ctx, max(d, after)); err != nil {
			return late(err)
		}
	}
}

// pace waits until the last request was begun at least d ago.
func (c *Client) pace(ctx context.Context, d time.Duration) error {
	since := max(c.now().Sub(c.last), 0) // the clock may have been set back
	if err := c.wait(ctx, d-since); err != nil {
		return err
	}
	c.last = c.now()
	return nil
}

// once makes one request and returns the body of a 200, or how long the registry
// asks to wait and a *failure, as a *backoff.PermanentError if another try is
// pointless.
func (c *Client) once(ctx context.Context, link string) (body []byte, after time.Duration, err error) {
	one, cancel := context.WithTimeout(ctx, min(deadline, c.until.Sub(c.now())))
	defer cancel()
	if c.HTTP == nil {
		c.HTTP = safehttp.New(safehttp.Config{MaxBody: MaxPage})
	}
	res, err := c.HTTP.Do(one, safehttp.Request{
		Method: http.MethodGet,
		URL:    link,
		Header: http.Header{"Accept": {"application/json"}},
	})
	if err != nil {
		return nil, 0, transportFailure(one, err)
	}
	defer res.Body.Close()
	switch {
	case res.Status == http.StatusOK:
	case res.Status == http.StatusTooManyRequests || res.Status >= 500:
		return nil, c.retryAfter(res.Header), &failure{says: strconv.Itoa(res.Status), status: res.Status}
	default:
		gone := res.Status == http.StatusNotFound && holdsObject(res.Body)
		return nil, 0, backoff.Permanent(&failure{says: strconv.Itoa(res.Status), status: res.Status, gone: gone})
	}
	body, err = io.ReadAll(io.LimitReader(res.Body, MaxPage+1))
	switch {
	case err != nil:
		return nil, 0, transportFailure(one, err)
	case len(body) > MaxPage:
		return nil, 0, backoff.Permanent(&failure{says: "too_large", status: http.StatusOK})
	}
	return body, 0, nil
}

// maxProblem bounds the body of a 404, in bytes; an official one has about 80.
const maxProblem = 64 << 10

// holdsObject reports whether the body of an error is one JSON object, which the
// registry sends (application/problem+json, RFC 9457) and a proxy that does not
// know the route mostly does not.
func holdsObject(body io.Reader) bool {
	b, err := io.ReadAll(io.LimitReader(body, maxProblem))
	if err != nil {
		return false
	}
	var object map[string]json.RawMessage
	return json.Unmarshal(b, &object) == nil && object != nil
}

// transportFailure names what went wrong below HTTP, and whether it can pass.
func transportFailure(ctx context.Context, err error) error {
	f := &failure{says: "connection failed", err: err}
	if ctx.Err() != nil {
		f.says = "timeout"
		return f
	}
	e, ok := errors.AsType[*safehttp.Error](err)
	if !ok {
		return f
	}
	f.says = string(e.Kind)
	switch e.Kind {
	case safehttp.Redirect, safehttp.BlockedAddress, safehttp.TooLarge, safehttp.ContentEncoding, safehttp.BadURL, safehttp.Certificate:
		return backoff.Permanent(f)
	}
	return f
}

// retryAfter returns how long an answer asks to wait, in seconds or as a date
// (RFC 9110, 10.2.3), at most MaxRetryAfter; 0 if it doesn't say.
func (c *Client) retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return min(time.Duration(n)*time.Second, MaxRetryAfter)
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(t.Sub(c.now()), 0), MaxRetryAfter)
	}
	return 0
}
