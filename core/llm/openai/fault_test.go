package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core/llm"
	"paragents/core/llm/llmtest"
)

func TestB061WaitsAsTold(t *testing.T) {
	date := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		header map[string]string
		least  time.Duration
		most   time.Duration
	}{
		"seconds":      {map[string]string{"retry-after": "7"}, 7 * time.Second, 7 * time.Second},
		"milliseconds": {map[string]string{"retry-after-ms": "2500", "retry-after": "3"}, 2500 * time.Millisecond, 2500 * time.Millisecond},
		// The provider's clock is 30 years ahead of ours.
		"date":     {map[string]string{"Retry-After": date.Add(90 * time.Second).Format(http.TimeFormat), "Date": date.Format(http.TimeFormat)}, 90 * time.Second, 90 * time.Second},
		"nothing":  {nil, 500 * time.Millisecond, time.Second},
		"nonsense": {map[string]string{"Retry-After": "NaN"}, 500 * time.Millisecond, time.Second},
		"the past": {map[string]string{"Retry-After": "-5"}, 500 * time.Millisecond, time.Second},
	} {
		for _, status := range []int{429, 503, 529, 500, 408} {
			t.Run(fmt.Sprint(name, " ", status), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := llmtest.NewLocal(t, llmtest.Step{Status: status, Header: c.header, Body: llmtest.ErrorBody("slow down", "x", "")}, llmtest.Step{Text: []string{"ok"}})
					reply, told, err := ask(t.Context(), dial(t, s, nil), llm.Request{})
					if err != nil || reply.Text != "ok" {
						t.Fatalf("reply %+v, %v", reply, err)
					}
					seen := s.Seen()
					if gap := seen[1].At.Sub(seen[0].At); gap < c.least && status != 408 || gap > c.most {
						t.Errorf("asked again after %v, want %v to %v", gap, c.least, c.most)
					}
					if len(told) != 2 || !strings.HasPrefix(told[0], "<wait model.test ") {
						t.Errorf("told %q", told)
					}
				})
			})
		}
	}
}

func TestB061EndsWithOneSentence(t *testing.T) {
	html := "<html><body><h1>502</h1>" + testKey + "</body></html>"
	for name, c := range map[string]struct {
		step     llmtest.Step
		fault    llm.Fault
		requests int
		says     string
	}{
		"529 for ever":          {llmtest.Step{Status: 529, Body: llmtest.ErrorBody("Overloaded", "overloaded_error", "")}, llm.FaultAway, 8, "model.test is overloaded or broken (HTTP 529), gave up at attempt 8"},
		"a web page":            {llmtest.Step{Status: 502, Body: html}, llm.FaultAway, 8, "overloaded or broken (HTTP 502)"},
		"a web page instead":    {llmtest.Step{Status: 200, Body: html}, llm.FaultRequest, 1, "llm.base_url"},
		"a long pause":          {llmtest.Step{Status: 429, Header: map[string]string{"Retry-After": "1200"}}, llm.FaultAway, 1, "limits our requests (HTTP 429), asks for a pause of 20m0s"},
		"context too long":      {llmtest.Step{Status: 400, Body: llmtest.ErrorBody("This model's maximum context length is 8192 tokens.", "invalid_request_error", "context_length_exceeded")}, llm.FaultContext, 1, "too long"},
		"context too long, 413": {llmtest.Step{Status: 413}, llm.FaultContext, 1, "too long"},
		"one request too large": {llmtest.Step{Status: 429, Body: llmtest.ErrorBody("Request too large for m on tokens per min", "tokens", "rate_limit_exceeded")}, llm.FaultContext, 1, "too long"},
		"local context":         {llmtest.Step{Status: 400, Body: `{"error":"the request exceeds the available context size"}`}, llm.FaultContext, 1, "too long"},
		"key":                   {llmtest.Step{Status: 401, Body: llmtest.ErrorBody("Incorrect API key provided: "+testKey, "invalid_request_error", "invalid_api_key")}, llm.FaultAccount, 1, "check llm.api_key"},
		"forbidden":             {llmtest.Step{Status: 403, Body: html}, llm.FaultAccount, 1, "HTTP 403"},
		"payment":               {llmtest.Step{Status: 402}, llm.FaultAccount, 1, "no credit"},
		"quota":                 {llmtest.Step{Status: 429, Header: map[string]string{"Retry-After": "1"}, Body: llmtest.ErrorBody("You exceeded your current quota", "insufficient_quota", "insufficient_quota")}, llm.FaultAccount, 1, "no credit"},
		"quota in the stream":   {llmtest.Step{Events: []string{llmtest.ErrorBody("x", "insufficient_quota", "")}}, llm.FaultAccount, 1, "no credit"},
		"bad request": {llmtest.Step{Status: 400, Body: llmtest.ErrorBody("tools[0]: bad\n\x00schema for "+testKey+" at http://u:p@host/", "invalid_request_error", "")},
			llm.FaultRequest, 1, "refuses this request (HTTP 400): tools[0]: bad schema for [key] at http://host/"},
		"bad request, detail":  {llmtest.Step{Status: 422, Body: `{"detail":"max_tokens too big"}`}, llm.FaultRequest, 1, "max_tokens too big"},
		"bad request, list":    {llmtest.Step{Status: 400, Body: `[{"error":{"code":400,"message":"no such field"}}]`}, llm.FaultRequest, 1, "no such field"},
		"error as a body":      {llmtest.Step{Status: 200, Body: "{\n \"error\": {\"message\": \"bad\", \"type\":\"invalid_request_error\"}\n}"}, llm.FaultRequest, 1, ": bad"},
		"list of errors":       {llmtest.Step{Status: 200, Body: `[{"error":{"code":400,"message":"no such field"}}]`}, llm.FaultRequest, 1, "no such field"},
		"unknown model":        {llmtest.Step{Status: 404, Body: html}, llm.FaultRequest, 1, "does not know the model m"},
		"redirect":             {llmtest.Step{Status: 308, Header: map[string]string{"Location": "http://elsewhere.test/"}}, llm.FaultRequest, 1, "llm.base_url"},
		"endless line":         {llmtest.Step{Lines: []string{"data: " + strings.Repeat("x", lineLimit)}}, llm.FaultRequest, 1, "too long"},
		"endless body":         {llmtest.Step{Lines: []string{"{", strings.Repeat("x", lineLimit-100), strings.Repeat("x", 200)}}, llm.FaultRequest, 1, "too long"},
		"endless text":         {llmtest.Step{Events: []string{textEvent(replyLimit / 2), textEvent(replyLimit / 2), textEvent(1)}}, llm.FaultRequest, 1, "too long"},
		"half a whole body":    {llmtest.Step{Status: 200, Body: `{"choices":[`}, llm.FaultAway, 8, "not whole JSON"},
		"long words, bounded":  {llmtest.Step{Status: 400, Body: llmtest.ErrorBody(strings.Repeat("word ", 2000), "", "")}, llm.FaultRequest, 1, "word …"},
		"an unreadable status": {llmtest.Step{Status: 418}, llm.FaultRequest, 1, "HTTP 418"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := llmtest.NewLocal(t).Answer(func(int, llmtest.Seen) llmtest.Step { return c.step })
				began := time.Now()
				_, _, err := ask(t.Context(), dial(t, s, nil), llm.Request{})
				if fault(t, err) != c.fault || len(s.Seen()) != c.requests || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%d requests, %v", len(s.Seen()), err)
				}
				if text := err.Error(); strings.Contains(text, testKey) || strings.Contains(text, "<") || strings.Contains(text, "u:p") || strings.Contains(text, "\n") || len(text) > 600 {
					t.Errorf("not fit for people: %q", text)
				}
				if took := time.Since(began); took > 5*time.Minute {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func textEvent(n int) string {
	return `{"choices":[{"delta":{"content":"` + strings.Repeat("x", n) + `"}}]}`
}

// Ten sessions meet an overloaded provider: after the first refusals one at a time looks whether it is back, and when it is, the others do
// not all come in one moment.
func TestB061SessionsWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sessions, outage = 10, 40 * time.Second
		began := time.Now()
		s := llmtest.NewLocal(t).Answer(func(int, llmtest.Seen) llmtest.Step {
			if time.Since(began) < outage {
				return llmtest.Step{Status: 529}
			}
			return llmtest.Step{Text: []string{"ok"}}
		})
		c := dial(t, s, nil)
		var wg sync.WaitGroup
		for range sessions {
			wg.Go(func() {
				if _, _, err := ask(t.Context(), c, llm.Request{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var during int
		after := map[time.Duration]int{}
		for _, seen := range s.Seen() {
			if at := seen.At.Sub(began); at < outage {
				during++
			} else {
				after[at]++
			}
		}
		if during > sessions+7 {
			t.Errorf("%d requests in the outage, want %d and at most 7 probes", during, sessions)
		}
		if len(after) != sessions {
			t.Errorf("requests after the outage: %v, want one at a time", after)
		}
		// The last probe in vain came just before the end at the latest, and was the seventh failure at most.
		if took := time.Since(began); took > outage+64*time.Second+firstWait {
			t.Errorf("the last reply came after %v", took)
		}
	})
}

// A probe that its person stops gives its turn to another.
func TestStoppedProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := llmtest.NewLocal(t, llmtest.Step{Status: 503}, llmtest.Step{Silent: true}, llmtest.Step{Text: []string{"ok"}})
		c := dial(t, s, func(c *Config) { c.Idle = time.Hour })
		stopped, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, _, err := ask(stopped, c, llm.Request{}); err != context.Canceled {
				t.Error(err)
			}
		})
		synctest.Wait()
		if !sleep(t.Context(), 2*time.Second) { // the first is the probe now
			t.Fatal("the test ended")
		}
		wg.Go(func() {
			if reply, _, err := ask(t.Context(), c, llm.Request{}); err != nil || reply.Text != "ok" {
				t.Errorf("reply %+v, %v", reply, err)
			}
		})
		synctest.Wait()
		stop()
		wg.Wait()
	})
}

func TestNextProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := llmtest.NewLocal(t).Answer(func(_ int, r llmtest.Seen) llmtest.Step {
			if r.Model == "first" {
				return llmtest.Step{Status: 500}
			}
			return llmtest.Step{Text: []string{r.Model}}
		})
		c := dial(t, s, func(c *Config) {
			c.Providers = []Provider{{BaseURL: "http://a.test/v1", Model: "first"}, {BaseURL: "http://b.test/v1", Model: "second"}}
		})
		count := func() (n int) {
			for _, r := range s.Seen() {
				if r.Model == "first" {
					n++
				}
			}
			return n
		}
		for range 2 {
			reply, _, err := ask(t.Context(), c, llm.Request{})
			if err != nil || reply.Text != "second" {
				t.Fatalf("reply %+v, %v", reply, err)
			}
			if n := count(); n != 8 {
				t.Errorf("%d requests to the first: known to be away, it is not waited for again", n)
			}
		}
		sleep(t.Context(), 5*time.Minute)
		began := time.Now()
		if _, _, err := ask(t.Context(), c, llm.Request{}); err != nil || count() != 9 || time.Since(began) > time.Second {
			t.Errorf("%d requests to the first, %v, after %v: want one look", count(), err, time.Since(began))
		}
		if key := s.Seen()[0].Header.Get("Authorization"); key != "" {
			t.Errorf("a key was sent: %q", key)
		}
	})
}

// An account that a person must put right is not gone around: another provider costs other money.
func TestNextProviderNotForTheAccount(t *testing.T) {
	s := llmtest.NewLocal(t, llmtest.Step{Status: 401})
	c := dial(t, s, func(c *Config) {
		c.Providers = append(c.Providers, Provider{BaseURL: "http://b.test/v1", Model: "second"})
	})
	if _, _, err := ask(t.Context(), c, llm.Request{}); fault(t, err) != llm.FaultAccount || len(s.Seen()) != 1 {
		t.Errorf("%d requests, %v", len(s.Seen()), err)
	}
}

func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, cause := range map[string]error{
			"secret":   errors.New("proxy http://user:" + testKey + "@proxy.test refused: <html>"),
			"deadline": context.DeadlineExceeded,
		} {
			c := dial(t, llmtest.NewLocal(t), func(c *Config) {
				c.Providers[0].BaseURL = "http://user:hunter22@model.test/v1"
				c.HTTPClient = &http.Client{Transport: broken{cause}}
			})
			_, told, err := ask(t.Context(), c, llm.Request{})
			all := fmt.Sprint(err, errors.Unwrap(err), told)
			if fault(t, err) != llm.FaultAway || !strings.Contains(all, "model.test cannot be reached") || strings.Contains(all, testKey) || strings.Contains(all, "hunter22") {
				t.Errorf("%s: %s", name, all)
			}
		}
	})
	c := dial(t, llmtest.NewLocal(t), func(c *Config) {
		c.Providers[0].BaseURL, c.HTTPClient, c.Attempts = "http://127.0.0.1:1/v1", nil, 1
	})
	if _, _, err := ask(t.Context(), c, llm.Request{}); !strings.Contains(err.Error(), "127.0.0.1:1 cannot be reached: connection refused") {
		t.Error(err)
	}
}

type broken struct{ err error }

func (b broken) RoundTrip(*http.Request) (*http.Response, error) { return nil, b.err }

func TestNewRefuses(t *testing.T) {
	for _, p := range [][]Provider{
		nil, {{}}, {{BaseURL: "https://x/v1"}}, {{BaseURL: "x/v1", Model: "m"}}, {{BaseURL: "ftp://x/v1", Model: "m"}},
		{{BaseURL: "http://user:hunter22@x:port/v1", Model: "m"}},
	} {
		_, err := New(Config{Providers: p})
		if err == nil || !strings.Contains(err.Error(), "llm.") || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%v: %v", p, err)
		}
	}
}
