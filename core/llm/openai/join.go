package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sashabaranov/go-openai"

	"paragents/core"
	"paragents/core/llm"
)

// event is one event of a stream, or a whole reply, which has a message where a stream has deltas. Reasoning is not decoded: it is life,
// not answer.
type event struct {
	Model   string `json:"model"`
	Choices []struct {
		Index        int     `json:"index"`
		Delta        *delta  `json:"delta"`
		Message      *delta  `json:"message"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *openai.Usage `json:"usage"`
}

type delta struct {
	Content content     `json:"content"`
	Refusal string      `json:"refusal"`
	Calls   []callDelta `json:"tool_calls"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string  `json:"name"`
		Arguments rawText `json:"arguments"`
	} `json:"function"`
}

// content is a string, or a list of parts of which the texts count.
type content string

func (c *content) UnmarshalJSON(raw []byte) error {
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return json.Unmarshal(raw, (*string)(c))
	}
	for _, p := range parts {
		if p.Type == "text" {
			*c += content(p.Text)
		}
	}
	return nil
}

// rawText is a string, or what stands there instead of one: some servers send arguments as an object.
type rawText string

func (t *rawText) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, (*string)(t)) != nil {
		*t = rawText(raw)
	}
	return nil
}

// joiner puts a reply together from its events.
type joiner struct {
	text   strings.Builder
	calls  []*partialCall
	finish string
	model  string
	usage  core.Usage
	size   int
}

type partialCall struct {
	index     int // of the server; -1: it gave none
	id, name  string
	arguments strings.Builder
}

// troubled are finish reasons that say that the reply did not finish.
var troubled = map[string]bool{"error": true, "network_error": true, "insufficient_system_resource": true, "abort": true}

func (j *joiner) add(e event, tell func(string)) error {
	if e.Model != "" {
		j.model = e.Model
	}
	if u := e.Usage; u != nil {
		j.usage = core.Usage{In: int64(u.PromptTokens), Out: int64(u.CompletionTokens)}
		if d := u.PromptTokensDetails; d != nil {
			j.usage.Cached = int64(d.CachedTokens)
		}
	}
	for _, c := range e.Choices {
		if c.Index != 0 {
			continue
		}
		d := c.Delta
		if d == nil {
			d = c.Message
		}
		if d != nil {
			text := string(d.Content) + d.Refusal
			j.size += len(text)
			for _, call := range d.Calls {
				j.size += len(call.ID) + len(call.Function.Name) + len(call.Function.Arguments)
				j.call(call)
			}
			if j.size > replyLimit {
				return tooLong()
			}
			j.text.WriteString(text)
			tell(text)
		}
		if c.FinishReason != nil && *c.FinishReason != "" {
			if troubled[*c.FinishReason] {
				return away("could not finish the reply", ErrCut)
			}
			j.finish = *c.FinishReason
		}
	}
	return nil
}

// call adds a part to the call that it belongs to. Calls are known by their index; without one by their id; without either, a part without
// a name goes on with the last call. A new id under an old index begins a call of its own.
func (j *joiner) call(d callDelta) {
	var to *partialCall
	for _, c := range j.calls {
		switch {
		case d.Index != nil && c.index == *d.Index,
			d.Index == nil && d.ID != "" && c.id == d.ID,
			d.Index == nil && d.ID == "" && d.Function.Name == "":
			to = c
		}
	}
	if to == nil || d.ID != "" && to.id != "" && d.ID != to.id {
		to = &partialCall{index: -1}
		if d.Index != nil {
			to.index = *d.Index
		}
		j.calls = append(j.calls, to)
	}
	if to.id == "" {
		to.id = d.ID
	}
	if to.name == "" {
		to.name = d.Function.Name
	}
	to.arguments.WriteString(string(d.Function.Arguments))
}

// reply is the joined reply to r.
func (j *joiner) reply(r llm.Request) llm.Reply {
	out := llm.Reply{Text: j.text.String(), Finish: "stop", Model: j.model, Usage: j.usage}
	used := map[string]bool{}
	for _, m := range r.Messages {
		for _, c := range m.Calls {
			used[string(c.ID)] = true
		}
	}
	for i, c := range j.calls {
		if c.id == "" || used[c.id] {
			c.id = madeUpID(r, i)
		}
		used[c.id] = true
		out.Calls = append(out.Calls, llm.Call{ID: core.CallID(c.id), Name: c.name, Arguments: c.arguments.String()})
		out.Finish = "tool_calls"
	}
	if j.finish == "length" || j.finish == "content_filter" {
		out.Finish = j.finish
	}
	return out
}

// madeUpID is an id for the call number i of the reply to r, for servers that give none, or the same again and again. The same request
// gives the same id, another one another.
func madeUpID(r llm.Request, i int) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(r.Messages) // a hash never fails, and messages always marshal
	fmt.Fprintf(h, "%d", i)
	return "call_" + hex.EncodeToString(h.Sum(nil))[:24]
}
