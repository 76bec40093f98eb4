package target

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// An OptOut says which targets asked not to be read. The zero OptOut is nobody.
type OptOut struct {
	names   map[string]bool
	hosts   map[string]bool // host, or host:port, in lower case
	domains []string        // .example.com, in lower case
}

// ParseOptOut reads data/opt-out.txt: one entry a line, of at most 64 KiB, and
// comments from # to the end of the line. An entry is
//
//   - a registry name, which holds a slash and is compared byte for byte;
//   - a host, at any port, or host:port; an IPv6 address with a port stands in
//     brackets;
//   - *.domain: every host below the domain, but not the domain itself.
//
// It fails on a line that is none of these, naming it: an entry that matches
// nothing would break the promise unseen.
func ParseOptOut(r io.Reader) (OptOut, error) {
	o := OptOut{names: map[string]bool{}, hosts: map[string]bool{}}
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		line, _, _ := strings.Cut(sc.Text(), "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if err := o.add(line); err != nil {
			return OptOut{}, fmt.Errorf("reading opt-out line %d: %w", n, err)
		}
	}
	if err := sc.Err(); err != nil {
		return OptOut{}, fmt.Errorf("reading opt-out list: %w", err)
	}
	return o, nil
}

func (o *OptOut) add(line string) error {
	domain, below := strings.CutPrefix(line, "*.")
	switch {
	case strings.ContainsAny(line, " \t"):
		return fmt.Errorf("%.100q has a space; write one name or host a line", line)
	case strings.Contains(line, "://"):
		return fmt.Errorf("%.100q is a URL; write its host or the registry name", line)
	case strings.Contains(line, "/"):
		o.names[line] = true
		return nil
	case below:
		domain = strings.TrimSuffix(strings.ToLower(domain), ".")
		if !strings.Contains(domain, ".") || strings.ContainsAny(domain, "*:[]") {
			return fmt.Errorf("%.100q is no pattern of the form *.example.com", line)
		}
		o.domains = append(o.domains, "."+domain)
		return nil
	}
	u, ok := parse("http://" + line)
	if !ok && strings.Count(line, ":") > 1 { // an IPv6 address without brackets
		u, ok = parse("http://[" + line + "]")
	}
	if !ok || strings.ContainsAny(line, "*?@") {
		return fmt.Errorf("%.100q is neither a registry name nor a host", line)
	}
	o.hosts[withPort(u)] = true
	return nil
}

// Name reports whether the registry name opted out.
func (o OptOut) Name(name string) bool { return o.names[name] }

// Endpoint reports whether the host of an endpoint opted out.
func (o OptOut) Endpoint(endpoint string) bool {
	u, ok := parse(endpoint)
	if !ok {
		return false
	}
	host := hostname(u)
	if o.hosts[host] || o.hosts[Host(endpoint)] {
		return true
	}
	for _, d := range o.domains {
		if strings.HasSuffix(host, d) {
			return true
		}
	}
	return false
}

// withPort returns the host of u, with its port if it states one.
func withPort(u *url.URL) string {
	if u.Port() == "" {
		return hostname(u)
	}
	return Host(u.String())
}
