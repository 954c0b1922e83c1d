package app_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"paragents/adapters/telegram"
	"paragents/adapters/telegram/telegramtest"
	"paragents/cmd/paragents/app"
	"paragents/cmd/paragents/config"
	"paragents/core"
	"paragents/store"
	"paragents/store/local"
)

// world is the whole bot on the wire of a Telegram fake, with the demo model and a store in a file.
type world struct {
	t     *testing.T
	tg    *telegramtest.Server
	dir   string
	store store.Store
	admin telegramtest.User
	set   []func(*config.Config) // what is configured differently
	url   string                 // of another server than tg
	front bool                   // the next replica brings in what people do, and holds no session
}

func begin(t *testing.T, set ...func(*config.Config)) *world {
	t.Helper()
	return beginOn(t, telegramtest.New(t), set...)
}

func beginOn(t *testing.T, tg *telegramtest.Server, set ...func(*config.Config)) *world {
	t.Helper()
	w := stopped(t, tg, set...)
	w.serve()
	return w
}

// stopped is a world in which no replica runs yet.
func stopped(t *testing.T, tg *telegramtest.Server, set ...func(*config.Config)) *world {
	t.Helper()
	w := &world{t: t, tg: tg, dir: t.TempDir(), admin: telegramtest.Ann, set: set}
	st, err := local.Open(t.Context(), local.Config{Path: filepath.Join(t.TempDir(), "state.db"), NoSync: true, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	w.store = st
	t.Cleanup(func() { st.Close() })
	return w
}

// serve starts one replica; the returned function stops it.
func (w *world) serve() (stop func()) {
	w.t.Helper()
	cfg := config.Default()
	cfg.LLM.Provider = "demo"
	cfg.Workspaces[0].Path = w.dir
	cfg.Access.Admins = []core.Person{core.Person(fmt.Sprint("telegram:", w.admin.ID))}
	cfg.Lease = 6 * time.Second
	cfg.Listen = ""
	for _, set := range w.set {
		set(cfg)
	}
	bot := telegram.Config{Token: telegramtest.Token, APIURL: w.tg.URL(), HTTPClient: w.tg.Client()}
	if w.url != "" {
		bot.APIURL, bot.HTTPClient = w.url, nil
	}
	if cfg.Telegram.Mode == telegram.Webhook {
		bot.Mode, bot.WebhookURL, bot.WebhookSecret = telegram.Webhook, cfg.Telegram.WebhookURL.Reveal(), cfg.Telegram.SecretToken.Reveal()
	}
	ad, err := telegram.New(bot)
	if err != nil {
		w.t.Fatal(err)
	}
	front := w.front
	reaches := func(p core.Place) bool { return p.Platform == "telegram" && !front }
	s := &app.Setup{Version: "test", Stderr: w.t.Output()}
	a, err := s.New(cfg, w.store, "", s.Logger(), app.Options{Adapters: []core.Adapter{ad}, Reaches: reaches})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	var g errgroup.Group
	g.Go(func() error { return a.Run(ctx, func() {}) })
	g.Go(func() error { return a.Listen(ctx) })
	go func() { done <- g.Wait() }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
		a.Close()
	}
	w.t.Cleanup(stop)
	return stop
}

// wait waits until the chat shows a message of ours that fits, and returns the newest such.
func (w *world) wait(chat int64, what string, fits func(telegramtest.Message) bool) telegramtest.Message {
	w.t.Helper()
	limit := time.After(20 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, m := range slices.Backward(w.tg.Messages(chat)) {
			if m.FromBot && fits(m) {
				return m
			}
		}
		select {
		case <-limit:
			for _, m := range w.tg.Messages(chat) {
				w.t.Logf("%d bot=%v: %q %v", m.ID, m.FromBot, m.Text, m.Keyboard)
			}
			w.t.Fatalf("the chat never showed %s", what)
		case <-tick.C:
		}
	}
}

func (w *world) shows(chat int64, text string) telegramtest.Message {
	w.t.Helper()
	return w.wait(chat, fmt.Sprintf("%q", text), func(m telegramtest.Message) bool { return strings.Contains(m.Text, text) })
}

func labels(m telegramtest.Message) []string {
	var out []string
	for _, row := range m.Keyboard {
		for _, b := range row {
			out = append(out, b.Text)
		}
	}
	return out
}
