package bot

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"paragents/bot/markup"
	"paragents/core"
)

var phone = core.Capabilities{Platform: "chat", Dialect: "plain", Unit: "rune", Max: 400, Buttons: true, Edits: true, Files: true, Slash: "/", EditRate: time.Second}

func plainText(md string) string {
	var all []string
	for _, p := range markup.Render(md, markup.Plain, markup.Limits{Unit: markup.Rune}) {
		all = append(all, p.Plain)
	}
	return strings.Join(all, "\n")
}

// TestMessages: what is long comes in pieces, what is longer as a head and a file; the buttons stand under the last.
func TestMessages(t *testing.T) {
	row := [][]core.Button{{{Label: "Approve once", Token: "t"}}}
	for _, c := range []struct {
		name           string
		page           page
		messages, file int // 0: none, else its bytes
	}{
		{"short", page{head: "head\n\n", text: "text"}, 1, 0},
		{"two pieces", page{text: strings.Repeat("some words\n\n", 50)}, 2, 0},
		{"three pieces", page{text: strings.Repeat("x", 1100)}, 3, 0},
		{"four pieces", page{head: "head\n\n", text: strings.Repeat("y", 1500)}, 2, 1500},
		{"a cut block of code", page{text: "```go\n" + strings.Repeat("code\n", 500) + "```\n"}, 2, 2510},
		{"with a file", page{text: "text", file: &core.File{Name: "a.txt", Data: []byte("abc")}}, 2, 3},
		{"nothing", page{text: " \n"}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.page.rows = row
			ms := Config{}.messages(c.page, phone, core.Place{Platform: "chat", Channel: "c"})
			if len(ms) != c.messages {
				t.Fatalf("%d messages: %+v", len(ms), ms)
			}
			for i, m := range ms {
				if (m.File != nil) != (i == 0 && c.file > 0) || m.File != nil && len(m.File.Data) != c.file {
					t.Errorf("message %d of %d has the file %v", i, len(ms), m.File)
				}
				if (len(m.Rows) > 0) != (i == len(ms)-1) {
					t.Errorf("message %d of %d has %d rows of buttons", i, len(ms), len(m.Rows))
				}
				if n := utf8.RuneCountInString(m.Text); n > phone.Max {
					t.Errorf("message %d has %d runes", i, n)
				}
				if !m.Silent || m.Place.Channel != "c" {
					t.Errorf("message %d is %+v", i, m)
				}
			}
			if c.file > 0 && c.page.file == nil && !strings.HasSuffix(ms[len(ms)-1].Text, saysInFile) {
				t.Errorf("the head does not say where the rest is: %q", ms[len(ms)-1].Text)
			}
		})
	}
}

// TestMessagesWithout: where there are no files everything is sent in pieces, and where there are no buttons none.
func TestMessagesWithout(t *testing.T) {
	caps := phone
	caps.Files, caps.Buttons = false, false
	text := strings.Repeat("word ", 500)
	ms := Config{}.messages(page{text: text, rows: [][]core.Button{{{Label: "x"}}}}, caps, core.Place{})
	var got []string
	for _, m := range ms {
		if m.File != nil || m.Rows != nil {
			t.Errorf("got %+v", m)
		}
		got = append(got, m.Text)
	}
	if len(ms) < 7 || strings.Join(strings.Fields(strings.Join(got, " ")), " ") != strings.TrimSpace(text) {
		t.Errorf("%d messages do not hold the text", len(ms))
	}
}

// TestClosed: a cut leaves no block of code open, so what follows is no part of it.
func TestClosed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.SliceOfN(rapid.SampledFrom([]string{"text\n", "```\ncode\n```\n", "````\n```\n````\n", "```go\nx\n```\n", "`a`\n", "\n"}), 1, 8).Draw(t, "blocks")
		text := strings.Join(blocks, "")
		cut := cutRunes(text, rapid.IntRange(1, len(text)).Draw(t, "at"))
		if got := plainText(closed(cut) + "\n\n**behind**"); !strings.HasSuffix(got, "behind") || strings.HasSuffix(got, "**behind**") {
			t.Fatalf("%q closed is %q and shows %q", cut, closed(cut), got)
		}
	})
}

// TestLiteral: what others wrote is shown as they wrote it, and nothing in it formats or gets out of its place.
func TestLiteral(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("a `*_~#<>[]()&|\\!-.1é😀")), 1, 40, -1)
	rapid.Check(t, func(t *rapid.T) {
		s := "x" + text.Draw(t, "text") + "x"
		spaces := func(s string) string { return strings.Join(strings.Fields(s), " ") }
		if got := plainText(escape(s)); spaces(got) != spaces(s) {
			t.Errorf("escape(%q) shows %q", s, got)
		}
		if got := plainText("before " + code(s) + " **behind**"); spaces(got) != "before "+spaces(s)+" behind" {
			t.Errorf("code(%q) shows %q", s, got)
		}
		if got := plainText("before\n" + fence(s) + "**behind**"); got != "before\n\n"+s+"\n\nbehind" {
			t.Errorf("fence(%q) shows %q", s, got)
		}
	})
}

// TestKeys: on a keyboard every button has a key of its own.
func TestKeys(t *testing.T) {
	var bs buttons
	rows := [][]core.Button{{bs.add(labelApprove, "", press{})}, {bs.add(labelSession, "", press{}), bs.add(labelAlways, "", press{})}, {bs.add(labelDeny, "", press{})},
		{bs.add("k3m9p2 a session", "", press{}), bs.add("x7y8z9 another", "", press{})}}
	onKeys(rows)
	var got []string
	seen := map[string]bool{}
	for _, row := range rows {
		for _, b := range row {
			got = append(got, b.Label)
			if seen[b.Key] || b.Key == "" || len(b.Token) > 64 {
				t.Errorf("the button %+v cannot be pressed alone", b)
			}
			seen[b.Key] = true
		}
	}
	if want := "[y]es once|[s]ession|[a]lways here|[n]o|[1] k3m9p2 a session|[2] x7y8z9 another"; strings.Join(got, "|") != want {
		t.Errorf("got %s", strings.Join(got, "|"))
	}
	for label := range keyLabels {
		if keys[label] == "" {
			t.Errorf("%s reads as for a key, and has none", label)
		}
	}
}

// TestLines: the same news on a terminal, where each is a line that names its session, and in a chat.
func TestLines(t *testing.T) {
	letter := core.Letter{Place: core.Place{Platform: "chat", Channel: "c"}, Event: core.Event{Session: "k3m9p2", Prompt: "x7y8z9", Title: "a *title*"}}
	yes, no := true, false
	for _, c := range []struct {
		event core.Event
		want  string
	}{
		{core.Event{Type: core.EventTurn, Turn: 2}, "thinking (turn 2)"},
		{core.Event{Type: core.EventCall, Show: "rm `x`\nrm y"}, "→ rm `x`⏎rm y"},
		{core.Event{Type: core.EventResult, OK: &yes, Show: "read a.txt", Output: "secret"}, "✓ read a.txt"},
		{core.Event{Type: core.EventResult, OK: &no, Output: "no *such* file\nmore"}, "✗ no *such* file"},
		{core.Event{Type: core.EventNotice, Text: "waiting for the model"}, "waiting for the model"},
		{core.Event{Type: core.EventText, Text: "a part"}, ""},
	} {
		l := letter
		l.Event.Type = c.event.Type
		caps := core.Capabilities{Lines: true}
		s := newScreen(Config{})
		if got := plainText(s.line(core.Letter{Event: c.event}, caps)); got != c.want {
			t.Errorf("%s reads %q, want %q", c.event.Type, got, c.want)
		}
		if got, want := plainText(s.head(letter, caps, core.Running)+"x"), "[S:k3m9p2][P:x7y8z9][running] x"; got != want {
			t.Errorf("a line begins %q", got)
		}
	}
	s := newScreen(Config{})
	if got, want := plainText(s.head(letter, phone, core.Waiting)+"x"), "[S:k3m9p2][P:x7y8z9][needs-you] a *title*\n\nx"; got != want {
		t.Errorf("a message begins %q", got)
	}
	letter.Place.Thread = "1"
	if got := s.head(letter, phone, core.Waiting); got != "" {
		t.Errorf("in a thread a message begins %q", got)
	}
}

// TestB033ButtonsAreShort: whatever a button leads to, the platform is given a short token.
func TestB033ButtonsAreShort(t *testing.T) {
	var bs buttons
	tokens := map[string]bool{}
	for i := range 100 {
		b := bs.add(strings.Repeat("я", 200), "", press{Command: strings.Repeat("я", 1000), Session: core.SessionID(fmt.Sprint(i))})
		if len(b.Token) > 64 || len(b.Token) < 20 || tokens[b.Token] {
			t.Fatalf("the token is %q", b.Token)
		}
		tokens[b.Token] = true
	}
}
