package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paragents/adapters/telegram"
	"paragents/adapters/telegram/telegramtest"
	"paragents/core"
)

func TestB003OffsetNeverPassesWhatIsNotAccepted(t *testing.T) {
	bubble(t, func(t *testing.T, srv *telegramtest.Server) {
		say(srv, "one")
		say(srv, "two")
		slow := &inbox{hold: make(chan struct{})}
		stop := run(t, newAdapter(t, srv, telegram.Config{}), slow, nil)
		settle(time.Minute)
		if n := len(srv.Calls("getUpdates")); n != 1 {
			t.Errorf("%d polls while accept was at work, want 1", n)
		}
		if err := stop(); err != nil { // the kill
			t.Fatal(err)
		}
		if n := srv.Pending(); n != 2 {
			t.Errorf("%d updates are left at the platform, want both", n)
		}
		next := &inbox{}
		run(t, newAdapter(t, srv, telegram.Config{}), next, slow.cursor)
		settle(time.Second)
		if got := next.texts(); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("after the restart %q came", got)
		}
		if n := srv.Pending(); n != 0 {
			t.Errorf("%d updates are left at the platform after accept", n)
		}
	})
}

func TestB004KilledBetweenAcceptAndTheNextPoll(t *testing.T) {
	bubble(t, func(t *testing.T, srv *telegramtest.Server) {
		for _, s := range []string{"0", "1", "2", "3", "4", "5"} {
			say(srv, s)
		}
		before := &inbox{}
		ctx, kill := context.WithCancel(t.Context())
		err := newAdapter(t, srv, telegram.Config{}).Receive(ctx, nil, func(ctx context.Context, events []core.Inbound, cursor []byte) error {
			defer kill()
			return before.accept(ctx, events, cursor)
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(before.batches) != 1 || len(before.batches[0]) != 6 {
			t.Fatalf("batches %v, want the whole poll as one", before.batches)
		}
		if n := srv.Pending(); n != 6 {
			t.Fatalf("%d updates are left at the platform, want 6: nothing confirmed them", n)
		}
		// Whoever lost the cursor too gets the same events, by the same ids; whoever kept it gets none.
		again := &inbox{}
		stop := run(t, newAdapter(t, srv, telegram.Config{}), again, nil)
		settle(time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		same := func(a, b core.Inbound) bool { return a.ID == b.ID }
		if !slices.EqualFunc(again.events(), before.events(), same) {
			t.Errorf("without a cursor came %v, want what came before", again.texts())
		}
		kept := &inbox{}
		run(t, newAdapter(t, srv, telegram.Config{}), kept, before.cursor)
		settle(time.Second)
		if got := kept.texts(); len(got) != 0 {
			t.Errorf("with the cursor %q came again", got)
		}
	})
}

func TestB005TwoPollers(t *testing.T) {
	bubble(t, func(t *testing.T, srv *telegramtest.Server) {
		first, second := newAdapter(t, srv, telegram.Config{}), newAdapter(t, srv, telegram.Config{})
		var got inbox
		stop := run(t, first, &inbox{}, nil)
		run(t, second, &got, nil)
		settle(10 * time.Second)
		if n := len(srv.Calls("getUpdates")); n >= 10 {
			t.Errorf("%d polls of two replicas in 10 s, want fewer than 5 each", n)
		}
		settle(60 * time.Second)
		said := 0
		for _, a := range []*telegram.Adapter{first, second} {
			if err := a.Check(t.Context()); err != nil && strings.Contains(err.Error(), "another program") {
				said++
			}
		}
		if said == 0 {
			t.Error("nobody says after 70 s that there are two pollers")
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		say(srv, "hello")
		settle(45 * time.Second)
		if !slices.Equal(got.texts(), []string{"hello"}) {
			t.Errorf("the remaining replica received %q", got.texts())
		}
		if err := second.Check(t.Context()); err != nil {
			t.Errorf("check of the remaining replica: %v", err)
		}
	})
}

func TestB005Conflict(t *testing.T) {
	bubble(t, func(t *testing.T, srv *telegramtest.Server) {
		conflict := telegramtest.Failure{Code: 409, Text: "Conflict: terminated by other getUpdates request"}
		srv.Fail("getUpdates", slices.Repeat([]telegramtest.Failure{conflict}, 10)...)
		a := newAdapter(t, srv, telegram.Config{})
		run(t, a, &inbox{}, nil)
		settle(10 * time.Second)
		if n := len(srv.Calls("getUpdates")); n >= 5 || n < 2 {
			t.Errorf("%d polls in 10 s, want fewer than 5", n)
		}
		if err := a.Check(t.Context()); err != nil {
			t.Errorf("check after 10 s: %v, want nothing: this is how a rolling deploy looks", err)
		}
		settle(51 * time.Second)
		if err := a.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "another program") {
			t.Errorf("check after 61 s: %v, want the other poller named", err)
		}
		settle(5 * time.Minute)
		if err := a.Check(t.Context()); err != nil {
			t.Errorf("check after the conflict: %v", err)
		}
	})
}

func TestB006PollThatNeverReturns(t *testing.T) {
	bubble(t, func(t *testing.T, srv *telegramtest.Server) {
		srv.Fail("getUpdates", telegramtest.Failure{Hang: true}, telegramtest.Failure{Hang: true})
		a := newAdapter(t, srv, telegram.Config{})
		var got inbox
		run(t, a, &got, nil)
		settle(time.Second)
		say(srv, "hello")
		settle(16 * time.Second)
		if err := a.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "failing") {
			t.Errorf("check: %v, want that it does not work", err)
		}
		settle(20 * time.Second)
		if !slices.Equal(got.texts(), []string{"hello"}) {
			t.Errorf("received %q", got.texts())
		}
		if err := a.Check(t.Context()); err != nil {
			t.Errorf("check afterwards: %v", err)
		}
	})
}

func TestB011AllowedUpdatesOfAnEarlierProgram(t *testing.T) {
	bubble(t, func(t *testing.T, srv *telegramtest.Server) {
		resp, err := srv.Client().Get(srv.URL() + "/bot" + telegramtest.Token + `/getUpdates?allowed_updates=["message"]`)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close() //nolint:errcheck // only the call counts
		a := newAdapter(t, srv, telegram.Config{})
		var got inbox
		run(t, a, &got, nil)
		chat := srv.Private(telegramtest.Ann)
		message, err := a.Send(t.Context(), core.Message{
			Place: core.Place{Platform: "telegram", Channel: id(chat)}, Text: "may I?", Rows: [][]core.Button{{{Label: "Approve", Token: "t"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		settle(time.Second)
		srv.Press(telegramtest.Ann, chat, number(message), "Approve")
		settle(time.Second)
		if e := got.events(); len(e) != 1 || e[0].Kind != core.InPress {
			t.Errorf("received %+v, want the press", e)
		}
	})
}

func TestEmptyPollsAreNotAccepted(t *testing.T) {
	bubble(t, func(t *testing.T, srv *telegramtest.Server) {
		var got inbox
		run(t, newAdapter(t, srv, telegram.Config{}), &got, nil)
		settle(65 * time.Second)
		if n := len(srv.Calls("getUpdates")); n < 6 || n > 8 {
			t.Errorf("%d polls in 65 s, want one in 10 s", n)
		}
		// What means nothing to the bot is not accepted either, and confirmed all the same.
		srv.Post(telegramtest.Post{Chat: srv.Group("group", "Ops"), From: telegramtest.Ann, Text: "/ask@other_bot hello"})
		settle(time.Second)
		if len(got.batches) != 0 || srv.Pending() != 0 {
			t.Errorf("%d batches accepted and %d updates left, want 0 and 0", len(got.batches), srv.Pending())
		}
	})
}

func TestRetryAfterOfAPoll(t *testing.T) {
	bubble(t, func(t *testing.T, srv *telegramtest.Server) {
		srv.Fail("getUpdates", telegramtest.Failure{Code: 429, Text: "Too Many Requests: retry after 40", RetryAfter: 40})
		run(t, newAdapter(t, srv, telegram.Config{}), &inbox{}, nil)
		settle(39 * time.Second)
		if n := len(srv.Calls("getUpdates")); n != 1 {
			t.Errorf("%d polls within 39 s of 40, want 1", n)
		}
		settle(2 * time.Second)
		if n := len(srv.Calls("getUpdates")); n != 2 {
			t.Errorf("%d polls after 41 s, want 2", n)
		}
	})
}

// TestNothingIsLeft: after Receive there is no connection left, also none of the sends before.
func TestNothingIsLeft(t *testing.T) {
	srv := telegramtest.New(t)
	chat := srv.Private(telegramtest.Ann)
	a := newAdapter(t, srv, telegram.Config{})
	leaks := goleak.IgnoreCurrent()
	stop := run(t, a, &inbox{}, nil)
	if _, err := a.Send(t.Context(), core.Message{Place: at(chat), Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := goleak.Find(leaks); err != nil {
		t.Error(err)
	}
}

func TestUnknownTokenEndsReceive(t *testing.T) {
	for _, at := range []string{"getMe", "getUpdates"} {
		t.Run(at, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *telegramtest.Server) {
				refused := telegramtest.Failure{Code: 401, Text: "Unauthorized"}
				srv.Fail(at, refused, refused, refused, refused)
				err := newAdapter(t, srv, telegram.Config{}).Receive(t.Context(), nil, (&inbox{}).accept)
				if err == nil || !strings.Contains(err.Error(), "telegram.bot_token") {
					t.Errorf("Receive: %v, want that the token is wrong", err)
				}
			})
		})
	}
}

func TestBadCursor(t *testing.T) {
	srv := telegramtest.New(t)
	for _, c := range []string{"x", "-1", "1.5"} {
		if err := newAdapter(t, srv, telegram.Config{}).Receive(t.Context(), []byte(c), (&inbox{}).accept); err == nil {
			t.Errorf("cursor %q is taken", c)
		}
	}
}

func TestWebhookInTheWayOfPolling(t *testing.T) {
	bubble(t, func(t *testing.T, srv *telegramtest.Server) {
		srv.Fail("getUpdates", telegramtest.Failure{Code: 409, Text: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"})
		say(srv, "hello")
		var got inbox
		run(t, newAdapter(t, srv, telegram.Config{}), &got, nil)
		settle(5 * time.Second)
		if n := len(srv.Calls("deleteWebhook")); n != 1 {
			t.Errorf("webhook deleted %d times, want once", n)
		}
		if !slices.Equal(got.texts(), []string{"hello"}) {
			t.Errorf("received %q", got.texts())
		}
	})
}

func TestStoreAwayShowsInCheck(t *testing.T) {
	bubble(t, func(t *testing.T, srv *telegramtest.Server) {
		got := &inbox{err: errors.New("the store is away")}
		a := newAdapter(t, srv, telegram.Config{})
		run(t, a, got, nil)
		say(srv, "hello")
		settle(20 * time.Second)
		if err := a.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "the store is away") {
			t.Errorf("check: %v", err)
		}
		got.mu.Lock()
		got.err = nil
		got.mu.Unlock()
		settle(31 * time.Second)
		if !slices.Equal(got.texts(), []string{"hello"}) || a.Check(t.Context()) != nil {
			t.Errorf("received %q, check: %v", got.texts(), a.Check(t.Context()))
		}
	})
}

func TestB070NoTokenInLogs(t *testing.T) {
	bubble(t, func(t *testing.T, srv *telegramtest.Server) {
		var mu sync.Mutex
		var out bytes.Buffer
		write := writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return out.Write(p)
		})
		a := newAdapter(t, srv, telegram.Config{Logger: slog.New(slog.NewJSONHandler(write, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		srv.Fail("getMe", telegramtest.Failure{Cut: true})
		srv.Fail("getUpdates", telegramtest.Failure{Hang: true}, telegramtest.Failure{Page: 502},
			telegramtest.Failure{Code: 409, Text: "Conflict: webhook of " + srv.URL() + "/bot" + telegramtest.Token})
		srv.Fail("deleteWebhook", telegramtest.Failure{Cut: true})
		run(t, a, &inbox{}, nil)
		settle(30 * time.Second)
		srv.Down()
		settle(30 * time.Second)
		srv.Up()
		srv.Fail("sendMessage", telegramtest.Failure{Hang: true})
		_, err := a.Send(t.Context(), core.Message{Place: core.Place{Platform: "telegram", Channel: "101"}, Text: "hello"})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("send that is never answered: %v, want our own limit", err)
		}
		mu.Lock()
		defer mu.Unlock()
		logged := out.String()
		if n := strings.Count(logged, "\n"); n < 6 {
			t.Errorf("only %d lines logged: %s", n, logged)
		}
		if said := logged + err.Error(); strings.Contains(said, telegramtest.Token) || strings.Contains(said, "canary") {
			t.Errorf("the token is in: %s", said)
		}
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
