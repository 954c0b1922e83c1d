package phrase

import "strings"

func Cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}

// Escape makes text literal in Markdown.
func Escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]<>()#+-.!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Code makes text a code span that it cannot leave.
func Code(s string) string {
	if s == "" {
		return "``` ```"
	}
	s = strings.ReplaceAll(s, "\n", "⏎")
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// Fence makes text a code block that it cannot leave.
func Fence(s string) string {
	mark := "```"
	for strings.Contains(s, mark) {
		mark += "`"
	}
	return mark + "\n" + s + "\n" + mark + "\n"
}

func FirstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
