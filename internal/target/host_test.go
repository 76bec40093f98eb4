package target

import (
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

func TestHostAndPlatform(t *testing.T) {
	tests := []struct{ endpoint, host, platform string }{
		{"https://mcp.example.com/mcp", "mcp.example.com:443", "example.com"},
		{"http://mcp.example.com/mcp", "mcp.example.com:80", "example.com"},
		{"https://MCP.Example.COM:8443/", "mcp.example.com:8443", "example.com"},
		{"HTTPS://mcp.example.com:0443", "mcp.example.com:443", "example.com"},
		{"http://mcp.example.com:443/", "mcp.example.com:443", "example.com"},
		{"https://mcp.example.com:/", "mcp.example.com:443", "example.com"},
		{"https://mcp.example.com./", "mcp.example.com:443", "example.com"},
		{"https://a.b.example.co.uk/", "a.b.example.co.uk:443", "example.co.uk"},
		{"https://one.vercel.app/mcp", "one.vercel.app:443", "one.vercel.app"},
		{"https://vercel.app/mcp", "vercel.app:443", "vercel.app"},
		{"https://x.unlisted/mcp", "x.unlisted:443", "x.unlisted"},
		{"http://localhost:3000/mcp", "localhost:3000", "localhost"},
		{"http://127.0.0.5:3000/mcp", "127.0.0.5:3000", "127.0.0.5"},
		{"http://[2001:DB8::1]/mcp", "[2001:db8::1]:80", "2001:db8::1"},
		{"https://bücher.example/", "bücher.example:443", "bücher.example"},
		{"https://a..example.com/", "a..example.com:443", "a..example.com"},
		{"https://{x}/", "", ""},
		{"ftp://a.example/", "", ""},
		{"https://u:p@a.example/", "", ""},
		{"", "", ""},
	}
	for _, tt := range tests {
		if got := Host(tt.endpoint); got != tt.host {
			t.Errorf("Host(%q) = %q, want %q", tt.endpoint, got, tt.host)
		}
		if got := Platform(tt.endpoint); got != tt.platform {
			t.Errorf("Platform(%q) = %q, want %q", tt.endpoint, got, tt.platform)
		}
	}
}

const optOuts = `# who asked not to be read
io.github.Foo/bar   # by mail, 2026-05-01

Example.com
127.0.0.1:8080
[2001:db8::1]:443
2001:db8::2
*.Platform.example.
`

func TestOptOut(t *testing.T) {
	o, err := ParseOptOut(strings.NewReader(optOuts))
	if err != nil {
		t.Fatalf("ParseOptOut(list) = %v", err)
	}
	tests := []struct {
		name, endpoint string
		want           bool
	}{
		{"io.github.Foo/bar", "https://other.example/", true},
		{"io.github.foo/bar", "https://other.example/", false},
		{"a/a", "https://EXAMPLE.com:8443/mcp", true},
		{"a/a", "https://example.com./mcp", true},
		{"a/a", "https://www.example.com/mcp", false},
		{"a/a", "http://127.0.0.1:8080/mcp", true},
		{"a/a", "http://127.0.0.1:8081/mcp", false},
		{"a/a", "https://[2001:db8::1]/mcp", true},
		{"a/a", "http://[2001:db8::1]/mcp", false},
		{"a/a", "http://[2001:db8::2]:9/mcp", true},
		{"a/a", "https://x.y.platform.example/mcp", true},
		{"a/a", "https://platform.example/mcp", false},
		{"a/a", "https://notplatform.example/mcp", false},
	}
	for _, tt := range tests {
		got := Choose([]record.ListingRow{row(tt.name, "1.0.0", at(tt.endpoint), active)}, o)[0]
		if out := got.Reason == record.DetailOptOut; out != tt.want || out == (got.Endpoint != "") {
			t.Errorf("Choose(%s at %s) = %+v, want opted out %v", tt.name, tt.endpoint, got, tt.want)
		}
	}
	for _, remotes := range []string{`{}`, `[]`, at("{x}")} {
		if got := Choose([]record.ListingRow{row("io.github.Foo/bar", "1", remotes, active)}, o)[0]; got.Reason != record.DetailOptOut {
			t.Errorf("Choose(io.github.Foo/bar, %s) = %+v, want opt_out", remotes, got)
		}
	}
}

func TestParseOptOutRefuses(t *testing.T) {
	for _, line := range []string{
		"https://example.com/mcp", "https://example.com", "a b", "*.com", "*.", "*", "*.*.example.com", "mcp.*.example.com",
		"example.com:0", "example.com:http", "u@example.com", "example.com?x", strings.Repeat("x", 70_000) + ".example",
	} {
		if o, err := ParseOptOut(strings.NewReader("# first\n" + line + "\n")); err == nil {
			t.Errorf("ParseOptOut(%.60q) = %+v, want an error", line, o)
		} else if len(line) < 1000 && !strings.Contains(err.Error(), "line 2") {
			t.Errorf("ParseOptOut(%.60q) = %v, want the line named", line, err)
		}
	}
	o, err := ParseOptOut(strings.NewReader(""))
	if err != nil || o.Name("a/a") || o.Endpoint("https://a.example") {
		t.Errorf("ParseOptOut(nothing) = %+v, %v; want nobody", o, err)
	}
}
