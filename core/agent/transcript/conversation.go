package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"paragents/core"
	"paragents/core/llm"
)

// Conversation makes the messages for the model, at most budget characters if that can be done: first older results are shortened, then older prompts
// are replaced by what was asked and done. It is a pure function of the records: every replica makes the same.
func (l *Log) Conversation(system string, budget int) (out []llm.Message, shortened bool) {
	records := l.All()
	full := messages(system, records, nil)
	if Size(full) <= budget {
		return full, false
	}
	old := olderCalls(records, keepTurns)
	if less := messages(system, records, old); Size(less) <= budget {
		return less, true
	}
	// Leave out whole prompts from the front, the present one never.
	starts := promptStarts(records)
	for _, from := range starts[min(1, len(starts)):] {
		note := leftOut(records[:from])
		out = messages(system, records[from:], old)
		out = slices.Insert(out, 1, llm.Message{Role: llm.User, Content: note})
		if Size(out) <= budget {
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
				text := Interrupted
				res, ok := results[c.ID]
				if ok {
					text = res.Text
				}
				if short[c.ID] {
					text = shorten(text)
				}
				if res.Ending == core.EndOK || res.Ending == core.EndError { // a tool's words, not ours
					text = llm.Frame(Mark(r.Prompt, c.ID), text)
				}
				out = append(out, llm.Message{Role: llm.ToolReply, CallID: string(c.ID), Content: text})
			}
		}
	}
	return out
}

// Mark is drawn from the prompt's id, which neither the model nor anything that it reads has ever seen. The same on every replica.
func Mark(p core.PromptID, c core.CallID) string {
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
	past := &Log{records: records}
	for _, at := range promptStarts(records) {
		r := records[at]
		var did []string
		for _, res := range past.Results(r.Prompt) {
			did = append(did, res.Tool+" "+string(res.Ending))
		}
		fmt.Fprintf(&b, tellsLeftOutFor, shorten(r.Text), orNothing(did), orNothing(past.Changed(r.Prompt)))
	}
	return b.String()
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return tellsNothing
	}
	return strings.Join(list, ", ")
}

// Size is the length of a conversation in characters, roughly.
func Size(conversation []llm.Message) int {
	n := 0
	for _, m := range conversation {
		n += len(m.Content)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Arguments)
		}
	}
	return n
}
