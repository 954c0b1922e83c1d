package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"paragents/core"
	"paragents/core/llm"
	"paragents/core/policy"
	"paragents/core/preflight"
)

// Foresee guesses from a prompt's text what it will write, with the analyser that judges commands. It is what the scheduler asks before a prompt's first run.
func (a *Agent) Foresee(sess core.Session, p core.Prompt) core.Guess {
	ws, ok := a.workspace(sess.Workspace)
	if !ok {
		return core.Guess{}
	}
	ws.Dir = sess.Dir(ws.Dir)
	return kept(a.infer(ws, p.Text))
}

// kept is what is stored of a guess with its prompt.
func kept(g preflight.Guess) core.Guess {
	out := core.Guess{Actions: g.Actions, Writes: g.Writes[:min(len(g.Writes), maxGuessed)], Confidence: g.Confidence, Notes: g.Notes[:min(len(g.Notes), maxGuessed)]}
	for _, c := range g.Claims {
		out.Claims = append(out.Claims, string(c))
	}
	return out
}

// maxGuessed is how many paths and notes of a guess are kept for people; what is claimed is kept whole.
const maxGuessed = 50

// Preflight is the whole guess about a text in a workspace.
func (a *Agent) Preflight(workspace, text string) (preflight.Guess, bool) {
	ws, ok := a.workspace(workspace)
	if !ok {
		return preflight.Guess{}, false
	}
	return a.infer(ws, text), true
}

func (a *Agent) infer(ws Workspace, text string) preflight.Guess {
	facts := policy.NewOSWorld(ws.Dir, a.cfg.Home)
	rules, _ := policy.Compile(nil, policy.Options{}) // no rule, no error: only what a command does is asked
	return preflight.Infer(text, a.world(ws, func(command string) ([]string, bool) {
		v := rules.Judge(policy.Call{Tool: "Bash", Input: command, Dir: ws.Dir}, facts)
		return v.Writes, !v.Opaque
	}))
}

// forecastLimit is how long the forecasting model has. A prompt is not held up by it for longer.
const forecastLimit = 15 * time.Second

// willWrite is how the forecasting model answers.
var willWrite = llm.Tool{
	Name:        "will_write",
	Description: "Say which files carrying out the request will create, change, move or delete.",
	Schema: json.RawMessage(`{"type":"object","properties":{"paths":{"type":"array","items":{"type":"string"},"description":"relative paths; a directory ends with /; empty: none"},` +
		`"confidence":{"type":"number","description":"0 to 1: how sure it is that all of them are written"}},"required":["paths","confidence"]}`),
}

// foresee asks the forecasting model, once a prompt, what it will write, and reserves what it is sure of. Without a good answer the guess from the text stands.
func (t *turns) foresee(ctx context.Context) error {
	p := t.run.Prompt
	if t.a.cfg.Forecast == nil || t.log.Turns(p.ID) > 0 || p.Guess != nil && p.Guess.Asked {
		return nil
	}
	if err := t.run.Boundary(ctx); err != nil {
		return err
	}
	guess := t.a.infer(t.ws, p.Text)
	paths, confidence, err := t.forecast(ctx, p.Text)
	switch {
	case ctx.Err() != nil || t.run.Boundary(ctx) != nil:
		return t.run.Boundary(ctx)
	case err != nil:
		guess.Notes = append(guess.Notes, "no forecast from the model: "+err.Error())
	default:
		guess = guess.With(paths, confidence, t.a.world(t.ws, nil))
	}
	out := kept(guess)
	out.Asked = true
	return t.run.Foresee(ctx, out)
}

// forecast is the model's answer; it must be one call of will_write.
func (t *turns) forecast(ctx context.Context, text string) (paths []string, confidence float64, err error) {
	asking, done := t.run.Asking(ctx)
	defer done()
	asking, cancel := context.WithTimeout(asking, forecastLimit)
	defer cancel()
	reply, err := t.a.cfg.Forecast.Complete(asking, llm.Request{Tools: []llm.Tool{willWrite}, Messages: []llm.Message{{Role: llm.System, Content: forecastText}, {Role: llm.User, Content: text}}}, llm.Progress{})
	if err != nil {
		return nil, 0, err
	}
	t.usage = t.usage.Add(reply.Usage)
	if len(reply.Calls) != 1 || reply.Calls[0].Name != willWrite.Name {
		return nil, 0, errors.New("it did not answer as it was asked to")
	}
	var answer struct {
		Paths      []string `json:"paths"`
		Confidence float64  `json:"confidence"`
	}
	if err := json.Unmarshal([]byte(reply.Calls[0].Arguments), &answer); err != nil || answer.Confidence < 0 || answer.Confidence > 1 {
		return nil, 0, fmt.Errorf("it answered %.200q", reply.Calls[0].Arguments)
	}
	return answer.Paths, answer.Confidence, nil
}
