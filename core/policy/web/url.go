// Package web judges the text of URLs: what host a URL names, and whether an address may be reached from inside.
package web

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// MaxRedirects is the number of redirects that are followed.
const MaxRedirects = 5

// URL is what a URL leads to.
type URL struct {
	Scheme string     // http or https
	Host   string     // lower case, ASCII form, no final dot; the address in its usual form if there is Addr
	Addr   netip.Addr // valid if the host is an address
	Port   string     // never empty
	User   bool       // has user information
	Text   string     // as it was given
}

// Refusal is why a URL is denied, whatever the rules say.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Parse reads an absolute http or https URL. Any error is a Refusal.
func Parse(text string) (URL, error) {
	for _, r := range text {
		if r <= ' ' || r == 0x7f || r == '\\' || r == unicode.ReplacementChar || unicode.Is(unicode.Z, r) || unicode.IsControl(r) {
			return URL{}, Refusal("the URL holds a blank, a control character or a backslash")
		}
	}
	u, err := url.Parse(text)
	if err != nil {
		return URL{}, Refusal("the URL is not well formed")
	}
	scheme := strings.ToLower(u.Scheme)
	if scheme != "http" && scheme != "https" {
		return URL{}, Refusal("only http and https are fetched")
	}
	if u.Opaque != "" || u.Host == "" {
		return URL{}, Refusal("the URL names no host")
	}
	out := URL{Scheme: scheme, User: u.User != nil, Port: u.Port(), Text: text}
	if out.Port == "" {
		out.Port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	if n, err := strconv.Atoi(out.Port); err != nil || n < 1 || n > 65535 {
		return URL{}, Refusal("the URL has no valid port")
	}
	authority := text[strings.Index(text, ":")+1:]
	authority = strings.TrimPrefix(authority, "//")
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		authority = authority[i+1:]
	}
	if strings.ContainsAny(authority, "%") {
		return URL{}, Refusal("the host holds an escape or a zone")
	}
	out.Host, out.Addr, err = Host(u.Hostname())
	return out, err
}

// Host normalises a host name: lower case, compatibility characters and full stops, ASCII form, numbers as the address
// that old resolvers make of them.
func Host(name string) (string, netip.Addr, error) {
	if strings.Contains(name, ":") {
		addr, err := netip.ParseAddr(name)
		if err != nil || addr.Zone() != "" {
			return "", netip.Addr{}, Refusal("the host is no address")
		}
		return addr.String(), addr, nil
	}
	host := strings.ToLower(norm.NFKC.String(name))
	host = strings.Map(func(r rune) rune {
		switch r {
		case '。', '．', '｡':
			return '.'
		}
		return r
	}, host)
	host = strings.TrimSuffix(host, ".")
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		// underscores and the like are no host names for the web, but some resolvers take them
		if ascii, err = idna.Punycode.ToASCII(host); err != nil {
			return "", netip.Addr{}, Refusal("the host is no name")
		}
	}
	if ascii == "" || strings.Contains(ascii, "..") || strings.HasPrefix(ascii, ".") {
		return "", netip.Addr{}, Refusal("the host is no name")
	}
	if last := ascii[strings.LastIndex(ascii, ".")+1:]; numeric(last) {
		addr, ok := oldAddr(ascii)
		if !ok {
			return "", netip.Addr{}, Refusal("the host looks like a number and is no address")
		}
		return addr.String(), addr, nil
	}
	for _, suffix := range []string{"localhost", "local", "internal"} {
		if ascii == suffix || strings.HasSuffix(ascii, "."+suffix) {
			return "", netip.Addr{}, Refusal(fmt.Sprintf("the name %s belongs to the inside", ascii))
		}
	}
	return ascii, netip.Addr{}, nil
}

// numeric reports whether a label makes the whole host an address for a resolver.
func numeric(label string) bool {
	if label == "" {
		return false
	}
	if rest, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// oldAddr reads an IPv4 address of one to four decimal, octal or hexadecimal parts.
func oldAddr(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, p := range parts {
		base, digits := 10, p
		switch {
		case strings.HasPrefix(p, "0x"):
			base, digits = 16, p[2:]
			if digits == "" {
				digits = "0"
			}
		case len(p) > 1 && p[0] == '0':
			base = 8
		}
		n, err := strconv.ParseUint(digits, base, 32)
		if err != nil {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			value = value<<8 | n
			continue
		}
		width := 8 * (5 - len(parts))
		if n >= 1<<width {
			return netip.Addr{}, false
		}
		value = value<<width | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}
