package target

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Host returns the host and port of an endpoint, the unit of politeness and of
// shards: lower case, the default port of the scheme spelt out, a name's final
// dot left out, an IPv6 address in brackets. Internationalised names are left as
// they are. It returns the empty string for what is not an http or https URL
// with a host.
func Host(endpoint string) string {
	u, ok := parse(endpoint)
	if !ok {
		return ""
	}
	port := "443"
	if u.Scheme == "http" {
		port = "80"
	}
	if n, err := strconv.Atoi(u.Port()); err == nil {
		port = strconv.Itoa(n)
	}
	return net.JoinHostPort(hostname(u), port)
}

// Platform returns the registrable domain of an endpoint, by which a release over
// many targets of one operator is grouped: one label more than the public suffix
// of its host, in lower case. Suffixes under which anybody can register, such as
// vercel.app, are public. An IP address, a single label and a public suffix are
// their own platform. It returns the empty string where Host does.
func Platform(endpoint string) string {
	u, ok := parse(endpoint)
	if !ok {
		return ""
	}
	host := hostname(u)
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	d, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil { // a suffix or a single label, or no name of the DNS
		return host
	}
	return d
}

// hostname returns the host of u without port and brackets, in lower case and
// without a final dot.
func hostname(u *url.URL) string {
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}
