package demo

import (
	"strings"

	"paragents/core/lazy"
)

// step is what the model does in one turn: calls that run together, or talk.
type step struct {
	calls []call
	title string         // of talk
	talk  func(*speaker) // for a step without calls
}

// call is one tool call to make.
type call struct {
	tool      string
	arguments string // JSON
	title     string // what it does, for the answer
	quiet     bool   // it only prepares the next one
}

var (
	literal    = lazy.Compile(`(?i)^\s*(?:\$\s|(?:please\s+)?repeat after me:)`) // to the end of the line
	bullet     = lazy.Compile(`^\s*(?:[-*•]|\d{1,2}[.)])\s+`)
	thenWords  = lazy.Compile(`(?i)\s*[,;.]?\s+(?:and\s+)?then[,:]?\s+|[,;.]?\s+(?:and\s+)?(?:after that|afterwards|finally),?\s+`)
	andWords   = lazy.Compile(`(?i)\s*,\s*(?:and\s+)?|\s+and\s+|[.!;]\s+`)
	together   = lazy.Compile(`(?i)[\s,]*\b(?:both |all )?(?:at once|at the same time|in parallel|simultaneously)\b[.!]*\s*$`)
	togetherTo = lazy.Compile(`(?i)^(?:do )?(?:(?:these|both|two things|two) )*(?:at once|at the same time|in parallel)\s*[:,]\s*`)
	polite     = lazy.Compile(`(?i)^(?:please|pls|can you|could you|would you|will you|now|just|hey|hi|hello|ok|okay|also|first|finally|next|then|and|kindly|go ahead and|i want you to|i'd like you to|let's|lets)\b[,:!]?\s+`)
	politeEnd  = lazy.Compile(`(?i)[,\s]+(?:please|pls|thanks|thank you|for me)\s*[.!?]*$`)
	greeting   = lazy.Compile(`(?i)^(?:hi|hello|hey|help|what can you do|who are you|what are you)?[\s.!?]*$`)
)

// parse makes a plan of the request. Without one, strange is the part that was not understood, or "" when there was nothing to do.
func parse(request string) (steps []step, strange string) {
	text, m := mask(request)
	for _, line := range strings.Split(text, "\n") {
		line = bullet.ReplaceAllString(line, "")
		if strings.TrimSpace(line) == "" {
			continue
		}
		more, odd := sentence(line, m)
		if more == nil {
			if odd = strings.TrimSpace(m.raw(odd)); greeting.MatchString(odd) {
				odd = ""
			}
			return nil, odd
		}
		steps = append(steps, more...)
	}
	return steps, ""
}

// sentence understands a line: clauses joined by "then". odd is the first that it does not understand.
func sentence(s string, m *masked) (steps []step, odd string) {
	clauses := []string{s}
	if !literal.MatchString(s) {
		clauses = thenWords.Split(s, -1)
	}
	for _, c := range clauses {
		more, ok := clause(c, m)
		if !ok {
			// The text to write may itself hold a "then". A command is never guessed.
			if whole, ok := one(trim(s), m); ok && whole[0].calls != nil && whole[0].calls[0].tool == "write_file" {
				return whole, ""
			}
			return nil, c
		}
		steps = append(steps, more...)
	}
	return steps, ""
}

// clause understands one clause: one request, several of them joined by "and", or several "at once".
func clause(s string, m *masked) ([]step, bool) {
	s = trim(s)
	if literal.MatchString(s) {
		return one(s, m)
	}
	bare := togetherTo.ReplaceAllString(together.ReplaceAllString(s, ""), "")
	parts, ok := several(bare, m)
	if !ok {
		return one(bare, m)
	}
	if bare == s {
		return parts, true
	}
	var both step
	for _, p := range parts {
		if len(p.calls) != 1 || p.calls[0].quiet {
			return parts, true // not for one turn: one after the other
		}
		both.calls = append(both.calls, p.calls...)
	}
	return []step{both}, true
}

// several understands two requests or more; each must be one. "read A and B" reads both.
func several(s string, m *masked) ([]step, bool) {
	parts := andWords.Split(s, -1)
	if len(parts) < 2 {
		return nil, false
	}
	var steps []step
	reading := false
	for _, p := range parts {
		p = trim(p)
		more, ok := one(p, m)
		if !ok && reading {
			more, ok = one("read "+p, m)
		}
		if !ok {
			return nil, false
		}
		reading = more[0].calls != nil && more[0].calls[0].tool == "read_file"
		steps = append(steps, more...)
	}
	return steps, true
}

// trim takes off what people say around a request.
func trim(s string) string {
	for {
		next := strings.TrimSpace(s)
		if short := polite.ReplaceAllString(next, ""); short != "" {
			next = short
		}
		if next == s {
			return s
		}
		s = next
	}
}
