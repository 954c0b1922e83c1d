package redis

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for _, c := range []struct {
		url  string
		want target
	}{
		{"redis://localhost", target{addrs: []string{"localhost:6379"}}},
		{"redis://10.0.0.1:7000/3", target{addrs: []string{"10.0.0.1:7000"}, db: 3}},
		{"redis://[::1]:7000/", target{addrs: []string{"[::1]:7000"}}},
		{"redis://[::1]", target{addrs: []string{"[::1]:6379"}}},
		{"redis://:pa%3Ass@h", target{addrs: []string{"h:6379"}, password: "pa:ss"}},
		{"redis://me:p%40:%2F@h/1", target{addrs: []string{"h:6379"}, username: "me", password: "p@:/", db: 1}},
		{"redis://me:p@ss@h", target{addrs: []string{"h:6379"}, username: "me", password: "p@ss"}},
		{"rediss://h:1", target{tls: true, addrs: []string{"h:1"}}},
		{"redis+sentinel://a,b:1/main", target{mode: sentinel, addrs: []string{"a:26379", "b:1"}, primary: "main"}},
		{"rediss+sentinel://:pw@a:1,b:2/my%20main/4", target{mode: sentinel, tls: true, addrs: []string{"a:1", "b:2"}, password: "pw", primary: "my main", db: 4}},
		{"redis+cluster://a:1,b", target{mode: cluster, addrs: []string{"a:1", "b:6379"}}},
	} {
		got, err := parseURL(c.url)
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", c.url, got, err, c.want)
		}
	}
}

func TestB076WrongURLDoesNotShowItsPassword(t *testing.T) {
	for _, c := range []struct{ url, hint string }{
		{"", "no scheme"},
		{"hunter2", "no scheme"},
		{"http://:hunter2@h", "scheme is not"},
		{"redis+mesh://:hunter2@h", "sentinel or cluster"},
		{"redis://:hunter2@", "no host"},
		{"redis://:hunter2@h:port", "host:port"},
		{"redis://:hunter2@h:70000", "host:port"},
		{"redis://:hunter2@a:b:c", "host:port"},
		{"redis://:hunter2%zz@h", "percent-encoded"},
		{"redis://:hunter2/x@h:6379", "not a number"},
		{"redis://:hunter2#x@h:6379", "percent-encoded"},
		{"redis://:hunter2@h/zero", "not a number"},
		{"redis://:hunter2@h/-1", "not a number"},
		{"redis://:hunter2@h/0?password=hunter2", "settings of their own"},
		{"redis://:hunter2@a,b", "several hosts"},
		{"redis+sentinel://:hunter2@a", "name the primary"},
		{"redis+sentinel://:hunter2@a/main/x", "not a number"},
		{"redis+cluster://:hunter2@a/1", "no database"},
	} {
		_, err := parseURL(c.url)
		if err == nil || !strings.Contains(err.Error(), c.hint) || !strings.Contains(err.Error(), "store.url") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v, want one about %q", c.url, err, c.hint)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	f.Add("redis", "user", "geheim", "host:1", "/0")
	f.Add("redis+sentinel", "", "%zz", "a,b,[::1]", "/main/2")
	f.Add("rediss+cluster", "x", "p@/?#", "", "")
	f.Fuzz(func(t *testing.T, scheme, user, password, hosts, path string) {
		const secret = "Zq7xW"
		got, err := parseURL(scheme + "://" + user + ":" + secret + password + "@" + hosts + path)
		if err != nil {
			if strings.Contains(err.Error(), secret) {
				t.Fatalf("the error shows the password: %v", err)
			}
			return
		}
		if len(got.addrs) == 0 || (got.mode == sentinel) != (got.primary != "") {
			t.Fatalf("accepted as %+v", got)
		}
	})
}
