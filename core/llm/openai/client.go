// Package openai asks language models over the chat-completions protocol that most providers and local servers speak.
//
// A reply counts only when the provider said that it is finished. What can be expected to pass (overload, limits, silence, cut streams) is
// tried again, and all requests of one Client wait for a troubled provider together: one goes ahead, the others follow when it was heard.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"paragents/core/llm"
)

// Provider is one endpoint and the model to ask there.
type Provider struct {
	BaseURL string // http or https, usually ending in /v1; may carry credentials, which are never shown
	APIKey  string // empty: none is sent, as local servers like it
	Model   string
}

// Config is how a Client behaves. Zero values mean the defaults.
type Config struct {
	// Providers in the order of preference, at least one.
	Providers []Provider
	// Idle is the longest silence before and within a reply; default 2 min. Comment lines of the stream count as life.
	Idle time.Duration
	// Attempts is how often one provider is tried for one request, those of other requests that were waited for included; default 8.
	Attempts int
	// MaxWait is the longest single wait between two attempts; default 2 min. A provider that wants more is left for the next one.
	MaxWait time.Duration
	// Total is the limit of one Complete with everything in it; default 30 min.
	Total time.Duration
	// HTTPClient to use instead of one of our own. It must have no Timeout: a good reply can take many minutes.
	HTTPClient *http.Client
	// Logger gets a line for each retry; nil: none. Lines hold no keys and no content.
	Logger *slog.Logger
}

// Client is an llm.Model. It may be used by many goroutines.
type Client struct {
	cfg      Config
	http     *http.Client
	backends []*backend
}

// maxIdle is how many connections are kept for the next requests: one for each prompt that a replica runs at once, or a new one would be made for most of them.
const maxIdle = 128

// backend is a provider as it is doing now.
type backend struct {
	Provider
	name string // its host, for people and logs
	gate gate
	// noUsage: it refused to be asked for the usage of streams, as some servers do; the reply then has none.
	noUsage atomic.Bool
}

var _ llm.Model = (*Client)(nil)

// New checks the configuration and connects to nothing. Errors name the setting and hold no secret.
func New(cfg Config) (*Client, error) {
	if len(cfg.Providers) == 0 {
		return nil, errors.New("set up model: no provider; set llm.base_url and llm.model, or llm.provider: demo")
	}
	cfg.Idle = cmp.Or(cfg.Idle, 2*time.Minute)
	cfg.Attempts = cmp.Or(cfg.Attempts, 8)
	cfg.MaxWait = cmp.Or(cfg.MaxWait, 2*time.Minute)
	cfg.Total = cmp.Or(cfg.Total, 30*time.Minute)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.HTTPClient == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConns, t.MaxIdleConnsPerHost = maxIdle, maxIdle
		cfg.HTTPClient = &http.Client{Transport: t}
	}
	client := *cfg.HTTPClient
	// A redirect would turn the POST into a GET, or carry the conversation to a host that nobody configured.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := &Client{cfg: cfg, http: &client}
	for i, p := range cfg.Providers {
		u, err := url.Parse(p.BaseURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" { // the parser's error would show credentials
			return nil, fmt.Errorf("set up model provider %d: llm.base_url must look like https://host/v1", i+1)
		}
		if p.Model == "" {
			return nil, fmt.Errorf("set up model provider %d (%s): llm.model is empty", i+1, u.Host)
		}
		c.backends = append(c.backends, &backend{Provider: p, name: u.Host, gate: gate{name: u.Host, changed: make(chan struct{})}})
	}
	return c, nil
}

// Close drops idle connections. The Client can still be used.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Complete implements llm.Model.
func (c *Client) Complete(ctx context.Context, r llm.Request, p llm.Progress) (llm.Reply, error) {
	limited, cancel := context.WithTimeout(ctx, c.cfg.Total)
	defer cancel()
	t := &telling{to: p}
	var said []string
	var last *failure
	for i, b := range c.backends {
		reply, fail := c.ask(limited, b, r, t, i+1 < len(c.backends))
		if fail == nil {
			return reply, nil
		}
		if err := ctx.Err(); err != nil {
			return llm.Reply{}, err
		}
		if limited.Err() != nil {
			fail = away(fmt.Sprintf("gave no whole reply within %s", c.cfg.Total), ErrCut) // not the context's error: the caller's has not ended
		}
		last = fail
		said = append(said, b.name+" "+fail.text)
		if fail.fault != llm.FaultAway || limited.Err() != nil {
			break
		}
	}
	return llm.Reply{}, &llm.Error{Fault: last.fault, Text: strings.Join(said, "; "), Err: last.err}
}

// ask tries one provider until it replies, refuses, or has failed often enough. others: there is a next provider to go to.
func (c *Client) ask(ctx context.Context, b *backend, r llm.Request, t *telling, others bool) (llm.Reply, *failure) {
	attempts, maxWait := c.cfg.Attempts, c.cfg.MaxWait
	if others && b.gate.failures() >= attempts {
		attempts, maxWait = 1, 0 // known to be away: have a look when it is time for one, and never wait
	}
	for tries := 0; ; {
		pass, seen, fail := b.gate.enter(ctx, attempts-tries, maxWait, t)
		if fail != nil {
			return llm.Reply{}, fail
		}
		tries += seen
		reply, fail := c.try(ctx, b, r, t, pass)
		if fail == nil {
			return reply, nil
		}
		tries++
		if ctx.Err() != nil {
			pass.leave()
			return llm.Reply{}, fail
		}
		if !fail.retry {
			pass.hear() // it refuses, so it is there
			if strings.Contains(fail.text, "stream_options") && b.noUsage.CompareAndSwap(false, true) {
				continue
			}
			return llm.Reply{}, fail
		}
		c.cfg.Logger.Warn("model failed", "provider", b.name, "model", b.Model, "cause", fail.text, "attempt", tries)
		if !pass.heard {
			pass.fail(fail, tries, c.cfg.MaxWait) // the gate makes this request wait, like all others
		}
		if tries >= attempts {
			return llm.Reply{}, fail.with(fmt.Sprintf("gave up at attempt %d", tries))
		}
		if pass.heard { // only this stream broke
			wait := backoff(tries, c.cfg.MaxWait)
			t.wait(b.name+" "+fail.text, wait)
			if !sleep(ctx, wait) {
				return llm.Reply{}, fail
			}
		}
	}
}
