package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paragents/adapters/telegram/telegramtest"
	"paragents/core/audit"
)

// B043: the platform does not take the answer to a press any more, or never says so: the decision counts all the same, the tool runs once, and the buttons go.
func TestB043LateAnswer(t *testing.T) {
	for name, failure := range map[string]telegramtest.Failure{
		"too old":   {Code: 400, Text: "Bad Request: query is too old and response timeout expired or query ID is invalid"},
		"no answer": {Cut: true},
		"a page":    {Page: 502},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t)
			chat := w.tg.Private(w.admin)
			w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "write x to a.txt"})
			card := w.asks(chat)
			w.tg.Fail("answerCallbackQuery", failure)
			w.tg.Press(w.admin, chat, card.ID, "Approve once")
			w.shows(chat, "wrote")
			w.wait(chat, "the card without buttons", func(m telegramtest.Message) bool { return m.ID == card.ID && len(m.Keyboard) == 0 })
			started := 0
			if err := audit.Read(t.Context(), w.store, audit.Filter{}, func(e audit.Entry) error {
				if e.What == "started" {
					started++
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if started != 1 {
				t.Errorf("the tool was started %d times", started)
			}
		})
	}
}

// B031: whoever may not decide is told so, alone, and the audit log has it; the question stays.
func TestB031RefusedPress(t *testing.T) {
	w := begin(t, bobToo)
	group := w.tg.Group("supergroup", "team")
	w.tg.Post(telegramtest.Post{Chat: group, From: w.admin, Text: "@" + telegramtest.BotName + " write x to a.txt"})
	card := w.asks(group)
	before := len(w.ours(group))
	press := w.tg.Press(telegramtest.Bob, group, card.ID, "Approve once")
	var note string
	w.until("an answer to the press", func() (ok bool) { note, ok = w.tg.Answered(press); return ok })
	if !strings.Contains(note, "101 decides this, or an approver of this place") {
		t.Errorf("the private note is %q", note)
	}
	w.until("the audit log", func() bool {
		found := false
		err := audit.Read(t.Context(), w.store, audit.Filter{}, func(e audit.Entry) error {
			found = found || e.What == "refused press" && e.Who == "telegram:102" && e.Tool == "write_file"
			return nil
		})
		return err == nil && found
	})
	if n := len(w.ours(group)); n != before {
		t.Errorf("the group was told: %d messages more", n-before)
	}
	w.tg.Press(w.admin, group, card.ID, "Deny")
	w.wait(group, "the decision of who may", func(m telegramtest.Message) bool { return m.ID == card.ID && len(m.Keyboard) == 0 })
	if _, err := os.Stat(filepath.Join(w.dir, "a.txt")); err == nil {
		t.Error("the file was written")
	}
}

// A message that comes late is asked about; what is pressed stands in the place of the buttons.
func TestLateMessage(t *testing.T) {
	w := begin(t)
	chat := w.tg.Private(w.admin)
	late := func(id int, text string) {
		w.tg.Push("message", fmt.Sprintf(`{"message_id":%d,"date":%d,"from":{"id":101,"first_name":"Ann"},"chat":{"id":101,"type":"private"},"text":%q}`,
			id, time.Now().Add(-20*time.Minute).Unix(), text))
	}
	late(9001, "repeat after me: an old wish")
	asked := w.shows(chat, "That was written 20 minutes ago")
	if got := labels(asked); len(got) != 2 || got[0] != "Run" || got[1] != "Drop" {
		t.Fatalf("it offers %v", got)
	}
	w.tg.Press(w.admin, chat, asked.ID, "Run")
	w.wait(chat, "what was pressed", func(m telegramtest.Message) bool {
		return m.ID == asked.ID && m.Text == "Run after all." && len(m.Keyboard) == 0
	})
	w.shows(chat, "\n\nan old wish")
	late(9002, "write x to a.txt")
	second := w.wait(chat, "another question", func(m telegramtest.Message) bool {
		return m.ID > asked.ID && strings.HasPrefix(m.Text, "That was written")
	})
	w.tg.Press(w.admin, chat, second.ID, "Drop")
	w.wait(chat, "what was pressed", func(m telegramtest.Message) bool {
		return m.ID == second.ID && m.Text == "Dropped." && len(m.Keyboard) == 0
	})
	if n := len(w.ended(1)); n != 1 {
		t.Errorf("%d prompts have run, want 1", n)
	}
}
