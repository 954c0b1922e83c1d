package app_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paragents/adapters/telegram/telegramtest"
	"paragents/core/audit"
)

// asks waits for an approval.
func (w *world) asks(chat int64) telegramtest.Message {
	w.t.Helper()
	return w.wait(chat, "an approval", func(m telegramtest.Message) bool { return slices.Contains(labels(m), "Approve once") })
}

// ended waits until a prompt has ended with a word in the audit log, and returns why.
func (w *world) ended(prompts int) []audit.Entry {
	w.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		var out []audit.Entry
		if err := audit.Read(w.t.Context(), w.store, audit.Filter{}, func(e audit.Entry) error {
			if e.What == "ended" {
				out = append(out, e)
			}
			return nil
		}); err != nil {
			w.t.Fatal(err)
		}
		if len(out) >= prompts {
			return out
		}
		select {
		case <-limit:
			w.t.Fatalf("%d prompts have ended, want %d", len(out), prompts)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// B033: where a question cannot be posted, nobody waits for its answer: the call is refused with the reason, and the file is not written.
func TestB033QuestionRefused(t *testing.T) {
	w := begin(t)
	chat := w.tg.Private(w.admin)
	refused := telegramtest.Failure{Code: 400, Text: "Bad Request: BUTTON_DATA_INVALID"}
	w.tg.Fail("sendMessage", refused, refused) // with markup, and plainly
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "write x to a.txt"})
	end := w.shows(chat, "nobody can be asked: the platform does not take the message")
	if len(labels(end)) != 0 {
		t.Errorf("%q offers %v", end.Text, labels(end))
	}
	w.ended(1)
	if _, err := os.Stat(filepath.Join(w.dir, "a.txt")); err == nil {
		t.Error("the file was written")
	}
}

// A person who blocks the bot leaves nothing that waits for them: the question is refused with the reason, and the session goes on when they come back.
func TestBlocked(t *testing.T) {
	w := begin(t)
	chat := w.tg.Private(w.admin)
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "write x to a.txt"})
	card := w.asks(chat)
	w.tg.SetMember(chat, w.admin, "kicked")
	if e := w.ended(1)[0]; e.Outcome != "done" { // the call was refused, and the model told; it did not run
		t.Errorf("the prompt is %s: %s", e.Outcome, e.Why)
	}
	var what []string
	if err := audit.Read(t.Context(), w.store, audit.Filter{}, func(e audit.Entry) error {
		what = append(what, strings.Join(strings.Fields(e.What+" "+e.Outcome+" "+e.Why), " "))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"left the bot was removed from telegram//101/, or blocked there", "decided withdrawn the bot was removed from the chat, or blocked there"} {
		if !slices.ContainsFunc(what, func(e string) bool { return strings.HasPrefix(e, want) }) {
			t.Errorf("the audit log has no %q: %q", want, what)
		}
	}
	w.tg.SetMember(chat, w.admin, "member")
	late := w.tg.Press(w.admin, chat, card.ID, "Approve once") // from before: it does nothing more
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "repeat after me: back again"})
	back := w.shows(chat, "back again")
	if !strings.Contains(back.Text, "write x to a.txt") {
		t.Errorf("the session was not kept: %q", back.Text)
	}
	if note, _ := w.tg.Answered(late); !strings.Contains(note, "withdrawn") {
		t.Errorf("the late press was answered %q", note)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "a.txt")); err == nil {
		t.Error("the file was written")
	}
}

// B016, B018: what belongs to a topic goes there or nowhere. A topic that was deleted refuses what is asked; its session keeps, and other topics go on.
func TestB016DeletedTopic(t *testing.T) {
	w := begin(t)
	forum := w.tg.Group("forum", "lab")
	one, two := w.tg.Topic(forum, w.admin, "one"), w.tg.Topic(forum, w.admin, "two")
	ask := func(topic int64, text string) {
		w.tg.Post(telegramtest.Post{Chat: forum, Thread: topic, From: w.admin, Text: "@" + telegramtest.BotName + " " + text})
	}
	ask(one, "think for 1 second then write x to a.txt")
	ask(two, "think for 1 second then repeat after me: in two") // news of another place come in between
	w.tg.DropTopic(forum, one)
	m := w.shows(forum, "in two")
	if m.Thread != two {
		t.Errorf("the answer to topic two stands in %d", m.Thread)
	}
	w.ended(2)
	for _, chat := range []int64{forum, w.tg.Private(w.admin)} {
		for _, m := range w.tg.Messages(chat) {
			if m.FromBot && (m.Thread != two || strings.Contains(m.Text, "a.txt")) && m.Thread != one {
				t.Errorf("%q went to topic %d of %d", m.Text, m.Thread, chat)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "a.txt")); err == nil {
		t.Error("the file was written")
	}
	private := w.tg.Private(w.admin)
	w.tg.Post(telegramtest.Post{Chat: private, From: w.admin, Text: "/list all"})
	w.shows(private, "a.txt")
	// General has a thread id that nothing can be sent to.
	w.tg.Post(telegramtest.Post{Chat: forum, From: w.admin, Text: "@" + telegramtest.BotName + " repeat after me: in general"})
	if m := w.shows(forum, "in general"); m.Thread != 0 {
		t.Errorf("the answer in General stands in %d", m.Thread)
	}
}

// B026: somebody deletes the status card: the prompt goes on without one, and answers once.
func TestB026CardDeleted(t *testing.T) {
	w := begin(t)
	chat := w.tg.Private(w.admin)
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "think for 2 seconds then read a.txt then think for 3 seconds then read b.txt then think for 3 seconds then repeat after me: the answer"})
	card := w.wait(chat, "a status card", func(m telegramtest.Message) bool { return strings.Contains(m.Text, "[running]") })
	w.tg.Delete(chat, card.ID)
	w.shows(chat, "the answer")
	w.ended(1)
	answers, edits := 0, 0
	for _, m := range w.tg.Messages(chat) {
		if m.FromBot {
			answers++
		}
	}
	for _, c := range w.tg.Calls("editMessageText") {
		if c.Params["chat_id"] != "" {
			edits++
		}
	}
	if answers != 1 || edits > 2 { // one may have been made before it was deleted
		t.Errorf("%d messages are shown, and the deleted card was changed %d times", answers, edits)
	}
}
