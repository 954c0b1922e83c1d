package grammar

import (
	"slices"
	"strings"

	"paragents/core"
	"paragents/core/access"
)

// Typed reads a mention of the bot as a command where none can be written with a slash: in a thread of a channel. It has to be a command and cannot well be anything
// else: by its own name, with nothing behind it but what the command takes. "list" is one, "list the files" is not. With a slash in front it is one whatever follows.
func Typed(text string) (Command, bool) {
	c, ok := Parse(text)
	word, _ := CutWord(text)
	switch {
	case !ok || c.Name == "quit":
		return c, false
	case strings.HasPrefix(word, "/"):
		return c, true
	case canonical(word) != c.Name: // another name for it, such as continue or open, is a word that people use
		return c, false
	}
	first := ""
	if len(c.Args) > 0 {
		first = strings.ToLower(c.Args[0])
	}
	switch c.Name {
	case "new", "prompt", "steer":
		return c, c.Rest != ""
	case "submit", "rename": // "rename a.go to b.go" is work
		return c, false
	case "list":
		return c, c.Rest == "" || c.Rest == "all"
	case "mode":
		return c, len(c.Args) == 1 && slices.Contains([]core.Mode{core.ModePlan, core.ModeAsk, core.ModeEdits}, core.Mode(first))
	case "approve", "deny":
		return c, c.Rest == "" || isRef(first)
	case "pair":
		return c, len(first) == access.CodeLen && len(c.Args) <= 2
	case "permissions":
		return c, c.Rest == "" || strings.Contains(c.Rest, "(")
	case "revoke":
		return c, strings.Contains(c.Rest, "(")
	case "access":
		return c, first == "revoke"
	case "freeze", "thaw":
		return c, slices.Contains([]string{"all", "workspace", "person"}, first)
	}
	return c, c.Rest == "" || len(c.Args) == 1 && isRef(first)
}

// isRef reports whether a word can only name something: a whole ref, or a number of the last list.
func isRef(word string) bool {
	number, ok := strings.CutPrefix(word, "#")
	return ok && number != "" && strings.Trim(number, "0123456789") == "" || len(word) == core.RefLen && core.LooksLikeRef(word)
}
