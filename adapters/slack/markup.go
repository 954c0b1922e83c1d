package slack

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
	escapes  = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	// special finds what the platform puts between < and >: mentions, channels, links, dates. Content has entities instead.
	special = regexp.MustCompile(`<([@#!]?)([^<>|\s][^<>|]*)(?:\|([^<>]*))?>`)
)

// readable makes the platform's form of a text what its author saw, without mentions of the user me. mine: there was one; other: the text begins with
// a mention of somebody else.
func readable(text, me string) (clean string, mine, other bool) {
	var b strings.Builder
	end := 0
	for _, m := range special.FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return text[m[2*n]:m[2*n+1]]
		}
		before := text[end:m[0]]
		b.WriteString(entities.Replace(before))
		end = m[1]
		kind, what, label := group(1), group(2), group(3)
		if kind == "@" && what == me && me != "" {
			mine = true
			rest := strings.TrimLeft(text[end:], " ")
			end = len(text) - len(rest)
			continue
		}
		if kind == "@" || kind == "!" && strings.HasPrefix(what, "subteam^") {
			other = other || !mine && strings.TrimSpace(text[:m[0]]) == ""
		}
		b.WriteString(entities.Replace(spoken(kind, what, label)))
	}
	b.WriteString(entities.Replace(text[end:]))
	return strings.TrimSpace(b.String()), mine, other
}

func spoken(kind, what, label string) string {
	switch kind {
	case "@", "#":
		if label == "" {
			label = what
		}
		return kind + strings.TrimPrefix(label, kind)
	case "!":
		if label != "" {
			return label
		}
		what, _, _ = strings.Cut(what, "^")
		return "@" + what
	}
	if label == "" || label == what || strings.HasSuffix(what, "://"+label) || what == "mailto:"+label {
		return strings.TrimPrefix(what, "mailto:")
	}
	return label + " (" + what + ")"
}

// escape makes content that says nothing to the platform: no mention, no link.
func escape(s string) string { return escapes.Replace(s) }

// clip cuts s, which is to be escaped, so that it has at most n characters when it is.
func clip(s string, n int) string {
	if utf8.RuneCountInString(escape(s)) <= n {
		return s
	}
	n-- // for the sign that something is missing
	for i, r := range s {
		switch r {
		case '&':
			n -= len("&amp;")
		case '<', '>':
			n -= len("&lt;")
		default:
			n--
		}
		if n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// parts cuts s into stretches of at most n characters, at the end of a line where there is one. Blank ones are left out.
func parts(s string, n int) []string {
	var out []string
	for s != "" {
		cut := offset(s, n)
		next := cut
		if line := strings.LastIndexByte(s[:cut], '\n'); cut < len(s) && line > cut/2 {
			cut, next = line, line+1
		}
		if strings.TrimSpace(s[:cut]) != "" {
			out = append(out, s[:cut])
		}
		s = s[next:]
	}
	return out
}

// offset is where the n-th character of s begins, or the end of s.
func offset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}
