package netguard_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"paragents/core/policy/netguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inside is a server on the loopback address that counts who reached it.
func inside(t *testing.T) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var hits atomic.Int64
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			hits.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s, &hits
}

const public = "93.184.215.14"

// names is a resolver of a few names.
type names map[string][]string

func (n names) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, text := range n[host] {
		out = append(out, netip.MustParseAddr(text))
	}
	return out, nil
}

// through lets every address that passes lead to one test server.
func through(to *httptest.Server) func(context.Context, netip.AddrPort) (net.Conn, error) {
	return func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", to.Listener.Addr().String())
	}
}

func get(t *testing.T, c *http.Client, target string) (string, error) {
	t.Helper()
	defer c.CloseIdleConnections()
	answer, err := c.Get(target)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

func TestB067NoAddressInsideIsReached(t *testing.T) {
	fake, hits := inside(t)
	_, port, _ := net.SplitHostPort(fake.Listener.Addr().String())
	c := netguard.NewClient(netguard.Config{})
	for _, target := range []string{
		"http://127.0.0.1:" + port, "http://localhost:" + port, "http://[::1]:" + port, "http://[::]:" + port,
		"http://0.0.0.0:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://①27.0.0.1:" + port, "http://127.1:" + port,
		"http://2130706433:" + port, "http://0x7f.1:" + port, "http://0177.0.0.1:" + port, "http://[::127.0.0.1]:" + port,
		"http://[64:ff9b::127.0.0.1]:" + port, "http://[2002:7f00:1::]:" + port, "http://[64:ff9b:1::1]/",
		"http://169.254.169.254/latest/", "http://100.64.0.1/", "http://10.0.0.1/", "http://192.168.1.1/", "http://198.18.0.1/",
		"http://[fd00::1]/", "http://[fe80::1]/", "http://[ff02::1]/", "http://224.0.0.1/", "http://255.255.255.255/",
		"http://192.0.2.1/", "http://[2001:db8::1]/", "file:///etc/passwd", "ftp://example.org/",
	} {
		if _, err := get(t, c, target); err == nil {
			t.Errorf("%s was fetched", target)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("the server inside got %d connections", n)
	}
}

func TestB067NoRedirectLeadsInside(t *testing.T) {
	fake, hits := inside(t)
	_, port, _ := net.SplitHostPort(fake.Listener.Addr().String())
	for _, target := range []string{
		"http://169.254.169.254/latest/", "http://[::ffff:127.0.0.1]:" + port + "/", "http://100.64.0.1/", "file:///x",
		"http://127.0.0.1:" + port + "/", "http://localhost:" + port, "http://inside.example:" + port + "/", "gopher://example.org/",
	} {
		outside := httptest.NewServer(http.RedirectHandler(target, http.StatusFound))
		dialer := netguard.Dialer{
			Lookup: names{"outside.example": {public}, "inside.example": {"127.0.0.1"}}.lookup,
			// the way out: everything that is taken for public leads to the redirecting server
			Connect: through(outside),
		}
		_, err := get(t, netguard.NewClient(netguard.Config{Dialer: dialer}), "http://outside.example/")
		outside.Close()
		if err == nil {
			t.Errorf("the redirect to %s was followed", target)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("the server inside got %d connections", n)
	}
}

func TestB068TheAddressThatWasCheckedIsUsed(t *testing.T) {
	fake, hits := inside(t)
	_, port, _ := net.SplitHostPort(fake.Listener.Addr().String())
	asked := 0
	changing := func(context.Context, string) ([]netip.Addr, error) {
		asked++
		if asked == 1 {
			return []netip.Addr{netip.MustParseAddr(public)}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	var used []netip.AddrPort
	connect := func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
		used = append(used, to)
		return nil, errors.New("unreachable")
	}
	for _, c := range []struct {
		name   string
		dialer netguard.Dialer
		inside bool
	}{
		{"first answer public, second inside", netguard.Dialer{Lookup: changing, Connect: connect}, false},
		{"second answer", netguard.Dialer{Lookup: changing, Connect: connect}, true},
		{"one public and one private record", netguard.Dialer{Lookup: names{"x.example": {public, "127.0.0.1"}}.lookup, Connect: connect}, true},
		{"always inside", netguard.Dialer{Lookup: names{"x.example": {"127.0.0.1"}}.lookup}, true},
		{"mapped", netguard.Dialer{Lookup: names{"x.example": {"::ffff:127.0.0.1"}}.lookup}, true},
	} {
		_, err := get(t, netguard.NewClient(netguard.Config{Dialer: c.dialer}), "http://x.example:"+port+"/")
		if err == nil || errors.Is(err, netguard.ErrInside) != c.inside {
			t.Errorf("%s: got %v, want refused as inside: %v", c.name, err, c.inside)
		}
	}
	if len(used) != 1 || used[0].Addr().String() != public {
		t.Errorf("connected to %v, want the address that was checked", used)
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("the server inside got %d connections", n)
	}
}

func TestExceptedNetworkIsReached(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer s.Close()
	d := netguard.Dialer{Except: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	if body, err := get(t, netguard.NewClient(netguard.Config{Dialer: d}), s.URL); err != nil || body != "hello" {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestLimitsAndCredentials(t *testing.T) {
	seen := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, strings.Repeat("a", 1<<20))
			z.Close()
		case "/exact":
			io.WriteString(w, strings.Repeat("a", 1000))
		case "/spin":
			http.Redirect(w, r, "/spin", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://other.example/seen", http.StatusFound)
		case "/seen":
			seen = r.Header.Get("Authorization") + r.Header.Get("Cookie") + r.Header.Get("Referer")
		}
	}))
	defer s.Close()
	d := netguard.Dialer{Lookup: names{"x.example": {public}, "other.example": {public}}.lookup, Connect: through(s)}
	c := netguard.NewClient(netguard.Config{Dialer: d, MaxBody: 1000})
	if _, err := get(t, c, "http://x.example/long"); !errors.Is(err, netguard.ErrTooLarge) {
		t.Errorf("long body: got %v", err)
	}
	if body, err := get(t, c, "http://x.example/exact"); err != nil || len(body) != 1000 {
		t.Errorf("body of the limit: got %d bytes, %v", len(body), err)
	}
	if _, err := get(t, c, "http://x.example/spin"); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("redirects without end: got %v", err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.example/away", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer x")
	r.Header.Set("Cookie", "a=b")
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	c.CloseIdleConnections()
	if seen != "" {
		t.Errorf("another host got %q", seen)
	}
}

func TestHopDecides(t *testing.T) {
	s := httptest.NewServer(http.RedirectHandler("http://other.example/", http.StatusFound))
	defer s.Close()
	d := netguard.Dialer{Lookup: names{"x.example": {public}, "other.example": {public}}.lookup, Connect: through(s)}
	refuse := errors.New("not that host")
	c := netguard.NewClient(netguard.Config{Dialer: d, Hop: func(from, to *url.URL, nth int) error {
		if from.Host != "x.example" || to.Host != "other.example" || nth != 1 {
			t.Errorf("hop %d from %s to %s", nth, from, to)
		}
		return refuse
	}})
	if _, err := get(t, c, "http://x.example/"); !errors.Is(err, refuse) {
		t.Errorf("got %v", err)
	}
}

func TestOtherNetworksAreRefused(t *testing.T) {
	var d netguard.Dialer
	for _, network := range []string{"udp", "unix", "ip"} {
		if conn, err := d.DialContext(t.Context(), network, public+":80"); err == nil {
			conn.Close()
			t.Errorf("network %s was dialled", network)
		}
	}
}
