package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/agent"
	"paragents/core/llm"
	"paragents/core/llm/llmtest"
	"paragents/core/tool"
)

// What the forecasting model is sure of is reserved before the prompt's first turn, and what another session holds blocks it there; it is asked once a prompt.
func TestForecast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forecast := llmtest.NewFunc(func(_ int, r llm.Request) llmtest.Turn {
			if len(r.Tools) != 1 || !strings.Contains(r.Messages[len(r.Messages)-1].Content, "tidy") {
				t.Errorf("the forecasting model was asked %+v", r)
			}
			return llmtest.Turn{Calls: []llm.Call{call("f", "will_write", map[string]any{"paths": []string{"docs/", "../out", "./a.txt"}, "confidence": 0.85})}, Usage: core.Usage{In: 5, Out: 1}}
		})
		stay := fake{name: "stay", run: func(ctx context.Context, _ string) (tool.Result, error) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
			return tool.Result{Output: "stayed"}, nil
		}}
		model := llmtest.NewScript(llmtest.Call(call("c", "stay", args{})), llmtest.Say("tidied"), llmtest.Say("tidied, too"))
		b := on(t, model, with(stay), func(c *agent.Config) { c.Forecast = forecast })
		first := b.say("tidy up")
		g := b.Read(t, first.Prompt.ID).Guess
		if g == nil || !g.Asked || strings.Join(g.Claims, " ") != "a.txt docs/**" || !strings.Contains(strings.Join(g.Notes, " "), "../out") {
			t.Fatalf("the guess is %+v", g)
		}
		second := b.say("tidy up as well")
		got := b.Read(t, second.Prompt.ID)
		if got.State != core.Blocked || strings.Join(got.Conflict.Paths, " ") != "a.txt docs/**" || len(model.Requests()) != 1 {
			t.Fatalf("the second is %s, %+v, after %d turns", got.State, got.Conflict, len(model.Requests()))
		}
		settle(2 * time.Minute)
		b.answer(first, core.Done)
		if _, err := b.Wait(t.Context(), second.Prompt.ID, "test:1"); err != nil {
			t.Fatal(err)
		}
		settle(time.Minute)
		b.answer(second, core.Done)
		if n := len(forecast.Requests()); n != 2 {
			t.Errorf("the forecasting model was asked %d times for two prompts", n)
		}
		if end := b.mail.Of(second.Prompt.ID, core.EventEnd)[0].Event; end.Tokens == 0 {
			t.Error("what the forecast cost is not counted")
		}
	})
}

// A forecast that is none, or that is not sure, holds nothing up and reserves nothing.
func TestForecastThatIsNone(t *testing.T) {
	for name, turn := range map[string]llmtest.Turn{
		"prose":    llmtest.Say("I would write a.txt"),
		"broken":   {Err: errors.New("away")},
		"nonsense": llmtest.Call(llm.Call{ID: "f", Name: "will_write", Arguments: `{"paths":"a.txt"}`}),
		"too sure": llmtest.Call(call("f", "will_write", map[string]any{"paths": []string{"a.txt"}, "confidence": 7})),
		"unsure":   llmtest.Call(call("f", "will_write", map[string]any{"paths": []string{"a.txt"}, "confidence": 0.5})),
		"slow":     {Delay: time.Hour, Text: "late"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := on(t, llmtest.NewScript(llmtest.Say("done")), func(c *agent.Config) { c.Forecast = llmtest.NewScript(turn) })
				p := b.say("tidy up")
				settle(20 * time.Second)
				b.answer(p, core.Done)
				g := b.Read(t, p.Prompt.ID).Guess
				if g == nil || !g.Asked || len(g.Claims) > 0 || (name == "unsure") != (len(g.Notes) == 0) {
					t.Errorf("the guess is %+v", g)
				}
			})
		})
	}
}
