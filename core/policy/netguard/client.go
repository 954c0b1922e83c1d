package netguard

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"paragents/core/policy/web"
)

// ErrTooLarge is returned by the body of an answer that is longer than the limit, after decompression.
var ErrTooLarge = errors.New("the answer is longer than the limit")

// Config says how a client fetches. The zero value has sensible limits.
type Config struct {
	Dialer
	// Hop judges every redirect before it is followed, the nth of its request; an error ends the request. The check of
	// scheme, address and number is done in any case. Nil allows every public target.
	Hop func(from, to *url.URL, nth int) error
	// Timeout bounds a whole request with its body; 0 means 30 seconds, a negative one no limit but those of dialling
	// and of waiting for the head of the answer (for streams, whose owner has a limit of its own).
	Timeout time.Duration
	// MaxBody bounds the bytes of a body after decompression; 0 means 8 MiB.
	MaxBody int64
}

// limits of a request that nobody needs to change.
const (
	headTime   = 20 * time.Second
	maxHead    = 256 << 10
	usualTime  = 30 * time.Second
	usualBytes = 8 << 20
)

// NewClient returns a client that reaches public addresses only, uses no proxy and no cookies, and follows at most five
// redirects. The owner calls CloseIdleConnections when it is done.
func NewClient(c Config) *http.Client {
	if c.Timeout == 0 {
		c.Timeout = usualTime
	}
	if c.MaxBody == 0 {
		c.MaxBody = usualBytes
	}
	dialer := c.Dialer
	transport := &http.Transport{
		Proxy:                  nil, // a proxy of the environment would be dialled instead
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    dialTime,
		ResponseHeaderTimeout:  headTime,
		MaxResponseHeaderBytes: maxHead,
		IdleConnTimeout:        usualTime,
		MaxIdleConns:           16,
	}
	return &http.Client{
		Transport:     &guarded{next: transport, maxBody: c.MaxBody},
		Timeout:       max(c.Timeout, 0),
		CheckRedirect: c.checkRedirect,
	}
}

// checkRedirect judges one hop and drops what belongs to the host before it.
func (c *Config) checkRedirect(to *http.Request, via []*http.Request) error {
	from := via[len(via)-1]
	if len(via) > web.MaxRedirects {
		return fmt.Errorf("fetch %s: more than %d redirects", via[0].URL.Redacted(), web.MaxRedirects)
	}
	if _, err := web.Parse(to.URL.String()); err != nil {
		return fmt.Errorf("follow redirect to %s: %w", to.URL.Redacted(), err)
	}
	if c.Hop != nil {
		if err := c.Hop(from.URL, to.URL, len(via)); err != nil {
			return err
		}
	} else if from.URL.Scheme == "https" && to.URL.Scheme == "http" {
		return fmt.Errorf("follow redirect to %s: it gives up encryption", to.URL.Redacted())
	}
	if from.URL.Host != to.URL.Host || from.URL.Scheme != to.URL.Scheme {
		for _, h := range []string{"Authorization", "Cookie", "Proxy-Authorization", "Www-Authenticate", "Referer"} {
			to.Header.Del(h)
		}
	}
	return nil
}

// guarded checks the text of each URL before anything is dialled, and bounds each body.
type guarded struct {
	next    *http.Transport
	maxBody int64
}

func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := web.Parse(r.URL.String()); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, fmt.Errorf("fetch %s: %w", r.URL.Redacted(), err)
	}
	answer, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &bounded{ReadCloser: answer.Body, left: g.maxBody}
	return answer, nil
}

// CloseIdleConnections lets http.Client end the connections that it keeps.
func (g *guarded) CloseIdleConnections() { g.next.CloseIdleConnections() }

// bounded fails once more bytes than allowed were read.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	// one byte more than allowed tells a longer body from one that just fits
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
