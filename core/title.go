package core

import "strings"

// titleLen is the longest title, in characters.
const titleLen = 60

// Title makes a session's title: the given one, or the first line of its first prompt.
func Title(given, text string) string {
	if given == "" {
		given, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	}
	title := []rune(strings.Join(strings.Fields(given), " "))
	if len(title) > titleLen {
		title = append(title[:titleLen-1], '…')
	}
	return string(title)
}
