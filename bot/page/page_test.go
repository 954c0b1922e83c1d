package page

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"paragents/bot/button"
	"paragents/bot/markup"
	"paragents/bot/phrase"
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
		page           Page
		messages, file int // 0: none, else its bytes
	}{
		{"short", Page{Head: "head\n\n", Text: "text"}, 1, 0},
		{"two pieces", Page{Text: strings.Repeat("some words\n\n", 50)}, 2, 0},
		{"three pieces", Page{Text: strings.Repeat("x", 1100)}, 3, 0},
		{"four pieces", Page{Head: "head\n\n", Text: strings.Repeat("y", 1500)}, 2, 1500},
		{"a cut block of code", Page{Text: "```go\n" + strings.Repeat("code\n", 500) + "```\n"}, 2, 2510},
		{"with a file", Page{Text: "text", File: &core.File{Name: "a.txt", Data: []byte("abc")}}, 2, 3},
		{"nothing", Page{Text: " \n"}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.page.Rows = row
			ms := Messages(c.page, phone, core.Place{Platform: "chat", Channel: "c"})
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
			if c.file > 0 && c.page.File == nil && !strings.HasSuffix(ms[len(ms)-1].Text, phrase.InFile) {
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
	ms := Messages(Page{Text: text, Rows: [][]core.Button{{{Label: "x"}}}}, caps, core.Place{})
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
		cut := phrase.Cut(text, rapid.IntRange(1, len(text)).Draw(t, "at"))
		if got := plainText(closed(cut) + "\n\n**behind**"); !strings.HasSuffix(got, "behind") || strings.HasSuffix(got, "**behind**") {
			t.Fatalf("%q closed is %q and shows %q", cut, closed(cut), got)
		}
	})
}

// TestKeys: on a keyboard every button has a key of its own.
func TestKeys(t *testing.T) {
	var bs button.Set
	rows := [][]core.Button{{bs.Add(phrase.LabelApprove, "", button.Press{})}, {bs.Add(phrase.LabelSession, "", button.Press{}), bs.Add(phrase.LabelAlways, "", button.Press{})}, {bs.Add(phrase.LabelDeny, "", button.Press{})},
		{bs.Add("k3m9p2 a session", "", button.Press{}), bs.Add("x7y8z9 another", "", button.Press{})}}
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
}

// TestHead: on a terminal each line names its session, in a chat each message, and in a thread none.
func TestHead(t *testing.T) {
	letter := core.Letter{Place: core.Place{Platform: "chat", Channel: "c"}, Event: core.Event{Session: "k3m9p2", Prompt: "x7y8z9", Title: "a *title*"}}
	if got, want := plainText(Head(letter, core.Capabilities{Lines: true}, core.Running)+"x"), "[S:k3m9p2][P:x7y8z9][running] x"; got != want {
		t.Errorf("a line begins %q", got)
	}
	if got, want := plainText(Head(letter, phone, core.Waiting)+"x"), "[S:k3m9p2][P:x7y8z9][needs-you] a *title*\n\nx"; got != want {
		t.Errorf("a message begins %q", got)
	}
	letter.Place.Thread = "1"
	if got := Head(letter, phone, core.Waiting); got != "" {
		t.Errorf("in a thread a message begins %q", got)
	}
}
