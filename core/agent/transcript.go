package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"paragents/core"
	"paragents/core/llm"
)

// transcript is a session's records, and what follows from them.
type transcript struct {
	mu      sync.Mutex
	records []core.Record
}

func (t *transcript) add(records ...core.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = append(t.records, records...)
}

func (t *transcript) all() []core.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clip(t.records)
}

// call is a call with what is known of it.
type call struct {
	core.Call
	prompt core.PromptID
	latest bool   // of the prompt's latest answer
	begun  bool   // there is an intent
	show   string // of the intent
}

// unanswered returns all calls without a result, in order.
func (t *transcript) unanswered() []call {
	records := t.all()
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
	var out []call
	for i, r := range records {
		for _, c := range r.Calls {
			if !done[c.ID] {
				show, b := begun[c.ID]
				out = append(out, call{Call: c, prompt: r.Prompt, latest: latest[r.Prompt] == i, begun: b, show: show})
			}
		}
	}
	return out
}

// open returns the calls that the prompt has still to run.
func (t *transcript) open(p core.PromptID) []call {
	return slices.DeleteFunc(t.unanswered(), func(c call) bool { return c.prompt != p || !c.latest || c.begun })
}

// invalidKey marks the stored arguments of a call whose own could not be understood: what is stored must be a JSON object, or the provider refuses the
// conversation from then on.
const invalidKey = "_invalid_arguments"

// normal makes a model's calls fit to be stored: ids unique in the session, names of the letters that providers take, arguments a JSON object.
func (t *transcript) normal(calls []core.Call) []core.Call {
	used := map[core.CallID]bool{}
	for _, r := range t.all() {
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

// results returns the results of a prompt's calls. A result that was written twice, because the answer to the first write was lost, counts once.
func (t *transcript) results(p core.PromptID) []core.Record {
	seen := map[core.CallID]bool{}
	var out []core.Record
	for _, r := range t.all() {
		if r.Kind == core.RecordResult && r.Prompt == p && !seen[r.Call] {
			seen[r.Call] = true
			out = append(out, r)
		}
	}
	return out
}

func (t *transcript) turns(p core.PromptID) int {
	n := 0
	for _, r := range t.all() {
		if r.Kind == core.RecordAssistant && r.Prompt == p {
			n++
		}
	}
	return n
}

// noted reports whether the prompt's attachments were dealt with.
func (t *transcript) noted(p core.PromptID) bool {
	return slices.ContainsFunc(t.all(), func(r core.Record) bool { return r.Kind == core.RecordNote && r.Prompt == p })
}

func (t *transcript) denials(p core.PromptID) int {
	n := 0
	for _, r := range t.results(p) {
		if r.Ending == core.EndDenied {
			n++
		}
	}
	return n
}

// finish is why the prompt's latest answer ended.
func (t *transcript) finish(p core.PromptID) string {
	for _, r := range slices.Backward(t.all()) {
		if r.Kind == core.RecordAssistant && r.Prompt == p {
			return r.Finish
		}
	}
	return ""
}

// deniedBefore reports whether a person denied exactly this action in this prompt.
func (t *transcript) deniedBefore(p core.PromptID, digest string) bool {
	return slices.ContainsFunc(t.results(p), func(r core.Record) bool { return r.Ending == core.EndDenied && r.Digest == digest })
}

// invalid counts the last answers in a row none of whose calls could be understood.
func (t *transcript) invalid(p core.PromptID) int {
	endings := map[core.CallID]core.Ending{}
	for _, r := range t.results(p) {
		endings[r.Call] = r.Ending
	}
	n := 0
	for _, r := range slices.Backward(t.all()) {
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

// seen is the digest of a file as the session last knew it.
func (t *transcript) seen(path string) string {
	for _, r := range slices.Backward(t.all()) {
		if d, ok := r.Seen[path]; ok {
			return d
		}
	}
	return ""
}

// changed are the files that a prompt wrote, sorted.
func (t *transcript) changed(p core.PromptID) []string {
	paths := map[string]bool{}
	for _, r := range t.results(p) {
		for _, path := range r.Changed {
			paths[path] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// silence says what was done, when the model says nothing.
func (t *transcript) silence(p core.PromptID) string {
	results := t.results(p)
	if len(results) == 0 {
		return saysSilent
	}
	last := results[len(results)-1]
	return fmt.Sprintf(saysSilentDid, len(results), last.Tool+" ("+string(last.Ending)+")")
}

// conversation makes the messages for the model, at most budget characters if that can be done: first older results are shortened, then older prompts
// are replaced by what was asked and done. It is a pure function of the records: every replica makes the same.
func (t *transcript) conversation(system string, budget int) (out []llm.Message, shortened bool) {
	records := t.all()
	full := messages(system, records, nil)
	if size(full) <= budget {
		return full, false
	}
	old := olderCalls(records, keepTurns)
	if less := messages(system, records, old); size(less) <= budget {
		return less, true
	}
	// Leave out whole prompts from the front, the present one never.
	starts := promptStarts(records)
	for _, from := range starts[min(1, len(starts)):] {
		note := leftOut(records[:from])
		out = messages(system, records[from:], old)
		out = slices.Insert(out, 1, llm.Message{Role: llm.User, Content: note})
		if size(out) <= budget {
			return out, true
		}
	}
	if len(starts) > 1 {
		return out, true
	}
	return messages(system, records, old), true
}

// keepTurns is how many of the latest answers keep their results whole; keepChars, what is kept of an older result.
const (
	keepTurns = 3
	keepChars = 800
)

// messages renders records. Each call gets its result right behind it, wherever that stands in the log; calls without one get the word interrupted, so that
// the conversation is valid at every point where it may have been cut. Results of calls in short are shortened.
func messages(system string, records []core.Record, short map[core.CallID]bool) []llm.Message {
	results := map[core.CallID]core.Record{}
	for _, r := range records {
		if r.Kind == core.RecordResult {
			if _, twice := results[r.Call]; !twice {
				results[r.Call] = r
			}
		}
	}
	out := []llm.Message{{Role: llm.System, Content: system}}
	for _, r := range records {
		switch r.Kind {
		case core.RecordNote: // belongs to what the person wrote just before
			if last := len(out) - 1; out[last].Role == llm.User {
				out[last].Content = strings.TrimSpace(out[last].Content + "\n\n" + r.Text)
				continue
			}
			out = append(out, llm.Message{Role: llm.User, Content: r.Text})
		case core.RecordUser:
			out = append(out, llm.Message{Role: llm.User, Content: r.Text})
		case core.RecordAssistant:
			if r.Text == "" && len(r.Calls) == 0 {
				continue
			}
			out = append(out, llm.Message{Role: llm.Assistant, Content: r.Text, Calls: shortCalls(r.Calls, short)})
			for _, c := range r.Calls {
				text := tellsInterrupt
				res, ok := results[c.ID]
				if ok {
					text = res.Text
				}
				if short[c.ID] {
					text = shorten(text)
				}
				if res.Ending == core.EndOK || res.Ending == core.EndError { // a tool's words, not ours
					text = llm.Frame(frameMark(r.Prompt, c.ID), text)
				}
				out = append(out, llm.Message{Role: llm.ToolReply, CallID: string(c.ID), Content: text})
			}
		}
	}
	return out
}

// frameMark is drawn from the prompt's id, which neither the model nor anything that it reads has ever seen. The same on every replica.
func frameMark(p core.PromptID, c core.CallID) string {
	sum := sha256.Sum256([]byte(string(p) + "/" + string(c)))
	return hex.EncodeToString(sum[:6])
}

// shortCalls leaves out long arguments of calls in short.
func shortCalls(calls []core.Call, short map[core.CallID]bool) []core.Call {
	out := slices.Clone(calls)
	for i, c := range out {
		if n := len(c.Arguments); short[c.ID] && n > keepChars {
			raw, _ := json.Marshal(map[string]string{"left_out": fmt.Sprintf(tellsArguments, n)}) // a map of strings always marshals
			out[i].Arguments = string(raw)
		}
	}
	return out
}

func shorten(text string) string {
	runes := []rune(text)
	if len(runes) <= keepChars {
		return text
	}
	return string(runes[:keepChars*3/4]) + fmt.Sprintf(tellsShortened, len(runes)-keepChars) + string(runes[len(runes)-keepChars/4:])
}

// olderCalls are the calls of all but the latest answers.
func olderCalls(records []core.Record, keep int) map[core.CallID]bool {
	out := map[core.CallID]bool{}
	for _, r := range slices.Backward(records) {
		if r.Kind != core.RecordAssistant {
			continue
		}
		if keep--; keep >= 0 {
			continue
		}
		for _, c := range r.Calls {
			out[c.ID] = true
		}
	}
	return out
}

// promptStarts are the positions of the first record of each prompt.
func promptStarts(records []core.Record) []int {
	var out []int
	seen := map[core.PromptID]bool{}
	for i, r := range records {
		if r.Kind == core.RecordUser && !seen[r.Prompt] {
			seen[r.Prompt] = true
			out = append(out, i)
		}
	}
	return out
}

// leftOut says what the prompts were that are left out: what was asked, what ran, which files changed.
func leftOut(records []core.Record) string {
	var b strings.Builder
	b.WriteString(tellsLeftOut)
	past := &transcript{records: records}
	for _, at := range promptStarts(records) {
		r := records[at]
		var did []string
		for _, res := range past.results(r.Prompt) {
			did = append(did, res.Tool+" "+string(res.Ending))
		}
		fmt.Fprintf(&b, tellsLeftOutFor, shorten(r.Text), orNothing(did), orNothing(past.changed(r.Prompt)))
	}
	return b.String()
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return tellsNothing
	}
	return strings.Join(list, ", ")
}

// size is the length of a conversation in characters, roughly.
func size(conversation []llm.Message) int {
	n := 0
	for _, m := range conversation {
		n += len(m.Content)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Arguments)
		}
	}
	return n
}
