package mcp

import (
	"context"
	"net/http"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/safehttp"
)

// An httpLink reaches a server over Streamable HTTP.
type httpLink struct {
	client   *Client
	endpoint string
}

func (l *httpLink) transport() string { return "streamable-http" }
func (l *httpLink) headers() bool     { return true }

// ask posts a request.
func (l *httpLink) ask(ctx, wait context.Context, m message, use func(*canon.Value)) (answer, error) {
	resp, err := l.client.HTTP.Do(ctx, l.request(m))
	if err != nil {
		f := failure(err)
		if f.Kind == safehttp.Local {
			return answer{}, err
		}
		a := answer{outcome: transport(f)}
		if f.Kind != safehttp.BadURL {
			a.requests = 1 + f.Redirects + f.Resent
		}
		return a, nil
	}
	a := l.receive(wait, resp, m, use)
	a.header = resp.Header
	a.requests = 1 + resp.Redirects + resp.Resent
	a.finish = func() { resp.Finish(grace) }
	return a, nil
}

// receive reads an answer as far as it matters. wait bounds the wait for its turn
// to be parsed; the context of the request bounds reading it.
func (l *httpLink) receive(wait context.Context, resp *safehttp.Response, m message, use func(*canon.Value)) answer {
	if resp.Status < 200 || resp.Status > 299 {
		return refused(resp, m)
	}
	t := turn{client: l.client}
	defer t.end()
	kept, response, err := readAnswer(wait, resp.Body, m.id, &t)
	if err != nil {
		return answer{outcome: unread(resp.Status, err), waited: t.waited}
	}
	a := settle(response, kept, resp.Status, use)
	a.waited = t.waited
	if a.outcome.OK() && !mediaTypeFits(resp.Header.Get("Content-Type"), kept) {
		a.flags = append(a.flags, record.FlagContentType)
	}
	return a
}

// tell posts a notification.
func (l *httpLink) tell(ctx context.Context, m message) int { return l.drop(ctx, l.request(m)) }

// end deletes a session.
func (l *httpLink) end(ctx context.Context, m message) int {
	r := safehttp.Request{Method: http.MethodDelete, URL: l.endpoint, Header: http.Header{}}
	addHeaders(r.Header, m)
	return l.drop(ctx, r)
}

// drop makes a request and waits for the headers of its answer, about which
// nothing matters. It returns the number of requests made.
func (l *httpLink) drop(ctx context.Context, r safehttp.Request) int {
	resp, err := l.client.HTTP.Do(ctx, r)
	if err != nil {
		f := failure(err)
		return 1 + f.Redirects + f.Resent
	}
	resp.Finish(grace)
	return 1 + resp.Redirects + resp.Resent
}

// request returns the POST that carries a message.
func (l *httpLink) request(m message) safehttp.Request {
	h := http.Header{
		"Accept":       {"application/json, text/event-stream"},
		"Content-Type": {"application/json"},
	}
	addHeaders(h, m)
	return safehttp.Request{Method: http.MethodPost, URL: l.endpoint, Header: h, Body: m.body}
}

// addHeaders adds to h what stands beside the body of m.
func addHeaders(h http.Header, m message) {
	if m.session != "" {
		h.Set(sessionHeader, m.session)
	}
	if m.version != "" {
		h.Set(versionHeader, m.version)
	}
	if m.modern && m.method != "" {
		h.Set(methodHeader, m.method)
	}
}
