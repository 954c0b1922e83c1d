// Package transcript is a session's records and what follows from them: which calls are open, what the model is asked with. It is pure: every replica makes the same of the same records.
package transcript

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"paragents/core"
)

// Log is a session's records, and what follows from them.
type Log struct {
	mu      sync.Mutex
	records []core.Record
}

// Add adds records at the end.
func (l *Log) Add(records ...core.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, records...)
}

// All returns the records, which nobody may change.
func (l *Log) All() []core.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clip(l.records)
}

// Results returns the results of a prompt's calls. A result that was written twice, because the answer to the first write was lost, counts once.
func (l *Log) Results(p core.PromptID) []core.Record {
	seen := map[core.CallID]bool{}
	var out []core.Record
	for _, r := range l.All() {
		if r.Kind == core.RecordResult && r.Prompt == p && !seen[r.Call] {
			seen[r.Call] = true
			out = append(out, r)
		}
	}
	return out
}

// Turns is how many answers the model gave in a prompt.
func (l *Log) Turns(p core.PromptID) int {
	n := 0
	for _, r := range l.All() {
		if r.Kind == core.RecordAssistant && r.Prompt == p {
			n++
		}
	}
	return n
}

// Noted reports whether the prompt's attachments were dealt with.
func (l *Log) Noted(p core.PromptID) bool {
	return slices.ContainsFunc(l.All(), func(r core.Record) bool { return r.Kind == core.RecordNote && r.Prompt == p })
}

// Denials is how many of a prompt's calls people denied.
func (l *Log) Denials(p core.PromptID) int {
	n := 0
	for _, r := range l.Results(p) {
		if r.Ending == core.EndDenied {
			n++
		}
	}
	return n
}

// Finish is why the prompt's latest answer ended.
func (l *Log) Finish(p core.PromptID) string {
	for _, r := range slices.Backward(l.All()) {
		if r.Kind == core.RecordAssistant && r.Prompt == p {
			return r.Finish
		}
	}
	return ""
}

// DeniedBefore reports whether a person denied exactly this action in this prompt.
func (l *Log) DeniedBefore(p core.PromptID, digest string) bool {
	return slices.ContainsFunc(l.Results(p), func(r core.Record) bool { return r.Ending == core.EndDenied && r.Digest == digest })
}

// Invalid counts the last answers in a row none of whose calls could be understood.
func (l *Log) Invalid(p core.PromptID) int {
	endings := map[core.CallID]core.Ending{}
	for _, r := range l.Results(p) {
		endings[r.Call] = r.Ending
	}
	n := 0
	for _, r := range slices.Backward(l.All()) {
		if r.Kind != core.RecordAssistant || r.Prompt != p {
			continue
		}
		if len(r.Calls) == 0 || slices.ContainsFunc(r.Calls, func(c core.Call) bool { return endings[c.ID] != core.EndInvalid }) {
			break
		}
		n++
	}
	return n
}

// Seen is the digest of a file as the session last knew it.
func (l *Log) Seen(path string) string {
	for _, r := range slices.Backward(l.All()) {
		if d, ok := r.Seen[path]; ok {
			return d
		}
	}
	return ""
}

// Changed are the files that a prompt wrote, sorted.
func (l *Log) Changed(p core.PromptID) []string {
	paths := map[string]bool{}
	for _, r := range l.Results(p) {
		for _, path := range r.Changed {
			paths[path] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// Silence says what was done, when the model says nothing.
func (l *Log) Silence(p core.PromptID) string {
	results := l.Results(p)
	if len(results) == 0 {
		return Silent
	}
	last := results[len(results)-1]
	return fmt.Sprintf(silentDid, len(results), last.Tool+" ("+string(last.Ending)+")")
}

// Begins reports whether no other prompt of the session was run before.
func (l *Log) Begins(p core.PromptID) bool {
	return !slices.ContainsFunc(l.All(), func(r core.Record) bool { return r.Kind == core.RecordUser && r.Prompt != p })
}

// Entered is what came into the conversation with a prompt that its author did not write there, for people.
func (l *Log) Entered(p core.Prompt) []string {
	out := slices.Clone(p.Entered)
	for _, r := range l.All() {
		if r.Prompt == p.ID {
			out = append(out, r.Entered...)
		}
	}
	return out
}
