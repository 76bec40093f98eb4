package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

func TestBehavioursAreWhole(t *testing.T) {
	names := map[string]bool{}
	seen := map[record.ErrorClass]map[record.Detail]bool{}
	flagged := map[record.Flag]bool{}
	for _, b := range Behaviours() {
		if names[b.Name] {
			t.Errorf("two behaviours are called %s", b.Name)
		}
		names[b.Name] = true
		if seen[b.Want.Class] == nil {
			seen[b.Want.Class] = map[record.Detail]bool{}
		}
		seen[b.Want.Class][b.Want.Detail] = true
		for _, version := range []string{"v1", "v2"} {
			r := b.Under(version)
			for _, f := range slices.Concat(r.Flags, r.Findings) {
				flagged[f] = true
			}
			if r.Want.OK() != (r.Negotiated != "") || r.Want.OK() != (r.Pages > 0) || (b.Row == "") == (r.Want.Class == record.NoEndpoint) {
				t.Errorf("%s contradicts itself under %s: %+v", b.Name, version, r)
			}
			if !r.Want.OK() && (r.Want.Step == "") != (b.Row != "") {
				t.Errorf("%s fails at step %q under %s", b.Name, r.Want.Step, version)
			}
			if r.VersionHeader != (r.Negotiated >= headerSince && version == "v2") {
				t.Errorf("%s under %s: version %q with a header: %v", b.Name, version, r.Negotiated, r.VersionHeader)
			}
		}
		if b.Row != "" && !strings.Contains(b.Name, "malformed") && !json.Valid([]byte(b.Row)) {
			t.Errorf("%s: the row is not JSON: %s", b.Name, b.Row)
		}
	}
	for _, c := range record.Classes {
		if seen[c.Class] == nil {
			t.Errorf("no behaviour of class %s", c.Class)
		}
		for _, d := range c.Details {
			ok := seen[c.Class][d.Detail]
			if d.Detail == "rpc:<code>" {
				for have := range seen[c.Class] {
					ok = ok || have.IsRPC()
				}
			}
			if !ok {
				t.Errorf("no behaviour of class %s, detail %s", c.Class, d.Detail)
			}
		}
	}
	// What one reading of one server can't show.
	elsewhere := []record.Flag{record.FlagAllToolsGone, record.FlagClockBack, record.FlagLatestAmbiguous, record.FlagReaderInDefinition}
	for _, f := range record.Flags {
		if flagged[f.Flag] == slices.Contains(elsewhere, f.Flag) {
			t.Errorf("flag %s: shown by a behaviour: %v", f.Flag, flagged[f.Flag])
		}
	}
}

// Each behaviour does to a plain client what its outcome says.
func TestBehavioursAnswer(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, b := range Behaviours() {
		t.Run(b.Name, func(t *testing.T) {
			u, stop, err := b.Start(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			if b.Row != "" || b.Guarded {
				return
			}
			r := newReader(t)
			r.client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
				if req.Method != http.MethodPost || len(via) > 3 || req.URL.Host != via[0].URL.Host {
					return http.ErrUseLastResponse
				}
				return nil
			}
			checkStep(t, r, b, u)
		})
	}
	settled(t, before)
}

// checkStep sends the requests up to the failing step and checks its answer.
func checkStep(t *testing.T, r reader, b Behaviour, u string) {
	limit := 5 * time.Second
	if b.Slow || strings.HasSuffix(b.Name, "-open") || strings.HasSuffix(b.Name, "chatty") {
		limit = 200 * time.Millisecond
	}
	session := ""
	for _, m := range []struct {
		step record.Step
		text string
	}{{record.StepInitialize, sayInitialize}, {"", sayInitialized}, {record.StepToolsList, sayList}} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		resp, body, err := r.post(ctx, u, session, m.text)
		cancel()
		if m.step == "" {
			continue
		}
		if m.step == b.Want.Step {
			checkFailure(t, b, resp, body, err)
			return
		}
		if errors.Is(err, context.DeadlineExceeded) && len(body) > 0 {
			return // an answer on a stream that stays open
		}
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v, want an answer", m.step, resp, err)
		}
		if m.step == record.StepToolsList && strings.HasPrefix(b.Name, "good/json") && !strings.Contains(resp.Header.Get("Content-Encoding"), "gzip") {
			if !strings.Contains(string(body), `"echo"`) {
				t.Errorf("tools/list = %.100q, want the tool echo", body)
			}
		}
		session = resp.Header.Get("Mcp-Session-Id")
	}
	if !b.Want.OK() {
		t.Errorf("nothing failed, want %v at %s", b.Want, b.Want.Step)
	}
}

func checkFailure(t *testing.T, b Behaviour, resp *http.Response, body []byte, err error) {
	var netErr net.Error
	timeout := errors.As(err, &netErr) && netErr.Timeout() || errors.Is(err, context.DeadlineExceeded)
	switch {
	case b.Want.Class == record.Timeout:
		if !timeout {
			t.Errorf("%v, %v, want a timeout", resp, err)
		}
	case b.Want.Class == record.TLS:
		if err == nil || timeout {
			t.Errorf("%v, %v, want a broken connection", resp, err)
		}
	case resp == nil || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !strings.HasSuffix(b.Name, "-open") && !strings.Contains(b.Name, "gzip"):
		t.Errorf("%v, %v, want an answer", resp, err)
	case b.Want.HTTPStatus != 0 && resp.StatusCode != b.Want.HTTPStatus:
		t.Errorf("status %d, want %d", resp.StatusCode, b.Want.HTTPStatus)
	case b.Want.Detail == record.DetailRedirect && resp.StatusCode/100 != 3:
		t.Errorf("status %d, want a redirect", resp.StatusCode)
	case b.Want.Detail == record.DetailTooLarge && len(body) <= 8<<20:
		t.Errorf("%d bytes, want more than 8 MiB", len(body))
	case b.Want.Class == record.Parse && b.Want.Detail.IsRPC() && !strings.Contains(string(body), `"error"`):
		t.Errorf("%.100q, want a JSON-RPC error", body)
	}
}
