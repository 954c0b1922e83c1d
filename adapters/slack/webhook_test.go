package slack_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"paragents/adapters/slack"
	"paragents/adapters/slack/slacktest"
	"paragents/core"
)

// hooked serves an adapter's hook to a fake.
func hooked(t *testing.T) (*slacktest.Server, *slack.Adapter, string) {
	srv := slacktest.New(t)
	a := newAdapter(t, srv, slack.Config{Mode: slack.HTTP})
	web := httptest.NewServer(a.Hook())
	t.Cleanup(web.Close)
	return srv, a, web.URL
}

// serving waits until the hook takes deliveries.
func serving(t *testing.T, srv *slacktest.Server, address string) {
	t.Helper()
	eventually(t, "the hook", func() bool {
		status, _ := srv.Sign(address, "application/json", []byte(`{"type":"nothing"}`), time.Now())
		return status == http.StatusOK
	})
}

// TestSameOverHTTP: what people do is heard over HTTP as it is over sockets.
func TestSameOverHTTP(t *testing.T) {
	var heard [2][]core.Inbound
	for i, mode := range []string{slack.Socket, slack.HTTP} {
		srv, a, address := hooked(t)
		if mode == slack.Socket {
			a = newAdapter(t, srv, slack.Config{})
		} else {
			srv.Callback(address)
		}
		r := listen(t, a, nil)
		room := srv.Channel()
		ts := srv.Say(slacktest.Post{Channel: room, By: slacktest.Ann, Mention: slacktest.Bot(), Text: "list & <all>"})
		heard[i] = append(heard[i], r.next(core.InMessage))
		srv.Change(room, ts, "list some")
		heard[i] = append(heard[i], r.next(core.InEdit))
		id, err := a.Send(t.Context(), core.Message{Place: heard[i][0].Place, Plain: "may I?", Rows: deny()})
		if err != nil {
			t.Fatal(err)
		}
		srv.Press(room, slacktest.Bob, id, "Deny")
		heard[i] = append(heard[i], r.next(core.InPress))
		srv.Command(room, slacktest.Ann, "list & <all>")
		heard[i] = append(heard[i], r.next(core.InCommand))
		srv.Remove(room, ts)
		heard[i] = append(heard[i], r.next(core.InDelete))
		srv.Expel(room, slacktest.Ann)
		heard[i] = append(heard[i], r.next(core.InLeft))
	}
	for i, e := range heard[0] {
		f := heard[1][i]
		// What differs from one fake to the next.
		for _, x := range []*core.Inbound{&e, &f} {
			for _, id := range []*string{&x.ID, &x.Original} {
				*id = strings.Join(strings.FieldsFunc(*id, func(r rune) bool { return r >= '0' && r <= '9' }), "")
			}
			x.Place.Thread, x.Message, x.At = "", "", time.Time{}
			x.Callback, _, _ = strings.Cut(x.Callback, " ")
		}
		if got, want := fmt.Sprintf("%+v", f), fmt.Sprintf("%+v", e); got != want {
			t.Errorf("over HTTP %s\nover sockets %s", got, want)
		}
	}
}

func TestHookRefuses(t *testing.T) {
	srv, a, address := hooked(t)
	body := []byte(`{"type":"event_callback","event":{"type":"message","channel":"D1","user":"U1","ts":"1700000000.000100","text":"x"}}`)
	const form, plain = "application/x-www-form-urlencoded", "application/json"
	if status, _ := srv.Sign(address, plain, body, time.Now()); status != http.StatusServiceUnavailable {
		t.Errorf("while nothing receives: %d", status)
	}
	r := listen(t, a, nil)
	serving(t, srv, address)
	if status, _ := srv.Sign(address, plain, body, time.Now()); status != http.StatusOK {
		t.Errorf("a good delivery: %d", status)
	}
	first := r.next(core.InMessage)
	now := time.Now()
	for what, c := range map[string]struct {
		kind, body string
		at         time.Time
		header     [2]string
		want       int
	}{
		"a repeat":          {plain, string(body), now, [2]string{"X-Slack-Retry-Num", "1"}, 200},
		"too old":           {plain, string(body), now.Add(-6 * time.Minute), [2]string{}, 401},
		"from the future":   {plain, string(body), now.Add(6 * time.Minute), [2]string{}, 401},
		"another signature": {plain, string(body), now, [2]string{"X-Slack-Signature", slacktest.Signature([]byte("x"), now)}, 401},
		"no signature":      {plain, string(body), now, [2]string{"X-Slack-Signature", ""}, 401},
		"another time":      {plain, string(body), now, [2]string{"X-Slack-Request-Timestamp", fmt.Sprint(now.Unix() - 1)}, 401},
		"too large":         {plain, strings.Repeat(" ", 1<<20) + string(body), now, [2]string{}, 413},
		"no JSON":           {plain, `{`, now, [2]string{}, 200},
		"another JSON":      {plain, `{"type":"event_callback","event":{"type":"message","channel":[]}}`, now, [2]string{}, 200},
		"an unknown event":  {plain, `{"type":"event_callback","event":{"type":"pizza_arrived"}}`, now, [2]string{}, 200},
		"no form":           {form, `%zz`, now, [2]string{}, 200},
		"a form of nothing": {form, `ssl_check=1`, now, [2]string{}, 200},
		"an odd payload":    {form, `payload=%7B`, now, [2]string{}, 200},
	} {
		if status, _ := srv.Sign(address, c.kind, []byte(c.body), c.at, c.header); status != c.want {
			t.Errorf("%s: status %d, want %d", what, status, c.want)
		}
	}
	for _, e := range r.all() {
		if e.ID != first.ID {
			t.Errorf("accepted %+v", e)
		}
	}
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close() //nolint:errcheck // only the status matters
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %s", resp.Status)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestHookAsksAgainForWhatIsNotDurable(t *testing.T) {
	srv, a, address := hooked(t)
	refuse := 2
	r := listen(t, a, func(context.Context, core.Inbound) error {
		if refuse--; refuse >= 0 {
			return errors.New("the store is away")
		}
		return nil
	})
	serving(t, srv, address)
	srv.Callback(address)
	srv.Say(slacktest.Post{Channel: srv.Direct(), By: slacktest.Ann, Text: "hello"})
	r.next(core.InMessage)
	eventually(t, "the deliveries", func() bool { return len(srv.Deliveries()) == 3 })
	for i, d := range srv.Deliveries() {
		if d.Acked != (i == 2) {
			t.Errorf("delivery %d: %+v", i, d)
		}
	}
}

// A hook without a secret takes nothing, whatever signs it.
func TestNoSecretNoHook(t *testing.T) {
	srv := slacktest.New(t)
	a, err := slack.New(slack.Config{BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, APIURL: srv.URL()})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(a.Hook())
	defer web.Close()
	if status, _ := srv.Sign(web.URL, "application/json", []byte(`{"type":"url_verification","challenge":"x"}`), time.Now()); status != http.StatusUnauthorized {
		t.Errorf("status %d", status)
	}
}
