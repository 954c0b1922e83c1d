package telegram_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paragents/adapters/telegram"
	"paragents/adapters/telegram/telegramtest"
	"paragents/core"
)

const hookSecret = "hook-secret_1"

// hooked is an adapter in webhook mode behind a server of its own.
func hooked(t *testing.T, srv *telegramtest.Server) (*telegram.Adapter, *httptest.Server) {
	var a *telegram.Adapter
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.Hook().ServeHTTP(w, r) }))
	t.Cleanup(web.Close)
	a = newAdapter(t, srv, telegram.Config{Mode: telegram.Webhook, WebhookURL: web.URL + "/telegram", WebhookSecret: hookSecret})
	return a, web
}

func TestWebhook(t *testing.T) {
	srv := telegramtest.New(t)
	a, _ := hooked(t, srv)
	in := arrivals(t, a, &inbox{})
	say(srv, "one")
	say(srv, "two")
	for _, want := range []string{"one", "two"} {
		if e := <-in; e.Text != want || e.Kind != core.InMessage {
			t.Errorf("came %+v, want %s", e, want)
		}
	}
	calls := srv.Calls("setWebhook")
	if len(calls) != 1 || !strings.Contains(calls[0].Params["allowed_updates"], "callback_query") {
		t.Errorf("registered with %+v", calls)
	}
	if n := len(srv.Calls("getUpdates")); n != 0 {
		t.Errorf("%d polls in webhook mode", n)
	}
}

// TestWebhookNotAccepted: what is not durable is delivered again, as the same event.
func TestWebhookNotAccepted(t *testing.T) {
	srv := telegramtest.New(t)
	a, _ := hooked(t, srv)
	in := arrivals(t, a, &inbox{refuse: 1})
	say(srv, "hello")
	first := <-in
	if again := <-in; again.ID != first.ID || again.Text != "hello" {
		t.Errorf("came %+v, want %q again", again, first.ID)
	}
}

func TestWebhookRefusals(t *testing.T) {
	srv := telegramtest.New(t)
	a, web := hooked(t, srv)
	update := `{"update_id":1,"message":{"message_id":5,"date":1,"chat":{"id":101,"type":"private"},"from":{"id":101,"first_name":"Ann"},"text":"hi"}}`
	post := func(method, secret, body string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, web.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if secret != "" {
			req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		}
		resp, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body) //nolint:errcheck // only the status counts
		resp.Body.Close()              //nolint:errcheck // only the status counts
		return resp.StatusCode
	}
	if got := post("POST", hookSecret, update); got != http.StatusServiceUnavailable {
		t.Errorf("before Receive: %d, want 503", got)
	}
	var got inbox
	in := arrivals(t, a, &got)
	say(srv, "ready?")
	<-in
	tests := []struct {
		name, method, secret, body string
		want                       int
	}{
		{"no secret", "POST", "", update, 401},
		{"wrong secret", "POST", "hook-secret_2", update, 401},
		{"longer secret", "POST", hookSecret + "x", update, 401},
		{"GET", "GET", hookSecret, "", 405},
		{"too large", "POST", hookSecret, `{"update_id":1,"x":"` + strings.Repeat("x", 1<<20) + `"}`, 413},
		{"odd update", "POST", hookSecret, `{"update_id":1,"message":[]}`, 200},
		{"no JSON", "POST", hookSecret, `hello`, 200},
		{"nothing to do", "POST", hookSecret, `{"update_id":1,"poll":{}}`, 200},
	}
	for _, tt := range tests {
		if got := post(tt.method, tt.secret, tt.body); got != tt.want {
			t.Errorf("%s: status %d, want %d", tt.name, got, tt.want)
		}
	}
	if n := len(got.events()); n != 1 {
		t.Errorf("%d events were accepted, want none but the first", n)
	}
	if got := post("POST", hookSecret, update); got != http.StatusOK {
		t.Errorf("good update: %d, want 200", got)
	}
	if e := <-in; e.Text != "hi" {
		t.Errorf("came %+v", e)
	}
}

// TestWebhookEndsWithItsDeliveries: when Receive has returned, nothing is being accepted, and nothing more is.
func TestWebhookEndsWithItsDeliveries(t *testing.T) {
	bubble(t, func(t *testing.T, srv *telegramtest.Server) {
		a := newAdapter(t, srv, telegram.Config{Mode: telegram.Webhook, WebhookURL: "https://bot.example.test/hook", WebhookSecret: hookSecret})
		post := func() int {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/hook", strings.NewReader(
				`{"update_id":1,"message":{"message_id":5,"date":1,"chat":{"id":101,"type":"private"},"from":{"id":101},"text":"hi"}}`))
			r.Header.Set("X-Telegram-Bot-Api-Secret-Token", hookSecret)
			w := httptest.NewRecorder()
			a.Hook().ServeHTTP(w, r)
			return w.Code
		}
		ctx, cancel := context.WithCancel(t.Context())
		finish := make(chan struct{})
		var accepted, ended atomic.Bool
		go func() {
			err := a.Receive(ctx, nil, func(context.Context, []core.Inbound, []byte) error {
				<-finish
				accepted.Store(true)
				return nil
			})
			if err != nil {
				t.Errorf("Receive: %v", err)
			}
			ended.Store(true)
		}()
		settle(time.Second)
		status := make(chan int, 1)
		go func() { status <- post() }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if ended.Load() {
			t.Error("Receive returned while a delivery was being accepted")
		}
		if got := post(); got != http.StatusServiceUnavailable {
			t.Errorf("a delivery after the end: %d, want 503", got)
		}
		close(finish)
		synctest.Wait()
		if got := <-status; got != http.StatusOK || !accepted.Load() || !ended.Load() {
			t.Errorf("delivery %d, accepted %v, Receive ended %v", got, accepted.Load(), ended.Load())
		}
	})
}
