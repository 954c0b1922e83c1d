package shell

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits that hold before the text reaches the parser, which is recursive.
const (
	maxBytes    = 64 << 10
	maxBrackets = 2000 // the time that the parser takes for nested brackets grows with their square
	maxKeywords = 1000
	maxDepth    = 200 // of the syntax tree; deeper text is judged, and asked
	maxReread   = 1 << 20
	maxSteps    = 40_000
)

// tooDeep reports whether text has more open brackets or block keywords than the parser should meet. Quotes are not
// looked at, so the count is an upper bound of the depth.
func tooDeep(text string) bool {
	brackets := strings.Count(text, "(") + strings.Count(text, "{") + strings.Count(text, "`")
	if brackets > maxBrackets {
		return true
	}
	keywords := 0
	for _, f := range strings.FieldsFunc(text, func(r rune) bool { return r < 'a' || r > 'z' }) {
		switch f {
		case "if", "for", "while", "until", "case", "select", "function", "time", "coproc":
			keywords++
		}
	}
	return keywords > maxKeywords
}

// Invisible reports whether text holds control, invisible or direction-changing characters, or is no UTF-8.
func Invisible(text string) bool {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
				return true
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			return true
		}
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) || blank(r) {
			return true
		}
		i += size
	}
	return false
}

// blank reports whether r is shown as nothing although it belongs to no class of such characters.
func blank(r rune) bool {
	switch {
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x2800, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0x180b && r <= 0x180f, r >= 0xe0000 && r <= 0xe0fff:
		return true
	case r != 0x3000 && r != 0x00a0 && unicode.Is(unicode.Zs, r):
		return true
	}
	return false
}

// tokens returns the word-like pieces of text that cannot be parsed.
func tokens(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune(";&|()<>{}`$\"'\\!#=,", r)
	})
}

// segments cuts text that cannot be parsed at everything that may separate commands.
func segments(text string) [][]string {
	var out [][]string
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\n;&|()`{}", r) }) {
		fields := strings.Fields(strings.NewReplacer(`"`, "", "'", "", `\`, "", "$", "").Replace(s))
		if len(fields) > 0 {
			out = append(out, fields)
		}
	}
	return out
}
