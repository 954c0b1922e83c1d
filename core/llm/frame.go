package llm

import "strings"

// Frame marks what a tool returned as data. The mark must be one that nobody can guess who writes what tools read, so that nothing in the text can pretend to stand
// outside of it.
func Frame(mark, text string) string {
	return "<result " + mark + ">\n" + text + "\n</result " + mark + ">"
}

// Unframe takes the frame off again; a text without one stays as it is.
func Unframe(text string) string {
	head, rest, ok := strings.Cut(text, ">\n")
	mark, framed := strings.CutPrefix(head, "<result ")
	if !ok || !framed {
		return text
	}
	inner, ok := strings.CutSuffix(rest, "\n</result "+mark+">")
	if !ok {
		return text
	}
	return inner
}
