// Package llmtest holds language models for tests: a server that speaks the protocol and is as strict about conversations as real
// providers are, and a scripted model in the process.
package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"paragents/core"
	"paragents/core/llm"
)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Check says what a real provider would refuse about the request; nil: nothing. Server and Script check every request with it.
func Check(r llm.Request) error {
	offered := map[string]bool{}
	for _, t := range r.Tools {
		var schema struct {
			Type string `json:"type"`
		}
		switch {
		case !toolName.MatchString(t.Name):
			return fmt.Errorf("tool %q: bad name", t.Name)
		case offered[t.Name]:
			return fmt.Errorf("tool %s: offered twice", t.Name)
		case json.Unmarshal(t.Schema, &schema) != nil || schema.Type != "object":
			return fmt.Errorf("tool %s: schema is not that of an object", t.Name)
		}
		offered[t.Name] = true
	}

	var open []string // calls without a result so far
	last := llm.Role("")
	for i, m := range r.Messages {
		if err := checkMessage(m); err != nil {
			return fmt.Errorf("message %d (%s): %w", i, m.Role, err)
		}
		if m.Role == llm.ToolReply {
			at := -1
			for k, id := range open {
				if id == m.CallID {
					at = k
				}
			}
			if at < 0 {
				return fmt.Errorf("message %d: result for call %q, which nobody made or which has one", i, m.CallID)
			}
			open = append(open[:at], open[at+1:]...)
		} else if len(open) > 0 {
			return fmt.Errorf("message %d (%s): call %q has no result yet", i, m.Role, open[0])
		}
		for _, c := range m.Calls {
			open = append(open, string(c.ID))
		}
		last = m.Role
	}
	switch {
	case len(open) > 0:
		return fmt.Errorf("call %q has no result", open[0])
	case last != llm.User && last != llm.ToolReply:
		return fmt.Errorf("the last message must be a user's or a tool's, not %q", last)
	}
	return nil
}

func checkMessage(m llm.Message) error {
	if !utf8.ValidString(m.Content) {
		return errors.New("content is not UTF-8")
	}
	switch m.Role {
	case llm.System, llm.User, llm.ToolReply:
		if m.Role != llm.ToolReply && strings.TrimSpace(m.Content) == "" {
			return errors.New("empty")
		}
		if len(m.Calls) > 0 {
			return errors.New("only an assistant makes calls")
		}
	case llm.Assistant:
		if strings.TrimSpace(m.Content) == "" && len(m.Calls) == 0 {
			return errors.New("neither text nor calls")
		}
	default:
		return errors.New("unknown role")
	}
	if (m.CallID != "") != (m.Role == llm.ToolReply) {
		return errors.New("a tool's result, and nothing else, names its call")
	}
	seen := map[core.CallID]bool{}
	for _, c := range m.Calls {
		var arguments map[string]json.RawMessage
		switch {
		case c.ID == "" || seen[c.ID]:
			return fmt.Errorf("call id %q is empty or used twice", c.ID)
		case !toolName.MatchString(c.Name):
			return fmt.Errorf("call %s: bad name %q", c.ID, c.Name)
		case !utf8.ValidString(c.Arguments) || json.Unmarshal([]byte(c.Arguments), &arguments) != nil || arguments == nil:
			return fmt.Errorf("call %s: arguments are not a JSON object", c.ID)
		case loneSurrogate([]byte(c.Arguments)):
			return fmt.Errorf("call %s: arguments hold half a surrogate pair", c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}

// loneSurrogate finds \ud800 … \udfff escapes in JSON that are not half of a pair.
func loneSurrogate(raw []byte) bool {
	rest := string(raw)
	for {
		at := strings.Index(rest, `\`)
		if at < 0 || at+1 >= len(rest) {
			return false
		}
		rest = rest[at:]
		switch high, low := surrogate(rest), ""; high {
		case "high":
			if len(rest) >= 12 {
				low = surrogate(rest[6:])
			}
			if low != "low" {
				return true
			}
			rest = rest[12:]
		case "low":
			return true
		default:
			rest = rest[2:]
		}
	}
}

// surrogate says which half of a pair s begins with.
func surrogate(s string) string {
	if len(s) < 6 || s[:2] != `\u` || !strings.ContainsRune("dD", rune(s[2])) {
		return ""
	}
	switch s[3] {
	case '8', '9', 'a', 'b', 'A', 'B':
		return "high"
	case 'c', 'd', 'e', 'f', 'C', 'D', 'E', 'F':
		return "low"
	}
	return ""
}
