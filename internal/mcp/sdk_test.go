package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A sdkServer is a server of the official Go SDK with sessions and five tools, of
// which it lists two a page. It notes what it is asked.
type sdkServer struct {
	*httptest.Server
	server *sdk.Server

	mu      sync.Mutex
	handler http.Handler // guarded by mu
	asked   []string     // guarded by mu
	lists   int          // guarded by mu
	forget  []int        // before which list requests it starts again; guarded by mu
}

func newSDKServer(t *testing.T, forget ...int) *sdkServer {
	t.Helper()
	s := &sdkServer{forget: forget, server: sdk.NewServer(&sdk.Implementation{Name: "sdk", Version: "1"}, &sdk.ServerOptions{PageSize: 2})}
	for n := range 5 {
		s.server.AddTool(&sdk.Tool{Name: fmt.Sprintf("t%d", n), InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return nil, errors.New("not to be called")
			})
	}
	s.start()
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		for session := range s.server.Sessions() {
			session.Close()
		}
		s.Close()
	})
	return s
}

// start begins with no session known.
func (s *sdkServer) start() {
	s.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.server }, nil)
}

func (s *sdkServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(b))
	s.mu.Lock()
	what := r.Method
	for _, m := range []string{stepInit, stepNotify, stepDiscover, stepList} {
		if strings.Contains(string(b), `"method":"`+m+`"`) {
			what = m
		}
	}
	s.asked = append(s.asked, what)
	if what == stepList {
		if s.lists++; slices.Contains(s.forget, s.lists) {
			s.start()
		}
	}
	h := s.handler
	s.mu.Unlock()
	h.ServeHTTP(w, r)
}

// sessions returns how many sessions the server holds.
func (s *sdkServer) sessions() int {
	n := 0
	for range s.server.Sessions() {
		n++
	}
	return n
}

// v1 leaves its session behind; v2 ends it, and begins one that was lost anew.
func TestSDKServer(t *testing.T) {
	first := []string{stepInit, stepNotify, stepList}
	paged := append(slices.Clone(first), stepList, stepList)
	all, one := record.Pages{Read: 3, Complete: true}, record.Pages{Read: 1}
	renewed := []record.Flag{record.FlagSessionRenewed}
	lost := record.Outcome{Class: record.HTTP4xx, Detail: record.DetailSession, Step: record.StepToolsList, HTTPStatus: 404}
	tests := []struct {
		name    string
		m       record.Methodology
		forget  []int
		want    record.Outcome
		pages   record.Pages
		flags   []record.Flag
		asked   []string
		remains int // sessions that are not ended
	}{
		{"v1", record.V1, nil, record.Outcome{}, one, nil, first, 1},
		{"v1, forgotten", record.V1, []int{1}, lost, record.Pages{}, nil, first, 1},
		{"v2", record.V2, nil, record.Outcome{}, all, nil, append(slices.Clone(paged), "DELETE"), 0},
		{"v2, forgotten at page one", record.V2, []int{1}, record.Outcome{}, all, renewed, append(slices.Concat(first, paged), "DELETE"), 1},
		{"v2, forgotten at page two", record.V2, []int{2}, record.Outcome{}, all, renewed, append(slices.Concat(first, first[2:], paged), "DELETE"), 1},
		{"v2, forgotten twice", record.V2, []int{1, 2}, lost, record.Pages{}, nil, slices.Concat(first, first), 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSDKServer(t, tt.forget...)
			got := read(t, client(), s.URL, tt.m)
			if got.Outcome != tt.want || got.Capture.Pages != tt.pages || !slices.Equal(got.Flags, tt.flags) {
				t.Errorf("Read = %+v, %+v, flags %v, want %+v, %+v, %v", got.Outcome, got.Capture.Pages, got.Flags, tt.want, tt.pages, tt.flags)
			}
			if !slices.Equal(s.asked, tt.asked) || got.Requests != len(s.asked) {
				t.Errorf("the server saw %q (%d counted), want %q", s.asked, got.Requests, tt.asked)
			}
			if n := s.sessions(); n != tt.remains {
				t.Errorf("%d sessions remain, want %d", n, tt.remains)
			}
		})
	}
}
