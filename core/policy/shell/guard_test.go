package shell

import (
	"strings"
	"testing"
)

func TestTooDeep(t *testing.T) {
	for text, want := range map[string]bool{
		"ls": false, strings.Repeat("(", 2001): true, strings.Repeat("((", 1001): true, strings.Repeat("`", 2001): true, strings.Repeat("if x; ", 1001): true,
		strings.Repeat("x=${y}; ", 1500): false,
	} {
		if tooDeep(text) != want {
			t.Errorf("%.20q… of %d bytes: want %v", text, len(text), want)
		}
	}
}

func TestInvisible(t *testing.T) {
	for _, text := range []string{"a\u200bb", "\u202e", "a\u2028b", "a\rb", "\x07", "\x7f", "a\xffb", "\u2066", "\ufeff", "\u00ad", "\u3164", "\U000e0041", "a\u2003b", "\u2800", "\x1b[0m"} {
		if !Invisible(text) {
			t.Errorf("%q shows all of itself", text)
		}
	}
	for _, text := range []string{"", "ls -l\n\tx", "修正: 入力 🎉", "é", "naïve", "a\u00a0b"} {
		if Invisible(text) {
			t.Errorf("%q hides something", text)
		}
	}
}
