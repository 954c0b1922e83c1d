package policy

import (
	"fmt"
	"net/netip"
	"net/url"

	"paragents/core/policy/files"
	"paragents/core/policy/web"
)

// JudgeRedirect judges one hop of a fetch: a redirect from one URL to another, the nth of its fetch. A relative target
// is taken from where it leads.
func (p *Policy) JudgeRedirect(from, to string, nth int, w World) Verdict {
	t := &tally{policy: p, view: files.NewView(w), world: w}
	t.redirect(from, to, nth)
	return t.decide()
}

// fetch judges a URL and, if follow, every redirect that is known of it.
func (t *tally) fetch(text string, follow bool) {
	u, ok := t.hop(text)
	for nth := 1; ok && follow; nth++ {
		next, more := t.world.Redirect(u.Text)
		if !more {
			return
		}
		u, ok = t.redirect(u.Text, next, nth)
	}
}

func (t *tally) redirect(from, to string, nth int) (web.URL, bool) {
	if nth > web.MaxRedirects {
		t.refuse(fmt.Sprintf("more than %d redirects", web.MaxRedirects))
		return web.URL{}, false
	}
	base, err := url.Parse(from)
	if err != nil {
		t.refuse("the redirect comes from no URL")
		return web.URL{}, false
	}
	target := to
	if ref, err := url.Parse(to); err == nil && !ref.IsAbs() {
		target = base.ResolveReference(ref).String()
	}
	u, ok := t.hop(target)
	if ok && base.Scheme == "https" && u.Scheme == "http" {
		t.doubt("a redirect gives up encryption")
	}
	return u, ok
}

// hop judges one URL; false means that nothing after it matters.
func (t *tally) hop(text string) (web.URL, bool) {
	t.verdict.URLs = append(t.verdict.URLs, text)
	u, err := web.Parse(text)
	if err != nil {
		t.refuse(fmt.Sprintf("%s: %v", text, err))
		return u, false
	}
	var allow []*rule
	for _, r := range t.policy.rules["WebFetch"] {
		switch {
		case r.list == allowList && r.url.Covers(u):
			allow = append(allow, r)
		case r.list != allowList && r.url.Matches(u):
			t.speak(r, files.Yes, text)
		}
	}
	if u.User {
		t.doubt("the URL holds user information")
	}
	if u.Addr.IsValid() {
		if !web.Public(u.Addr) && !t.excepted(u.Addr) {
			t.refuse(fmt.Sprintf("%s leads to an address that is not public", text))
		}
	} else if len(allow) > 0 {
		for _, a := range t.world.Resolve(u.Host) {
			if !web.Public(a) && !t.excepted(a) {
				t.refuse(fmt.Sprintf("the name %s has an address that is not public", u.Host))
			}
		}
	}
	if len(allow) > 0 {
		t.allowed(allow[0], text)
		return u, true
	}
	if u.Addr.IsValid() && t.excepted(u.Addr) {
		return u, true
	}
	t.miss("to fetch "+text, offer{rule: "WebFetch(domain:" + offerHost(u) + ")"})
	return u, true
}

// excepted reports whether the managed layer names the address as reachable.
func (t *tally) excepted(a netip.Addr) bool {
	for _, r := range t.policy.rules["WebFetch"] {
		if r.list == allowList && r.layer == managed && r.url.Net(a) {
			return true
		}
	}
	return false
}

// offerHost is the host of a URL as a rule names it.
func offerHost(u web.URL) string {
	host := u.Host
	if u.Addr.Is6() {
		host = "[" + host + "]"
	}
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if u.Port != usual {
		return host + ":" + u.Port
	}
	return host
}
