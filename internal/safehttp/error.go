package safehttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"code.dny.dev/ssrf"
)

// A Kind says what kind of failure an [Error] is. The kinds are closed.
type Kind string

// The kinds.
const (
	Timeout         Kind = "timeout"          // the deadline passed, or the system gave up waiting
	DNS             Kind = "dns"              // the name did not resolve, and not because the deadline passed
	Refused         Kind = "refused"          // nothing accepted the connection: refused or unreachable
	Reset           Kind = "reset"            // the connection broke, or what came over it was not HTTP; headers beyond MaxHeader
	Certificate     Kind = "certificate"      // the server's certificate is not valid for the host
	TLS             Kind = "tls"              // the TLS handshake failed otherwise
	BlockedAddress  Kind = "blocked_address"  // the name resolved to addresses that are not public only
	Redirect        Kind = "redirect"         // a redirect that is not followed; Error.Status is its status
	TooLarge        Kind = "too_large"        // the body is longer than MaxBody
	ContentEncoding Kind = "content_encoding" // the body is encoded other than by gzip, or its gzip is broken
	BadURL          Kind = "bad_url"          // not an http or https URL with a host, or one with credentials
	Canceled        Kind = "canceled"         // the caller cancelled the context
	Local           Kind = "local"            // this machine has run out of file descriptors or memory; says nothing of the server
)

// An Error is what every failure of this package is. It says what went wrong on
// the way to the server or in its answer.
type Error struct {
	Kind      Kind
	Status    int   // of the answer, for kind Redirect and for errors of a body; 0 when there was no answer
	Redirects int   // followed before
	Resent    int   // requests sent a second time, see "Stale connections"
	Err       error // never nil
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Kind, e.Err) }

// Unwrap returns the error behind e.
func (e *Error) Unwrap() error { return e.Err }

// A handshakeError is a failure of the TLS handshake on a connection that stood.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS handshake: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// classify returns err, which net/http gave for a request under ctx, with its
// kind. What is certain of the server comes before the clock: a connection that
// was refused in the last moment was refused.
func classify(ctx context.Context, err error) *Error {
	return &Error{Kind: kind(ctx, err), Err: err}
}

func kind(ctx context.Context, err error) Kind {
	if k, ok := certain(err); ok {
		return k
	}
	switch ctx.Err() {
	case context.DeadlineExceeded:
		return Timeout
	case context.Canceled:
		return Canceled
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return DNS // also when the resolver gave up waiting: the deadline had not passed
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		return Timeout
	}
	if isBreak(err) {
		return Reset
	}
	if _, ok := errors.AsType[*handshakeError](err); ok {
		return TLS
	}
	// What is left is an answer that net/http could not read (malformed,
	// headers too long, GOAWAY, a broken stream), which has no types.
	return Reset
}

// certain returns the kind of an error that has the same meaning before and after
// the deadline.
func certain(err error) (Kind, bool) {
	if isAny(err, ssrf.ErrProhibitedIP, ssrf.ErrProhibitedNetwork, ssrf.ErrProhibitedPort, ssrf.ErrInvalidHostPort) {
		return BlockedAddress, true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return Certificate, true
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return DNS, true
	}
	if isAny(err, syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN,
		syscall.EADDRNOTAVAIL /* what Linux says of an IPv6 address where there is no IPv6 */) {
		return Refused, true
	}
	if isAny(err, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM) {
		return Local, true
	}
	return "", false
}

// isBreak reports whether the connection ended under a request.
func isBreak(err error) bool {
	return isAny(err, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED)
}

func isAny(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}
