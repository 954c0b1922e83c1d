package markup

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns s with every character that a reader could not see, or that
// changes the order of others, shown as ⟨U+202E⟩, and broken UTF-8 as ⟨\xff⟩.
// Newlines and tabs stay. Joined emoji come apart: whoever approves an action
// sees all that it holds.
func Visible(s string) string {
	return show(s, func(r rune) bool {
		return !unicode.IsPrint(r) || r == '\u2800' ||
			unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	})
}

// controls is Visible for control characters and broken UTF-8 only, which no
// chat can show. It makes the line ends of Windows newlines.
func controls(s string) string {
	return show(strings.ReplaceAll(s, "\r\n", "\n"), unicode.IsControl)
}

func show(s string, hidden func(rune) bool) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `⟨\x%02x⟩`, s[i])
		case r != '\n' && r != '\t' && hidden(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
