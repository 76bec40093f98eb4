package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
	"github.com/mcpstrata/mcpstrata/ci/real/official"
	"github.com/mcpstrata/mcpstrata/ci/real/tape"
)

// A roster is one reading of the registry by the program under test.
type roster struct {
	*job
	listing string // latest or all
	proxy   *tape.Proxy
	direct  string // the registry itself, host:port
	want    map[string]official.Want
	pages   [][]byte // as this program read them
	rows    []string // on them, verbatim
	names   []string // distinct, in listing order
}

// A listingLine is a line of <plan>.listing.jsonl: the header, then the rows.
type listingLine struct {
	Listing *listingHeader `json:"listing"`
	Row     *struct {
		Asked bool   `json:"asked"`
		Bytes string `json:"bytes"`
		Name  string `json:"name"`
	} `json:"row"`
}

// A listingHeader says how the listing was read.
type listingHeader struct {
	Asked     []json.RawMessage `json:"asked"`
	Complete  bool              `json:"complete"`
	Malformed []json.RawMessage `json:"malformed"`
	Query     string            `json:"query"`
	Reason    string            `json:"reason"`
	Rows      int               `json:"rows"`
	Source    string            `json:"source"`
	Pages     []struct {
		Bytes     int    `json:"bytes"`
		Prefix    string `json:"prefix"`
		Raw       []byte `json:"raw"`
		Rows      int    `json:"rows"`
		Separator string `json:"separator"`
		SHA256    string `json:"sha256"`
		Suffix    string `json:"suffix"`
	} `json:"pages"`
}

// A planLine is a line of the plan: its header, then the targets.
type planLine struct {
	Listing string `json:"listing"`
	Roster  string `json:"roster"`
	Targets int    `json:"targets"`

	Name     string `json:"name"`
	Endpoint string `json:"endpoint"`
	Reason   string `json:"reason"`
}

// check reads the registry with the program under test and with code of its
// own, and compares.
func (r *roster) check(ctx context.Context) error {
	if err := r.walk(ctx); err != nil {
		return err
	}
	repo, err := r.newRepo(ctx, "roster-"+r.listing)
	if err != nil {
		return err
	}
	mark := r.proxy.Len()
	plan := filepath.Join(repo.dir, "plan.jsonl")
	source := "http://" + r.proxy.Addr() + "/v0.1/servers"
	args := []string{"roster", "-data", repo.data(), "-registry", source, "-methodology", "v1", "-allow-private",
		"-out", plan, "-now", "2026-11-30T03:15:00Z"}
	if r.listing != "latest" { // the default
		args = append(args, "-listing", r.listing)
	}
	said, err := repo.call(ctx, args...)
	if err != nil {
		return err
	}
	if !r.OK(said.code == 0, "%s: roster exits 0, got %d", r.listing, said.code) {
		return errors.New(said.last())
	}
	lines, err := fileLines[listingLine](plan + ".listing.jsonl")
	if err != nil {
		return err
	}
	if len(lines) == 0 || lines[0].Listing == nil {
		return errors.New("reading the listing file: it has no header")
	}
	r.checkListing(lines, source)
	r.checkPages(lines, r.proxy.Since(mark))
	return r.checkPlan(plan, *lines[0].Listing)
}

// walk reads the listing to its end.
func (r *roster) walk(ctx context.Context) error {
	query := url.Values{"limit": {"100"}}
	if r.listing == "latest" {
		query.Set("version", "latest")
	}
	for {
		req, err := http.NewRequestWithContext(ctx, "GET", "http://"+r.direct+"/v0.1/servers?"+query.Encode(), nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			return fmt.Errorf("reading the registry: %w", err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			return fmt.Errorf("reading the registry: status %d: %v", answer.StatusCode, err)
		}
		var page struct {
			Servers  []json.RawMessage `json:"servers"`
			Metadata struct {
				NextCursor string `json:"nextCursor"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return fmt.Errorf("reading a page: %w", err)
		}
		r.pages = append(r.pages, body)
		for _, row := range page.Servers {
			var entry struct {
				Server official.Version `json:"server"`
			}
			if err := json.Unmarshal(row, &entry); err != nil {
				return fmt.Errorf("reading a row: %w", err)
			}
			r.rows = append(r.rows, string(row))
			if !slices.Contains(r.names, entry.Server.Name) {
				r.names = append(r.names, entry.Server.Name)
			}
		}
		if page.Metadata.NextCursor == "" || len(page.Servers) == 0 {
			r.Note("%s: %d pages, %d rows, %d names", r.listing, len(r.pages), len(r.rows), len(r.names))
			return nil
		}
		query.Set("cursor", page.Metadata.NextCursor)
	}
}

// checkListing checks header and rows of the listing file.
func (r *roster) checkListing(lines []listingLine, source string) {
	h := lines[0].Listing
	r.OK(h.Complete && h.Reason == "", "%s: the listing is complete: %t %q", r.listing, h.Complete, h.Reason)
	var bad check.List
	bad.Same("source", h.Source, source)
	bad.Same("query has version=latest", strings.Contains(h.Query, "version=latest"), r.listing == "latest")
	bad.Same("malformed", len(h.Malformed), 0)
	bad.Same("asked", len(h.Asked), 0)
	bad.Same("rows", h.Rows, len(lines)-1)
	r.None(bad, "%s: the listing header says how it was read: %s", r.listing, h.Query)

	bad = nil
	bad.Same("number of rows", len(lines)-1, len(r.rows))
	seen := map[string]bool{}
	for i, line := range lines[1:] {
		switch {
		case line.Row == nil || line.Row.Asked:
			bad.Add("line %d is not a row of a page", i+2)
			continue
		case i < len(r.rows) && line.Row.Bytes != r.rows[i]:
			bad.Add("line %d: row of %s is not the registry's", i+2, line.Row.Name)
		}
		seen[line.Row.Name] = true
	}
	r.None(bad, "%s: %d rows, verbatim, in the registry's order", r.listing, len(r.rows))
	bad = nil
	for name := range r.want {
		if !seen[name] {
			bad.Add("missing: %s", name)
		}
	}
	bad.Same("number of names", len(seen), len(r.want))
	r.None(bad, "%s: the names are the %d seeded", r.listing, len(r.want))
}

// checkPages rebuilds every page from the listing file alone, and compares it
// with its digest, with what the proxy saw the program under test read, and
// with what this program read.
func (r *roster) checkPages(lines []listingLine, talk []tape.Exchange) {
	h := lines[0].Listing
	var seen [][]byte
	var bad check.List
	for _, e := range talk {
		body, err := e.Decoded()
		if err != nil || e.Method != "GET" || e.Status != http.StatusOK || !strings.HasPrefix(e.URI, "/v0.1/servers?") {
			bad.Add("%s %s: status %d %v", e.Method, e.URI, e.Status, err)
			continue
		}
		seen = append(seen, body)
	}
	r.None(bad, "%s: roster read the listing and nothing else, in %d requests", r.listing, len(talk))
	bad = nil
	bad.Same("pages recorded", len(h.Pages), len(seen))
	bad.Same("pages of the same walk", len(h.Pages), len(r.pages))
	rows, raw := lines[1:], 0
	for i, p := range h.Pages {
		if p.Rows > len(rows) {
			bad.Add("page %d: %d rows, but %d are left", i, p.Rows, len(rows))
			break
		}
		body := p.Raw
		if body == nil {
			var texts []string
			for _, line := range rows[:p.Rows] {
				if line.Row != nil {
					texts = append(texts, line.Row.Bytes)
				}
			}
			body = []byte(p.Prefix + strings.Join(texts, p.Separator) + p.Suffix)
		} else {
			raw++
		}
		rows = rows[p.Rows:]
		bad.Same(fmt.Sprintf("page %d: sha256", i), p.SHA256, digest(body))
		bad.Same(fmt.Sprintf("page %d: bytes", i), p.Bytes, len(body))
		bad.Same(fmt.Sprintf("page %d: as the proxy saw it", i), i < len(seen) && bytes.Equal(body, seen[i]), true)
		bad.Same(fmt.Sprintf("page %d: as read here", i), i < len(r.pages) && bytes.Equal(body, r.pages[i]), true)
	}
	bad.Same("pages kept whole because they could not be rebuilt", raw, 0)
	r.None(bad, "%s: %d pages rebuilt byte for byte", r.listing, len(h.Pages))
}

// checkPlan checks that the plan has one line per name, in listing order, with
// the endpoint or the reason that the seeded rows demand.
func (r *roster) checkPlan(path string, h listingHeader) error {
	plan, err := fileLines[planLine](path)
	if err != nil {
		return err
	}
	listing, err := os.ReadFile(path + ".listing.jsonl")
	if err != nil {
		return err
	}
	if len(plan) == 0 {
		return errors.New("reading the plan: it is empty")
	}
	var pages strings.Builder
	for _, p := range h.Pages {
		pages.WriteString(p.SHA256 + "\n")
	}
	var bad check.List
	bad.Same("targets", plan[0].Targets, len(plan)-1)
	bad.Same("listing", plan[0].Listing, digest(listing))
	bad.Same("roster", plan[0].Roster, digest([]byte(pages.String())))
	r.None(bad, "%s: the plan's header names the listing by its digests", r.listing)

	bad = nil
	var names []string
	counts := map[string]int{}
	for _, t := range plan[1:] {
		names = append(names, t.Name)
		w := r.want[t.Name]
		bad.Same(t.Name+": endpoint", t.Endpoint, w.Endpoint)
		bad.Same(t.Name+": reason", t.Reason, w.Reason)
		counts[t.Reason]++
	}
	r.OK(slices.Equal(names, r.names), "%s: the plan has one line per name, %d, in listing order", r.listing, len(r.names))
	r.None(bad, "%s: endpoints and reasons: %d endpoints, %d url_template, %d sse_only, %d no_remote", r.listing,
		counts[""], counts["url_template"], counts["sse_only"], counts["no_remote"])
	return nil
}
