package app_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"paragents/adapters/slack"
	"paragents/adapters/slack/slacktest"
	"paragents/bot/attend"
	"paragents/cmd/paragents/app"
	"paragents/cmd/paragents/config"
	"paragents/core"
	"paragents/core/audit"
	"paragents/core/state"
	"paragents/store"
	"paragents/store/local"
)

// slackWorld is the whole bot on the wire of a Slack fake, with the demo model and a store in a file. Ann is admin.
type slackWorld struct {
	t     testing.TB
	srv   *slacktest.Server
	dir   string
	store store.Store
	set   []func(*config.Config)
	app   *app.App // that was started last
	stop  func()   // it
	up    int      // replicas
}

func onSlack(t testing.TB, set ...func(*config.Config)) *slackWorld {
	t.Helper()
	st, err := local.Open(t.Context(), local.Config{Path: filepath.Join(t.TempDir(), "state.db"), NoSync: true, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return &slackWorld{t: t, srv: slacktest.New(t), dir: t.TempDir(), store: st, set: set}
}

// withBob is onSlack with Bob as operator, serving.
func withBob(t testing.TB, set ...func(*config.Config)) *slackWorld {
	t.Helper()
	w := onSlack(t, append([]func(*config.Config){func(c *config.Config) { c.Access.Operators = []core.Person{id(slacktest.Bob)} }}, set...)...)
	w.serve()
	return w
}

// id is a person of the fake as the bot knows them.
func id(p slacktest.Person) core.Person { return core.Person("slack:" + p.Team + "/" + p.ID) }

// serve starts one replica and waits until it is connected; the returned function stops it.
func (w *slackWorld) serve() (stop func()) {
	w.t.Helper()
	cfg := config.Default()
	cfg.LLM.Provider = "demo"
	cfg.Workspaces[0].Path = w.dir
	cfg.Access.Admins = []core.Person{id(slacktest.Ann)}
	cfg.Lease = 6 * time.Second
	cfg.Listen = ""
	for _, set := range w.set {
		set(cfg)
	}
	ad, err := slack.New(slack.Config{BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, APIURL: w.srv.URL(), HTTPClient: w.srv.Client()})
	if err != nil {
		w.t.Fatal(err)
	}
	s := &app.Setup{Version: "test", Stderr: w.t.Output()}
	a, err := s.New(cfg, w.store, "", s.Logger(), app.Options{Adapters: []core.Adapter{ad}, Reaches: func(p core.Place) bool { return p.Platform == "slack" }})
	if err != nil {
		w.t.Fatal(err)
	}
	w.app = a
	_, ever := w.srv.Sockets()
	w.up++
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	var g errgroup.Group
	g.Go(func() error { return a.Run(ctx, func() {}) })
	go func() { done <- g.Wait() }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		w.up--
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
		a.Close()
	}
	w.stop = stop
	w.t.Cleanup(stop)
	w.srv.Connected(2*w.up, ever+2)
	return stop
}

// heard is until when the store says that somebody listened.
func (w *slackWorld) heard() time.Time {
	w.t.Helper()
	h, _, err := state.Get[attend.Heard](w.t.Context(), w.store, state.HeardKey("slack"))
	if err != nil {
		w.t.Fatal(err)
	}
	return h.Value.Until
}

// away makes the store remember that nobody has listened for a time.
func (w *slackWorld) away(d time.Duration) {
	w.t.Helper()
	var b state.Batch
	b.Put(state.HeardKey("slack"), attend.Heard{Until: time.Now().Add(-d)}, 0)
	if _, err := b.Commit(w.t.Context(), w.store); err != nil {
		w.t.Fatal(err)
	}
}

// said are the bot's messages in a thread that begin with a text, in order.
func (w *slackWorld) said(channel, thread, begin string) []string {
	var out []string
	for _, m := range w.srv.Messages(channel, thread) {
		if m.Author.ID == slacktest.BotUser && strings.HasPrefix(m.Shown(), begin) {
			out = append(out, strings.TrimSpace(m.Shown()))
		}
	}
	return out
}

func (w *slackWorld) until(what string, done func() bool) {
	w.t.Helper()
	until(w.t, what, done)
}

// card waits for an approval in a thread.
func (w *slackWorld) card(channel, thread string) slacktest.Message {
	w.t.Helper()
	return w.srv.Await(channel, thread, func(m slacktest.Message) bool { return slices.Contains(slices.Concat(m.Buttons()...), "Approve once") })
}

// told is everything beside the prompts that the model was told in the sessions of a channel.
func (w *slackWorld) told() string {
	w.t.Helper()
	views, err := w.app.Scheduler.List(w.t.Context(), state.Sessions, 100, true)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, v := range views {
		records, err := w.app.Scheduler.Transcript(w.t.Context(), v.Session.ID)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range records {
			if r.Kind == core.RecordNote {
				out = append(out, r.Text)
			}
		}
	}
	return strings.Join(out, "\n")
}

// asks lets somebody ask for a file in a channel, and returns the thread and the card.
func (w *slackWorld) asks(channel string, by slacktest.Person, text string) (thread string, card slacktest.Message) {
	w.t.Helper()
	thread = w.srv.Say(slacktest.Post{Channel: channel, By: by, Mention: slacktest.Bot(), Text: text})
	return thread, w.srv.Await(channel, thread, question)
}

func question(m slacktest.Message) bool {
	return slices.ContainsFunc(slices.Concat(m.Buttons()...), func(s string) bool { return strings.HasPrefix(s, "Deny") })
}

func decided(word string) func(slacktest.Message) bool {
	return func(m slacktest.Message) bool { return len(m.Buttons()) == 0 && strings.Contains(m.Shown(), word) }
}

// entries are those of the audit log that say what.
func (w *slackWorld) entries(what string) []audit.Entry {
	w.t.Helper()
	var out []audit.Entry
	if err := audit.Read(w.t.Context(), w.store, audit.Filter{What: what}, func(e audit.Entry) error { out = append(out, e); return nil }); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// action is the code block of a card: what is to run.
func action(m slacktest.Message) string {
	_, rest, _ := strings.Cut(m.Shown(), "```")
	shown, _, _ := strings.Cut(rest, "```")
	return shown
}
