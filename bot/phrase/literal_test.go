package phrase

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paragents/bot/markup"
)

func shown(md string) string {
	var all []string
	for _, p := range markup.Render(md, markup.Plain, markup.Limits{Unit: markup.Rune}) {
		all = append(all, p.Plain)
	}
	return strings.Join(all, "\n")
}

// TestLiteral: what others wrote is shown as they wrote it, and nothing in it formats or gets out of its place.
func TestLiteral(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("a `*_~#<>[]()&|\\!-.1é😀")), 1, 40, -1)
	rapid.Check(t, func(t *rapid.T) {
		s := "x" + text.Draw(t, "text") + "x"
		spaces := func(s string) string { return strings.Join(strings.Fields(s), " ") }
		if got := shown(Escape(s)); spaces(got) != spaces(s) {
			t.Errorf("escape(%q) shows %q", s, got)
		}
		if got := shown("before " + Code(s) + " **behind**"); spaces(got) != "before "+spaces(s)+" behind" {
			t.Errorf("code(%q) shows %q", s, got)
		}
		if got := shown("before\n" + Fence(s) + "**behind**"); got != "before\n\n"+s+"\n\nbehind" {
			t.Errorf("fence(%q) shows %q", s, got)
		}
	})
}

// TestKeyLabels: what reads as for a key has one.
func TestKeyLabels(t *testing.T) {
	for label := range keyLabels {
		if keys[label] == "" {
			t.Errorf("%s reads as for a key, and has none", label)
		}
	}
}
