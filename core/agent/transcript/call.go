package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"paragents/core"
)

// Call is a call with what is known of it.
type Call struct {
	core.Call
	Prompt core.PromptID
	Latest bool   // of the prompt's latest answer
	Begun  bool   // there is an intent
	Show   string // of the intent
}

// Unanswered returns all calls without a result, in order.
func (l *Log) Unanswered() []Call {
	records := l.All()
	done := map[core.CallID]bool{}
	begun := map[core.CallID]string{}
	latest := map[core.PromptID]int{}
	for i, r := range records {
		switch r.Kind {
		case core.RecordResult:
			done[r.Call] = true
		case core.RecordIntent:
			begun[r.Call] = r.Show
		case core.RecordAssistant:
			latest[r.Prompt] = i
		}
	}
	var out []Call
	for i, r := range records {
		for _, c := range r.Calls {
			if !done[c.ID] {
				show, b := begun[c.ID]
				out = append(out, Call{Call: c, Prompt: r.Prompt, Latest: latest[r.Prompt] == i, Begun: b, Show: show})
			}
		}
	}
	return out
}

// Open returns the calls that the prompt has still to run.
func (l *Log) Open(p core.PromptID) []Call {
	return slices.DeleteFunc(l.Unanswered(), func(c Call) bool { return c.Prompt != p || !c.Latest || c.Begun })
}

// invalidKey marks the stored arguments of a call whose own could not be understood: what is stored must be a JSON object, or the provider refuses the
// Conversation from then on.
const invalidKey = "_invalid_arguments"

// Normal makes a model's calls fit to be stored: ids unique in the session, names of the letters that providers take, arguments a JSON object.
func (l *Log) Normal(calls []core.Call) []core.Call {
	used := map[core.CallID]bool{}
	for _, r := range l.All() {
		for _, c := range r.Calls {
			used[c.ID] = true
		}
	}
	out := make([]core.Call, 0, len(calls))
	for _, c := range calls {
		id := core.CallID(strings.ToValidUTF8(string(c.ID), "\uFFFD"))
		c.ID = id
		for n := 2; used[c.ID] || c.ID == ""; n++ {
			c.ID = core.CallID(fmt.Sprintf("%s_%d", id, n))
		}
		used[c.ID] = true
		c.Name = normalName(c.Name)
		c.Arguments = normalArguments(strings.ToValidUTF8(c.Arguments, "\uFFFD"))
		out = append(out, c)
	}
	return out
}

// maxName is the longest name of a tool that providers take.
const maxName = 64

// normalName replaces what providers refuse in a name. No tool has a dash in its name, so that a name that was changed is nobody's.
func normalName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, name)
	if name == "" {
		return "-"
	}
	return name[:min(len(name), maxName)]
}

func normalArguments(raw string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &object) == nil && object != nil {
		if !strings.Contains(strings.ToLower(raw), `\ud`) { // no escaped surrogate, of which half a pair may be missing
			return raw
		}
		var whole map[string]any
		dec := json.NewDecoder(strings.NewReader(raw))
		dec.UseNumber()
		if dec.Decode(&whole) == nil {
			if again, err := json.Marshal(whole); err == nil {
				return string(again)
			}
		}
	}
	head := raw
	if len(head) > 200 {
		head = strings.ToValidUTF8(head[:200], "") + "…"
	}
	again, _ := json.Marshal(map[string]string{invalidKey: head}) // a map of strings always marshals
	return string(again)
}

// Garbled reports whether the model's own arguments could not be understood.
func (c Call) Garbled() bool { return strings.HasPrefix(c.Arguments, `{"`+invalidKey+`"`) }
