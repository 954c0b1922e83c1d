package demo

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"paragents/core/lazy"
)

// masked is a text whose quoted parts are one word each, so that nothing in them looks like a request.
type masked struct {
	quotes []quote
}

type quote struct{ raw, inner string }

// closing has for each quotation mark the one that ends it.
var closing = map[rune]rune{'"': '"', '\'': '\'', '`': '`', '“': '”', '‘': '’', '«': '»', '„': '“'}

// token stands for a quote: NUL, number, NUL.
var token = lazy.Compile("\x00([0-9]+)\x00")

// mask replaces the quotes in s. A mark opens a quote behind a space or a bracket, and closes it before one or before punctuation; so
// apostrophes are none.
func mask(s string) (string, *masked) {
	m := &masked{}
	s = strings.ReplaceAll(s, "\x00", "\ufffd")
	var out strings.Builder
	before := ' '
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		end := -1
		if close, ok := closing[r]; ok && (unicode.IsSpace(before) || strings.ContainsRune("([{:,", before)) {
			end = closes(s[i+size:], close)
		}
		if end < 0 {
			out.WriteString(s[i : i+size])
			before = r
			i += size
			continue
		}
		inner := s[i+size : i+size+end]
		last := utf8.RuneLen(closing[r])
		raw := s[i : i+size+end+last]
		out.WriteString("\x00" + strconv.Itoa(len(m.quotes)) + "\x00")
		m.quotes = append(m.quotes, quote{raw, inner})
		before = closing[r]
		i += len(raw)
	}
	return out.String(), m
}

// closes is where in s the mark closes a quote; -1: nowhere.
func closes(s string, mark rune) int {
	for i, r := range s {
		if r != mark {
			continue
		}
		next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		if next == utf8.RuneError || unicode.IsSpace(next) || strings.ContainsRune(".,;:!?)]}", next) {
			return i
		}
	}
	return -1
}

// text gives s back without masks. A quote alone loses its marks; in the middle of other text it keeps them.
func (m *masked) text(s string) string {
	s = strings.TrimSpace(s)
	if loc := token.FindStringIndex(s); loc != nil && loc[0] == 0 && loc[1] == len(s) {
		return m.quote(s).inner
	}
	return m.raw(s)
}

// raw gives s back as it was written.
func (m *masked) raw(s string) string {
	return token.ReplaceAllStringFunc(s, func(t string) string { return m.quote(t).raw })
}

func (m *masked) quote(t string) quote {
	n, err := strconv.Atoi(strings.Trim(t, "\x00"))
	if err != nil || n >= len(m.quotes) {
		return quote{t, t}
	}
	return m.quotes[n]
}

// name is a name of a file: a quote, or one word without the punctuation behind it. ok is false when it is neither.
func (m *masked) name(s string) (name string, ok bool) {
	s = strings.TrimSpace(s)
	for s != "." && s != "" && !strings.HasSuffix(s, "..") && strings.ContainsRune("?!,;:.", rune(s[len(s)-1])) {
		s = s[:len(s)-1]
	}
	if !token.MatchString(s) && strings.ContainsFunc(s, unicode.IsSpace) {
		return "", false
	}
	s = m.text(s)
	if len(s) > 1 {
		s = strings.TrimRight(s, "/")
	}
	return s, s != ""
}
