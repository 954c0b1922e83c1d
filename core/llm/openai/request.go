package openai

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/sashabaranov/go-openai"

	"paragents/core/llm"
)

// noOutput stands for the empty result of a tool: providers refuse a message without content.
const noOutput = "(no output)"

// encode makes the request as it goes to one provider. Text that is not UTF-8 becomes U+FFFD on the way to JSON.
func (b *backend) encode(r llm.Request) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{Model: b.Model}
	if !b.noUsage.Load() {
		out.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	for _, m := range r.Messages {
		w := openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.CallID}
		if m.Role == llm.ToolReply && m.Content == "" {
			w.Content = noOutput
		}
		for _, c := range m.Calls {
			w.ToolCalls = append(w.ToolCalls, openai.ToolCall{
				ID: string(c.ID), Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: c.Name, Arguments: arguments(c.Arguments)},
			})
		}
		out.Messages = append(out.Messages, w)
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.Schema,
		}})
	}
	//lint:ignore SA1019 most servers know only this name of the limit; the library knows which models refuse it
	out.MaxTokens = r.MaxTokens
	if err := openai.NewReasoningValidator().Validate(out); errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated) {
		//lint:ignore SA1019 see above
		out.MaxTokens, out.MaxCompletionTokens = 0, r.MaxTokens
	}
	return out
}

// arguments are a stored call's arguments as a provider accepts them. What is not a JSON object, because the model wrote it wrong or was
// cut off, is wrapped into one: refused for it, the conversation could never go on.
func arguments(s string) string {
	var object map[string]any
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	switch {
	case strings.TrimSpace(s) == "":
		return "{}"
	case !json.Valid([]byte(s)) || dec.Decode(&object) != nil || object == nil:
		return marshal(struct {
			Invalid string `json:"invalid_arguments"`
		}{s})
	case strings.Contains(s, `\ud`), strings.Contains(s, `\uD`):
		return marshal(object) // halves of surrogate pairs become U+FFFD
	}
	return s
}

func marshal(v any) string {
	raw, err := json.Marshal(v)
	if err != nil { // what was decoded, and strings, always marshal
		return "{}"
	}
	return string(raw)
}
