// Package word describes what is known about one argument of a command before the command has run.
package word

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Kind says how much of a word is known.
type Kind int

// The kinds, from what is known best to what is known least.
const (
	Known Kind = iota // Text is the whole word
	Glob              // Text is a pattern that the shell replaces by file names; literal characters of * ? [ and \ are escaped
	Below             // one word, a path somewhere at or below Text
	Open              // one word that begins with Text; the rest is not known
	Many              // any number of words, of which the first begins with Text
)

// Word is one argument. The zero value is a known empty word.
type Word struct {
	Kind    Kind
	Text    string
	Numeric bool // Open: consists of digits and a sign
	Dashed  bool // Glob: names a file that begins with a dash, or may do so
}

// Lit returns a known word.
func Lit(text string) Word { return Word{Text: text} }

// Lits returns known words.
func Lits(texts ...string) []Word {
	out := make([]Word, len(texts))
	for i, t := range texts {
		out[i] = Lit(t)
	}
	return out
}

// Is reports whether the word is known and is text.
func (w Word) Is(text string) bool { return w.Kind == Known && w.Text == text }

// Option reports whether the word is known to begin like an option.
func (w Word) Option() bool {
	return w.Kind != Below && w.Kind != Glob && len(w.Text) > 1 && w.Text[0] == '-'
}

// MayBeOption reports whether the word, or one of the words that it becomes, may turn out to be an option although it
// is not known to be one.
func (w Word) MayBeOption() bool {
	switch w.Kind {
	case Open:
		return !w.Numeric && (w.Text == "" || w.Text == "-")
	case Many:
		return true
	case Glob:
		return w.Dashed
	}
	return false
}

// Cut returns the word without prefix, and whether it began with it.
func (w Word) Cut(prefix string) (Word, bool) {
	rest, ok := strings.CutPrefix(w.Text, prefix)
	w.Text = rest
	return w, ok
}

// String returns the word as a person can read it, quoted like a shell word where needed; what is not known is an
// ellipsis.
func (w Word) String() string {
	switch w.Kind {
	case Known:
		return Quote(w.Text)
	case Below:
		return Quote(w.Text) + "/…"
	case Open, Many:
		if w.Text == "" {
			return "…"
		}
		return Quote(w.Text) + "…"
	}
	return w.Text
}

// Join returns the words separated by blanks.
func Join(words []Word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.String())
	}
	return b.String()
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,^"

// Quote returns text as one shell word.
func Quote(text string) string {
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Fold returns the form in which deny and ask rules compare text: without case and Unicode compatibility forms.
func Fold(text string) string {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return strings.ToLower(norm.NFKC.String(text))
		}
	}
	return strings.ToLower(text)
}

// Star stands in a pattern for a star that is a plain character. It cannot occur in a command.
const Star = 0

// Match reports whether text matches pattern, in which * stands for any characters. Nothing else but Star is special.
func Match(pattern, text string) bool {
	head, rest, found := strings.Cut(pattern, "*")
	head = plainStars(head)
	if !found {
		return head == text
	}
	if !strings.HasPrefix(text, head) {
		return false
	}
	text = text[len(head):]
	for {
		piece, next, more := strings.Cut(rest, "*")
		piece = plainStars(piece)
		if !more {
			return strings.HasSuffix(text, piece)
		}
		i := strings.Index(text, piece)
		if i < 0 {
			return false
		}
		text, rest = text[i+len(piece):], next
	}
}

func plainStars(piece string) string {
	if strings.IndexByte(piece, Star) < 0 {
		return piece
	}
	return strings.ReplaceAll(piece, string(rune(Star)), "*")
}
