package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paragents/adapters/telegram/telegramtest"
	"paragents/cmd/paragents/config"
	"paragents/core"
)

// bobToo makes Bob an operator.
func bobToo(cfg *config.Config) {
	cfg.Access.Operators = append(cfg.Access.Operators, core.Person(fmt.Sprint("telegram:", telegramtest.Bob.ID)))
}

// in counts the calls that concern a chat, after a time.
func (w *world) in(chat int64, after time.Time) []telegramtest.Call {
	var out []telegramtest.Call
	for _, c := range w.tg.Calls("") {
		if c.Params["chat_id"] == strconv.FormatInt(chat, 10) && c.At.After(after) {
			out = append(out, c)
		}
	}
	return out
}

// B024: a chat that is told to rest hears nothing at all until then, neither of runs nor of commands; what was said meanwhile comes together, and all that is final comes.
// Other chats do not wait. Time is virtual: the waits are the real ones.
func TestB024Rest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := beginOn(t, telegramtest.NewPiped(t), bobToo)
		ann, bob := w.tg.Private(w.admin), w.tg.Private(telegramtest.Bob)
		var steps []string
		for i := range 15 { // progress every 2 s, for 30 s
			name := fmt.Sprintf("n%d.txt", i)
			if err := os.WriteFile(filepath.Join(w.dir, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			steps = append(steps, "think for 2 seconds then read "+name)
		}
		w.tg.Post(telegramtest.Post{Chat: ann, From: w.admin, Text: strings.Join(steps, " then ")})
		w.wait(ann, "four edits of the card", func(m telegramtest.Message) bool { return m.Edits >= 4 })
		w.tg.Flood(ann, 33*time.Second)
		flooded := time.Now()
		for len(w.tg.Messages(ann)) > 0 && len(w.in(ann, flooded)) == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		refused := time.Now() // the platform has said that the chat has to rest
		w.tg.Post(telegramtest.Post{Chat: ann, From: w.admin, Text: "/list"})
		w.tg.Post(telegramtest.Post{Chat: ann, From: w.admin, Text: "repeat after me: queued meanwhile"})
		w.tg.Post(telegramtest.Post{Chat: bob, From: telegramtest.Bob, Text: "repeat after me: not held up"})
		w.shows(bob, "not held up")
		if d := time.Since(refused); d > 2*time.Second {
			t.Errorf("another chat waited %s", d)
		}
		// Nothing goes to the chat before the time is over.
		for time.Since(flooded) < 33*time.Second {
			time.Sleep(time.Second)
		}
		for _, c := range w.in(ann, refused) {
			if c.At.Before(flooded.Add(33 * time.Second)) {
				t.Errorf("%s went to the chat %s after it was told to rest for 33 s", c.Method, c.At.Sub(flooded))
			}
		}
		w.shows(ann, "1. [S:")
		w.wait(ann, "the answer", func(m telegramtest.Message) bool {
			return strings.Contains(m.Text, "n14.txt") && strings.Contains(m.Text, "[done]")
		})
		w.shows(ann, "queued meanwhile")
		over := flooded.Add(33 * time.Second)
		// After the wait the chat is sent to slowly for a minute, and cards are never changed faster than the platform wants.
		var sent, edited time.Time
		for _, c := range w.in(ann, time.Time{}) {
			switch c.Method {
			case "sendMessage":
				if c.At.After(over) && c.At.Before(over.Add(time.Minute)) && strings.Contains(c.Params["text"], "[done]") {
					if gap := c.At.Sub(sent); gap < time.Second && !sent.IsZero() {
						t.Errorf("two answers %s after each other", gap)
					}
					sent = c.At
				}
			case "editMessageText":
				if gap := c.At.Sub(edited); gap < 1400*time.Millisecond && !edited.IsZero() {
					t.Errorf("two edits %s after each other", gap)
				}
				edited = c.At
			}
		}
	})
}

// until waits for something that is no message.
func (w *world) until(what string, done func() bool) {
	w.t.Helper()
	until(w.t, what, done)
}

func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for !done() {
		select {
		case <-limit:
			t.Fatalf("waited in vain for %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
