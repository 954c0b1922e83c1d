package progress

import (
	"strings"
	"testing"

	"paragents/bot/markup"
	"paragents/bot/setting"
	"paragents/core"
)

func plainOf(md string) string {
	var all []string
	for _, p := range markup.Render(md, markup.Plain, markup.Limits{Unit: markup.Rune}) {
		all = append(all, p.Plain)
	}
	return strings.Join(all, "\n")
}

// TestLines: each piece of progress is one line, in which nothing formats.
func TestLines(t *testing.T) {
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
		caps := core.Capabilities{Lines: true}
		s := New(setting.Config{})
		if got := plainOf(s.line(core.Letter{Event: c.event}, caps)); got != c.want {
			t.Errorf("%s reads %q, want %q", c.event.Type, got, c.want)
		}
	}
}
