package app_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paragents/adapters/telegram/telegramtest"
	"paragents/store/redis"
	"paragents/store/redis/redistest"
)

// soon is how long what one replica hears may take to reach the other.
const soon = 2 * time.Second

// twoReplicas starts two processes on one Redis: one that polls and holds no session, and one that holds them all and does not poll. front stops the first.
func twoReplicas(t *testing.T) (w *world, front func()) {
	t.Helper()
	server := redistest.Start(t)
	w = &world{t: t, tg: telegramtest.New(t), dir: t.TempDir(), admin: telegramtest.Ann}
	open := func() {
		st, err := redis.Open(t.Context(), redis.Config{URL: server.URL()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		w.store = st
	}
	open()
	w.front = true
	front = w.serve()
	w.until("a poll", func() bool { return len(w.tg.Calls("getUpdates")) > 0 })
	open()
	w.front = false
	w.serve()
	return w, front
}

// B010: what one replica hears, another acts on: messages, presses and stop, each within 2 s. B005: when the one that polls is gone, the other does.
func TestB010TwoReplicas(t *testing.T) {
	w, front := twoReplicas(t)
	chat := w.tg.Private(w.admin)
	say := func(text string) { w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: text}) }
	say("repeat after me: across")
	w.wait(chat, "an answer", func(m telegramtest.Message) bool {
		return strings.Contains(m.Text, "across") && strings.Contains(m.Text, "[done]")
	})

	within := func(what string, do func(), done func() bool) {
		t.Helper()
		at := time.Now()
		do()
		w.until(what, done)
		if d := time.Since(at); d > soon {
			t.Errorf("%s took %s", what, d)
		}
	}
	said := func(texts ...string) func() bool {
		return func() bool {
			return slices.ContainsFunc(w.tg.Messages(chat), func(m telegramtest.Message) bool {
				return m.FromBot && !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(m.Text, text) })
			})
		}
	}
	say("write x to a.txt")
	card := w.asks(chat)
	within("a press", func() { w.tg.Press(w.admin, chat, card.ID, "Approve once") }, func() bool {
		raw, err := os.ReadFile(filepath.Join(w.dir, "a.txt"))
		return err == nil && string(raw) == "x"
	})
	w.wait(chat, "that it is done", func(m telegramtest.Message) bool { return strings.Contains(m.Text, "wrote") })

	say("think for 50 seconds")
	w.wait(chat, "that it runs", func(m telegramtest.Message) bool { return strings.Contains(m.Text, "[running]") && m.ID > card.ID })
	within("stop", func() { say("stop") }, said("[cancelled]", "stopped by 101"))

	say("write y to b.txt")
	second := w.wait(chat, "another approval", func(m telegramtest.Message) bool {
		return slices.Contains(labels(m), "Deny") && strings.Contains(m.Text, "b.txt")
	})
	within("a denial", func() { w.tg.Press(w.admin, chat, second.ID, "Deny") }, said("denied", "b.txt"))

	front()
	say("repeat after me: taken over")
	w.wait(chat, "an answer from the other poller", func(m telegramtest.Message) bool {
		return strings.Contains(m.Text, "taken over") && strings.Contains(m.Text, "[done]")
	})
	if _, err := os.Stat(filepath.Join(w.dir, "b.txt")); err == nil {
		t.Error("what was denied was written")
	}
}
