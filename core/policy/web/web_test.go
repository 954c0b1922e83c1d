package web_test

import (
	"net/netip"
	"testing"

	"paragents/core/policy/web"
)

func TestHost(t *testing.T) {
	for in, want := range map[string]string{
		"Docs.Example.ORG.": "docs.example.org", "bücher.example": "xn--bcher-kva.example", "xn--bcher-kva.example": "xn--bcher-kva.example",
		"127.0.0.1": "127.0.0.1", "127.1": "127.0.0.1", "2130706433": "127.0.0.1", "0x7f000001": "127.0.0.1", "0177.0.0.1": "127.0.0.1", "0": "0.0.0.0",
		"①②⑦.0.0.1": "127.0.0.1", "example。org": "example.org", "::ffff:1.2.3.4": "::ffff:1.2.3.4", "a_b.example": "a_b.example", "0xa.0xb.0xc": "10.11.0.12",
	} {
		if got, _, err := web.Host(in); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", ".", "a..b", "localhost", "LOCALHOST.", "x.localhost", "printer.local", "metadata.google.internal", "1.2.3.4.5", "256.1.1.1",
		"1.2.3.256", "4294967296", "08.1.1.1", "1.65536.1", "fe80::1%eth0"} {
		if got, _, err := web.Host(in); err == nil {
			t.Errorf("%q was taken for %q", in, got)
		}
	}
}

func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"93.184.215.14": true, "2606:2800:21f:cb07:6820:80da:af6b:8b2c": true, "64:ff9b::5db8:d70e": true, "2002:5db8:d70e::1": true, "::ffff:93.184.215.14": true,
		"127.0.0.1": false, "10.0.0.1": false, "172.16.0.1": false, "192.168.0.1": false, "169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false,
		"192.0.2.1": false, "198.51.100.1": false, "203.0.113.1": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false,
		"::": false, "::1": false, "fe80::1": false, "fd00::1": false, "ff02::1": false, "2001:db8::1": false, "2001::1": false, "3fff::1": false,
		"::ffff:10.0.0.1": false, "::10.0.0.1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::1": false, "2002:7f00:1::": false, "4000::1": false,
	} {
		if got := web.Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"https://example.org/", "http://[::1%25eth0]/", "http://①.0.0.1:8080/a?b#c", "http://user:pw@a.b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := web.Parse(text)
		if err != nil {
			return
		}
		again, addr, err := web.Host(u.Host)
		if err != nil || again != u.Host || addr != u.Addr {
			t.Errorf("%q: host %q is read again as %q, %v", text, u.Host, again, err)
		}
	})
}
