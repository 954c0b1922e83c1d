package telegram

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"paragents/core"
)

// repeatMark is put under a message that may already stand above it. It is plain text in every dialect.
const repeatMark = "\n(may be repeated)"

// units counts as the platform does.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r) // U+FFFD for invalid bytes: 1
	}
	return n
}

// clip cuts s to n UTF-16 units, between characters.
func clip(s string, n int) string {
	for i, r := range s {
		if n -= utf16.RuneLen(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

// withoutMention cuts the bot's own mentions out of a text, and reports whether there were any and whether the text begins with a mention of
// somebody else.
func withoutMention(text string, ents []entity, me account) (clean string, mine, other bool) {
	if !slices.ContainsFunc(ents, mention) {
		return strings.TrimSpace(text), false, false
	}
	ents = slices.SortedFunc(slices.Values(ents), func(a, b entity) int { return cmp.Compare(a.Offset, b.Offset) })
	u := utf16.Encode([]rune(text))
	var kept []uint16
	end := 0
	for _, e := range ents {
		if !mention(e) || e.Offset < end || e.Length <= 0 || e.Length > len(u)-e.Offset {
			continue
		}
		named := string(utf16.Decode(u[e.Offset : e.Offset+e.Length]))
		own := e.User != nil && e.User.ID == me.ID || e.Type == "mention" && strings.EqualFold(named, "@"+me.Username)
		if !own {
			other = other || strings.TrimSpace(string(utf16.Decode(u[:e.Offset]))) == ""
			continue
		}
		mine = true
		kept = append(kept, u[end:e.Offset]...)
		end = e.Offset + e.Length
		for end < len(u) && u[end] == ' ' {
			end++
		}
	}
	kept = append(kept, u[end:]...)
	return strings.TrimSpace(string(utf16.Decode(kept))), mine, other
}

func mention(e entity) bool { return e.Type == "mention" || e.Type == "text_mention" }

// keyboardOf makes buttons, or reports what the platform would refuse.
func keyboardOf(rows [][]core.Button) (keyboard, string) {
	var k keyboard
	for _, row := range rows {
		var keys []key
		for _, b := range row {
			switch {
			case b.Label == "" || !utf8.ValidString(b.Label):
				return keyboard{}, "a button needs a label"
			case b.Token == "" || len(b.Token) > maxToken || !utf8.ValidString(b.Token):
				return keyboard{}, "the token of button " + b.Label + " must be 1 to 64 bytes of text"
			}
			keys = append(keys, key{Text: b.Label, Data: b.Token, Style: b.Style})
		}
		if len(keys) > 0 {
			k.Rows = append(k.Rows, keys)
		}
	}
	return k, ""
}

// emoji is the reaction for a mark of core.Reactor, from the list that the platform allows to bots.
func emoji(mark string) (string, bool) {
	switch mark {
	case "seen":
		return "👀", true
	case "queued":
		return "✍", true
	case "done":
		return "👌", true
	}
	return "", false
}
