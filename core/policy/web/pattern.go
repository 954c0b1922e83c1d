package web

import (
	"fmt"
	"net/netip"
	"strings"
)

// Pattern is a compiled WebFetch pattern.
type Pattern struct {
	all  bool
	host string
	sub  bool // only hosts below host
	port string
	net  netip.Prefix
}

// ParsePattern compiles domain:HOST, domain:*.HOST, domain:HOST:PORT or net:PREFIX; the empty pattern and * match
// every URL.
func ParsePattern(text string) (Pattern, error) {
	if text == "" || text == "*" {
		return Pattern{all: true}, nil
	}
	if rest, ok := strings.CutPrefix(text, "net:"); ok {
		net, err := netip.ParsePrefix(rest)
		if err != nil {
			return Pattern{}, fmt.Errorf("parse network %q: want an address and a length such as 10.1.0.0/16", rest)
		}
		return Pattern{net: net.Masked()}, nil
	}
	rest, ok := strings.CutPrefix(text, "domain:")
	if !ok {
		return Pattern{}, fmt.Errorf("parse pattern %q: want domain:HOST, domain:*.HOST or net:PREFIX", text)
	}
	p := Pattern{}
	rest, p.sub = strings.CutPrefix(rest, "*.")
	if i := strings.LastIndex(rest, ":"); i >= 0 && !strings.HasSuffix(rest, "]") && strings.Trim(rest[i+1:], "0123456789") == "" {
		rest, p.port = rest[:i], rest[i+1:]
	}
	host, _, err := Host(strings.Trim(rest, "[]"))
	if err != nil {
		return Pattern{}, fmt.Errorf("parse domain %q: %w", rest, err)
	}
	p.host = host
	return p, nil
}

// Covers reports whether an allow rule with the pattern covers u: its host, and the port that the pattern names or the
// usual one.
func (p Pattern) Covers(u URL) bool {
	if p.all {
		return true
	}
	port := p.port
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return p.names(u.Host) && port == u.Port
}

// Matches reports whether a deny or ask rule with the pattern matches u.
func (p Pattern) Matches(u URL) bool {
	if p.net.IsValid() {
		return u.Addr.IsValid() && p.Net(u.Addr)
	}
	return p.all || p.names(u.Host) && (p.port == "" || p.port == u.Port)
}

// Net reports whether the pattern is a network that holds the address, whatever that is wrapped in.
func (p Pattern) Net(a netip.Addr) bool { return p.net.IsValid() && p.net.Contains(Unwrap(a)) }

func (p Pattern) names(host string) bool {
	switch {
	case p.net.IsValid() || p.host == "":
		return false
	case p.sub:
		return strings.HasSuffix(host, "."+p.host)
	}
	return host == p.host
}
