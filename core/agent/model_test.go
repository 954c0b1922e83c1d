package agent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/agent"
	"paragents/core/llm"
	"paragents/core/llm/llmtest"
	"paragents/core/policy"
)

func TestLimitsAsk(t *testing.T) {
	read := func(n int, _ llm.Request) llmtest.Turn {
		turn := llmtest.Call(call(fmt.Sprint("c", n), "list_dir", args{"path": "."}))
		turn.Usage, turn.Delay = core.Usage{In: 90, Out: 10}, time.Minute
		return turn
	}
	for name, limit := range map[string]struct {
		limits agent.Limits
		turns  int
		says   string
	}{
		"turns":  {agent.Limits{Turns: 4}, 4, "asked the model 4 times"},
		"tokens": {agent.Limits{Tokens: 250}, 3, "used 300 tokens"},
		"time":   {agent.Limits{Time: 150 * time.Second}, 3, "more than 2m30s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := llmtest.NewFunc(read)
				b := on(t, model, func(c *agent.Config) { c.Limits = limit.limits })
				p := b.Submit(t, "", "go on and on")
				settle(10 * time.Minute)
				if q := b.answer(p, core.Waiting); !strings.Contains(q, limit.says) || len(model.Requests()) != limit.turns {
					t.Fatalf("question %q after %d turns", q, len(model.Requests()))
				}
				_, err := b.Resume(t.Context(), p.Prompt.ID, p.Prompt.Author)
				must(t, err)
				settle(10 * time.Minute)
				if q := b.answer(p, core.Waiting); q == "" || len(model.Requests()) < 2*limit.turns-1 {
					t.Errorf("after continue: %q after %d turns", q, len(model.Requests()))
				}
			})
		})
	}
}

// B058: an empty answer is asked again once, with a nudge; then people read one sentence about what was done.
func TestB058TheModelSaysNothing(t *testing.T) {
	for name, c := range map[string]struct {
		turns []llmtest.Turn
		want  string
	}{
		"then something":  {[]llmtest.Turn{llmtest.Say(""), llmtest.Say("here")}, "here"},
		"nothing at all":  {[]llmtest.Turn{llmtest.Say(""), llmtest.Say(" \n\t")}, "The model gave no answer."},
		"after a tool":    {[]llmtest.Turn{llmtest.Call(call("c", "list_dir", args{"path": "."})), llmtest.Say(""), llmtest.Say("")}, "The model gave no answer after 1 tool calls; the last was: list_dir (ok)"},
		"only white, yes": {[]llmtest.Turn{llmtest.Say("   "), llmtest.Say("yes")}, "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := llmtest.NewScript(append(c.turns, llmtest.Say("next"))...)
				b := on(t, model)
				p := b.say("say something")
				if got := b.answer(p, core.Done); got != c.want || len(model.Requests()) != len(c.turns) {
					t.Errorf("answer %q after %d requests", got, len(model.Requests()))
				}
				if got := b.answer(b.say("and now?", p.Session.ID), core.Done); got != "next" { // the script checks the conversation
					t.Errorf("the next prompt: %q", got)
				}
			})
		})
	}
}

// B057: calls that cannot be understood run nothing, tell the model what it can use, leave a conversation that providers take, and end after three answers of them.
func TestB057ArgumentsThatAreNoJSON(t *testing.T) {
	for name, c := range map[string]struct {
		call   llm.Call
		finish string
		told   string
	}{
		"cut off":      {llm.Call{ID: "c", Name: "write_file", Arguments: `{"path":"a","content":"xx`}, "length", "cut off"},
		"cut, says no": {llm.Call{ID: "c", Name: "write_file", Arguments: `{"path":"a","content":"xx`}, "tool_calls", "not a JSON object"},
		"no JSON":      {llm.Call{ID: "c", Name: "write_file", Arguments: `{"verb": open}`}, "", "not a JSON object"},
		"array":        {llm.Call{ID: "c", Name: "write_file", Arguments: `["a"]`}, "", "not a JSON object"},
		"empty":        {llm.Call{ID: "c", Name: "write_file"}, "", "not a JSON object"},
		"null":         {llm.Call{ID: "c", Name: "write_file", Arguments: "null"}, "", "not a JSON object"},
		"two":          {llm.Call{ID: "c", Name: "write_file", Arguments: `{"path":"a","content":"x"}{}`}, "", "not a JSON object"},
		"no UTF-8":     {llm.Call{ID: "c", Name: "write_file", Arguments: "{\"path\":\"\xff"}, "", "not a JSON object"},
		"wrong field":  {llm.Call{ID: "c", Name: "write_file", Arguments: `{"file":"a"}`}, "", "do not fit the schema"},
		"unknown tool": {llm.Call{ID: "c", Name: "delete_all", Arguments: `{}`}, "", "there is no tool"},
		"bad name":     {llm.Call{ID: "c", Name: "write file!\xff", Arguments: `{"path":"a","content":"x"}`}, "", "there is no tool"},
		"no name":      {llm.Call{ID: "c", Arguments: `{}`}, "", "there is no tool"},
		"long name":    {llm.Call{ID: "c", Name: strings.Repeat("x", 100), Arguments: `{}`}, "", "there is no tool"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := llmtest.NewFunc(func(int, llm.Request) llmtest.Turn {
					return llmtest.Turn{Calls: []llm.Call{c.call, c.call}, Finish: c.finish}
				})
				b := on(t, model, managed(policy.Layer{Allow: []string{"Write(./**)"}}))
				p := b.say("write")
				if q := b.answer(p, core.Waiting); !strings.Contains(q, "cannot be understood") {
					t.Fatalf("question %q", q)
				}
				requests := model.Requests()
				if len(requests) != 3 {
					t.Errorf("%d requests", len(requests))
				}
				for _, told := range results(requests[2]) {
					if !strings.Contains(told, c.told) {
						t.Errorf("told %q", told)
					}
				}
				for _, e := range b.endings(p) {
					if !strings.HasSuffix(e, " invalid") {
						t.Errorf("result %s", e)
					}
				}
				if b.read("a") != "" {
					t.Error("it was written")
				}
			})
		})
	}
}

// Half a surrogate pair in the arguments runs as the replacement character, and no provider refuses the conversation.
func TestLoneSurrogateInArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewScript(llmtest.Call(llm.Call{ID: "c", Name: "write_file", Arguments: `{"path":"a","content":"x\ud83d y 12345678901234567890"}`}), llmtest.Say("done"))
		b := on(t, model, managed(policy.Layer{Allow: []string{"Write(./**)"}}))
		b.answer(b.say("write"), core.Done)
		if got := b.read("a"); got != "x\uFFFD y 12345678901234567890" {
			t.Errorf("file %q", got)
		}
	})
}

func TestModelErrors(t *testing.T) {
	fault := func(f llm.Fault) llmtest.Turn {
		return llmtest.Turn{Parts: []string{"half an "}, Err: &llm.Error{Fault: f, Text: "the provider says " + string(f)}}
	}
	for name, c := range map[string]struct {
		turn llmtest.Turn
		want core.PromptState
		says string
	}{
		"away":    {fault(llm.FaultAway), core.Failed, "the provider says away — retry"},
		"request": {fault(llm.FaultRequest), core.Failed, "the provider says request — retry"},
		"context": {fault(llm.FaultContext), core.Failed, "nothing more can be left out"},
		"account": {fault(llm.FaultAccount), core.Waiting, "the provider says account"},
		"unknown": {llmtest.Turn{Err: errors.New("some fault")}, core.Failed, "some fault"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := on(t, llmtest.NewScript(c.turn, llmtest.Say("works again")))
				p := b.say("text")
				if got := b.answer(p, c.want); !strings.Contains(got, c.says) {
					t.Errorf("it says %q", got)
				}
				if c.want != core.Waiting {
					return
				}
				same(t, "choices", b.mail.Of(p.Prompt.ID, core.EventQuestion)[0].Event.Choices, []string{core.ChoiceTryAgain, core.ChoiceStop})
				_, err := b.Resume(t.Context(), p.Prompt.ID, p.Prompt.Author)
				must(t, err)
				settle(2 * time.Second)
				if got := b.answer(p, core.Done); got != "works again" {
					t.Errorf("after try again: %q", got)
				}
			})
		})
	}
}

// A paused model call is dropped and asked again; nothing of it is in the transcript.
func TestPauseDuringAModelCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewScript(llmtest.Turn{Text: "dropped", Block: true}, llmtest.Say("whole"))
		b := on(t, model)
		p := b.say("text")
		_, err := b.Pause(t.Context(), p.Prompt.ID, p.Prompt.Author)
		must(t, err)
		settle(time.Second)
		b.answer(p, core.Paused)
		_, err = b.Resume(t.Context(), p.Prompt.ID, p.Prompt.Author)
		must(t, err)
		settle(time.Second)
		if got := b.answer(p, core.Done); got != "whole" || len(b.records(p)) != 2 {
			t.Errorf("answer %q, records %+v", got, b.records(p))
		}
	})
}
