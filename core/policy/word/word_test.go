package word_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paragents/core/policy/word"
)

// TestMatchIsAStar compares with the regular expression that a pattern means.
func TestMatchIsAStar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*\x00]{0,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab*]{0,10}`).Draw(t, "text")
		quoted := regexp.QuoteMeta(pattern)
		quoted = strings.ReplaceAll(strings.ReplaceAll(quoted, `\*`, ".*"), "\x00", `\*`)
		if want := regexp.MustCompile("^(?:" + quoted + ")$").MatchString(text); word.Match(pattern, text) != want {
			t.Fatalf("match %q with %q: want %v", pattern, text, want)
		}
	})
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{"": "''", "a-b": "a-b", "a b": "'a b'", "it's": `'it'\''s'`, "*": "'*'", "~": "'~'"} {
		if got := word.Quote(text); got != want {
			t.Errorf("quote %q: got %s, want %s", text, got, want)
		}
	}
}

func TestFold(t *testing.T) {
	for text, want := range map[string]string{"SUDO": "sudo", "ｓｕｄｏ": "sudo", "①": "1", "é": "é"} {
		if got := word.Fold(text); got != want {
			t.Errorf("fold %q: got %q", text, got)
		}
	}
}

func TestUnescapeAnsi(t *testing.T) {
	for text, want := range map[string]string{
		`\x73\165do`: "sudo", `a\nb`: "a\nb", `\'`: "'", `\u00e9`: "é", `\cA`: "\x01", `\q`: `\q`, `\0777`: "?7", `\x`: `\x`, `plain`: "plain",
	} {
		if got, ok := word.UnescapeAnsi(text); !ok || got != want {
			t.Errorf("%s: got %q", text, got)
		}
	}
	if got, ok := word.UnescapeAnsi(`a\0b`); ok || got != "a" {
		t.Errorf("NUL: got %q, %v", got, ok)
	}
}

func TestAssemble(t *testing.T) {
	unknown := word.Piece{Unknown: true}
	quoted := word.Piece{Unknown: true, Quoted: true}
	for _, c := range []struct {
		pieces []word.Piece
		want   string
	}{
		{[]word.Piece{{Text: "a b"}}, "a|b"},
		{[]word.Piece{{Text: "a b", Quoted: true}}, "'a b'"},
		{[]word.Piece{{Text: "a"}, {Text: " b "}, {Text: "c"}}, "a|b|c"},
		{[]word.Piece{{Text: ""}}, ""},
		{[]word.Piece{{Quoted: true}}, "''"},
		{[]word.Piece{{Text: "./"}, unknown}, "./…"},
		{[]word.Piece{{Text: "x y"}, quoted}, "x|y…"},
		{[]word.Piece{{Text: "*", Quoted: true}, {Text: "*"}}, `\**`},
		{[]word.Piece{{Text: "["}}, "'['"},
		{[]word.Piece{{Text: "[ab]"}}, "[ab]"},
	} {
		var got []string
		for _, w := range word.Assemble(c.pieces, true) {
			got = append(got, w.String())
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%+v: got %q, want %q", c.pieces, got, c.want)
		}
	}
}
