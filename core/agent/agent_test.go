package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/agent"
	"paragents/core/llm"
	"paragents/core/llm/llmtest"
	"paragents/core/policy"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/tool"
)

func TestATurnReadsAndAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewScript(
			llmtest.Turn{Calls: []llm.Call{call("c1", "read_file", args{"path": "a.txt"})}, Usage: core.Usage{In: 10, Out: 2}},
			llmtest.Turn{Text: "it says hello", Parts: []string{"it says ", "hello"}, Usage: core.Usage{In: 20, Out: 3}})
		b := on(t, model)
		b.write("a.txt", "hello from the file")
		p := b.say("what is in a.txt?")
		if got := b.answer(p, core.Done); got != "it says hello" {
			t.Errorf("answer %q", got)
		}
		requests := model.Requests()
		if len(requests) != 2 || !strings.Contains(results(requests[1])["c1"], "hello from the file") {
			t.Errorf("the model was told %v", results(requests[len(requests)-1]))
		}
		system := requests[0].Messages[0]
		if system.Role != llm.System || !strings.Contains(system.Content, b.dir) || !strings.Contains(system.Content, string(p.Session.Ref)) {
			t.Errorf("system prompt %q", system.Content)
		}
		end := b.mail.Of(p.Prompt.ID, core.EventEnd)[0].Event
		if end.Tokens != 35 || end.Turns != 2 || len(end.Files) != 0 {
			t.Errorf("result %+v", end)
		}
		if calls, text := b.news.of(core.EventCall), b.news.of(core.EventText); len(calls) != 1 || len(text) == 0 {
			t.Errorf("progress: calls %+v, text %+v", calls, text)
		}
	})
}

// Reads of one answer run at the same time, at most eight; their results stand in the order of the calls, and what writes waits for them.
func TestReadsRunInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most, reads := 0, 0, 0
		look := fake{name: "look", readOnly: true, run: func(ctx context.Context, _ string) (tool.Result, error) {
			mu.Lock()
			now++
			reads++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return tool.Result{Output: "seen"}, nil
		}}
		act := fake{name: "act", run: func(context.Context, string) (tool.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			return tool.Result{Output: fmt.Sprintf("%d reads before, %d still at it", reads, now)}, nil
		}}
		var calls []llm.Call
		var want []string
		for i := range 11 {
			calls = append(calls, call(fmt.Sprint("r", i), "look", args{}))
			want = append(want, fmt.Sprint("r", i, " ok"))
		}
		calls, want = append(calls, call("w", "act", args{}), call("r11", "look", args{})), append(want, "w ok", "r11 ok")
		model := llmtest.NewScript(llmtest.Call(calls...), llmtest.Say("done"))
		b := on(t, model, with(look, act))
		began := time.Now()
		p := b.Submit(t, "", "look around")
		for b.Read(t, p.Prompt.ID).State != core.Done {
			settle(100 * time.Millisecond)
		}
		if took := time.Since(began); took > 3500*time.Millisecond { // eight, three, one
			t.Errorf("it took %s", took)
		}
		same(t, "results", b.endings(p), want)
		if got := results(model.Requests()[1])["w"]; got != "11 reads before, 0 still at it" || most != 8 {
			t.Errorf("the writer saw %q; at most %d at the same time", got, most)
		}
	})
}

// What was shown is what runs: a new file is asked about, written when a person says yes, and its approval is used up.
func TestApprovedCallRunsAsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := on(t, llmtest.NewScript(llmtest.Call(call("c1", "write_file", args{"path": "new.txt", "content": "content\n"})), llmtest.Say("written")))
		p := b.say("write it")
		list := b.asked(p)
		if len(list) != 1 || !strings.Contains(list[0].Action.Show, "content") || !slices.Equal(list[0].Writes, []string{"new.txt"}) {
			t.Fatalf("asked %+v", list)
		}
		if b.read("new.txt") != "" {
			t.Fatal("it was written before anybody said yes")
		}
		b.decide(list[0], core.Approved)
		if got := b.answer(p, core.Done); got != "written" || b.read("new.txt") != "content\n" {
			t.Errorf("answer %q, file %q", got, b.read("new.txt"))
		}
		a, err := b.Approval(t.Context(), list[0].ID)
		must(t, err)
		if a.Used.IsZero() {
			t.Error("the approval is not used up")
		}
		same(t, "files", b.mail.Of(p.Prompt.ID, core.EventEnd)[0].Event.Files, []string{"new.txt"})
	})
}

// A script that changed between the question and the answer is asked about again; only what was shown last runs.
func TestB038ChangedScriptIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		sh := fake{name: "sh", run: func(context.Context, string) (tool.Result, error) { ran++; return tool.Result{Output: "ran"}, nil }}
		b := on(t, llmtest.NewScript(llmtest.Call(call("c1", "sh", args{"command": "bash x.sh"})), llmtest.Say("done")), with(sh))
		b.write("x.sh", "echo harmless")
		p := b.say("run it")
		first := b.asked(p)[0]
		if len(first.Action.Scripts) != 1 {
			t.Fatalf("bound to %v", first.Action.Scripts)
		}
		b.write("x.sh", "rm -rf /")
		b.decide(first, core.Approved)
		second := b.asked(p)[0]
		if ran != 0 || second.Digest == first.Digest {
			t.Fatalf("ran %d times; asked with digest %s after %s", ran, second.Digest, first.Digest)
		}
		b.decide(second, core.Approved)
		b.answer(p, core.Done)
		if ran != 1 {
			t.Errorf("ran %d times", ran)
		}
	})
}

// What cannot be bound to a digest is not asked about.
func TestScriptThatCannotBeBoundIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := fake{name: "sh", run: func(context.Context, string) (tool.Result, error) { t.Error("it ran"); return tool.Result{}, nil }}
		model := llmtest.NewScript(llmtest.Call(call("c1", "sh", args{"command": "bash /dev/zero"})), llmtest.Say("done"))
		b := on(t, model, with(sh))
		p := b.say("run it")
		b.answer(p, core.Done)
		same(t, "results", b.endings(p), []string{"c1 refused"})
	})
}

// A file that changed between the question and the answer is not overwritten.
func TestChangedFileIsNotOverwritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewScript(llmtest.Call(call("c1", "read_file", args{"path": "a.txt"})),
			llmtest.Call(call("c2", "write_file", args{"path": "a.txt", "content": "mine\n"})), llmtest.Say("told"))
		b := on(t, model)
		b.write("a.txt", "old\n")
		p := b.say("change it")
		list := b.asked(p)
		b.write("a.txt", "theirs\n")
		b.decide(list[0], core.Approved)
		b.answer(p, core.Done)
		if b.read("a.txt") != "theirs\n" || !strings.Contains(results(model.Requests()[2])["c2"], "changed since you read it") {
			t.Errorf("file %q, told %q", b.read("a.txt"), results(model.Requests()[2])["c2"])
		}
	})
}

// B054: one session's write from an old reading does not take away another's line.
func TestB054WriteFromAnOldReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewFunc(func(_ int, r llm.Request) llmtest.Turn {
			said := results(r)
			last := r.Messages[len(r.Messages)-1]
			switch {
			case last.Role == llm.User && last.Content == "read":
				return llmtest.Call(call("r", "read_file", args{"path": "cfg.yaml"}))
			case last.Role == llm.User:
				return llmtest.Call(call("w", "write_file", args{"path": "cfg.yaml", "content": last.Content + "\n"}))
			}
			return llmtest.Say(said["w"] + "!")
		})
		b := on(t, model, managed(policy.Layer{Allow: []string{"Write(./**)"}}))
		b.write("cfg.yaml", "a: 1\n")
		one, two := b.say("read"), b.say("read")
		b.answer(b.say("a: 1\nb: 2", two.Session.ID), core.Done)
		got := b.answer(b.say("a: 9", one.Session.ID), core.Done)
		if !strings.Contains(got, "changed since you read it, read again") || b.read("cfg.yaml") != "a: 1\nb: 2\n" {
			t.Errorf("told %q, file %q", got, b.read("cfg.yaml"))
		}
	})
}

// Denied once, the model may try another way, but the same is not asked again; the second no stops it with a question.
func TestDeniedTwiceAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		write := func(id, path string) llmtest.Turn {
			return llmtest.Call(call(id, "write_file", args{"path": path, "content": "x"}))
		}
		model := llmtest.NewScript(write("c1", "a"), write("c2", "b"), write("c3", "a"), llmtest.Say("gave up"))
		b := on(t, model)
		p := b.say("write")
		b.decide(b.asked(p)[0], core.Denied)
		b.decide(b.asked(p)[0], core.Denied)
		if q := b.answer(p, core.Waiting); !strings.Contains(q, "no twice") || len(model.Requests()) != 2 {
			t.Fatalf("question %q after %d requests", q, len(model.Requests()))
		}
		if told := results(model.Requests()[1])["c1"]; !strings.Contains(told, "denied by a person") {
			t.Errorf("told %q", told)
		}
		_, err := b.Resume(t.Context(), p.Prompt.ID, p.Prompt.Author)
		must(t, err)
		settle(2 * time.Second)
		b.answer(p, core.Done) // c3 is the same as c1: answered, not asked
		same(t, "results", b.endings(p), []string{"c1 denied", "c2 denied", "c3 denied"})
		if b.read("a")+b.read("b") != "" {
			t.Error("something was written")
		}
	})
}

// A deny rule that was added while the approval waited wins over the person's yes.
func TestDenyAddedMeanwhileWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := on(t, llmtest.NewScript(llmtest.Call(call("c1", "write_file", args{"path": "a", "content": "x"})), llmtest.Say("refused")))
		p := b.say("write")
		a := b.asked(p)[0]
		must(t, b.Stop())
		b.cfg.Managed = policy.Layer{Deny: []string{"Write(a)"}}
		b.restart()
		b.decide(a, core.Approved)
		b.answer(p, core.Done)
		same(t, "results", b.endings(p), []string{"c1 refused"})
		if b.read("a") != "" {
			t.Error("it was written")
		}
	})
}

// Several questions of one answer are one card; each answer counts for its own call, and what was decided is not asked again.
func TestQuestionsOfOneAnswerAreOneCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := on(t, llmtest.NewScript(llmtest.Call(call("c1", "write_file", args{"path": "a", "content": "x"}), call("c2", "list_dir", args{"path": "."}),
			call("c3", "write_file", args{"path": "b", "content": "y"})), llmtest.Say("done")))
		p := b.say("write both")
		list := b.asked(p)
		if len(list) != 2 || list[0].Of != 2 || list[1].Number != 2 || len(b.mail.Of(p.Prompt.ID, core.EventApproval)) != 1 {
			t.Fatalf("asked %+v", list)
		}
		b.decide(list[1], core.Denied)
		b.decide(list[0], core.Approved)
		b.answer(p, core.Done)
		same(t, "results", b.endings(p), []string{"c1 ok", "c2 ok", "c3 denied"})
		if b.read("a") != "x" || b.read("b") != "" {
			t.Errorf("a is %q, b is %q", b.read("a"), b.read("b"))
		}
	})
}

// A call that was begun when its replica died is never begun again: its outcome is unknown, and model and person hear so once.
func TestB056IntentWithoutResultIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		ran := map[string]int{}
		dying := true
		act := fake{name: "act", run: func(ctx context.Context, arguments string) (tool.Result, error) {
			mu.Lock()
			ran[arguments]++
			die := dying && ran[`{"command":""}`] > 0
			mu.Unlock()
			if die {
				<-ctx.Done()
			}
			return tool.Result{Output: "did"}, ctx.Err()
		}}
		model := llmtest.NewScript(llmtest.Call(call("c1", "act", args{"command": ""}), call("c2", "act", struct{}{}), call("c3", "list_dir", args{"path": "."})),
			llmtest.Say("looked"), llmtest.Say("went on"))
		b := on(t, model, with(act))
		p := b.say("act")
		dead := b.Replica
		dead.Store.Set(schedtest.Dead)
		mu.Lock()
		dying = false
		mu.Unlock()
		b.restart()
		settle(time.Minute)
		if got := b.answer(p, core.Done); got != "looked" {
			t.Errorf("answer %q", got)
		}
		same(t, "results", b.endings(p), []string{"c1 unknown", "c2 ok", "c3 ok"})
		if told := results(model.Requests()[1])["c1"]; !strings.Contains(told, "outcome unknown") {
			t.Errorf("the model was told %q", told)
		}
		if n := len(b.mail.Of(p.Prompt.ID, core.EventUncertain)); n != 1 {
			t.Errorf("people were told %d times", n)
		}
		next := b.say("go on", p.Session.ID)
		b.answer(next, core.Done)
		mu.Lock()
		defer mu.Unlock()
		if ran[`{"command":""}`] != 1 || ran[`{}`] != 1 || len(b.mail.Of(next.Prompt.ID, core.EventUncertain)) != 0 {
			t.Errorf("ran %v", ran)
		}
	})
}

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

// A stop ends the tool that runs, and what it had done is written down.
func TestStopDuringATool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := fake{name: "slow", run: func(ctx context.Context, _ string) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{Output: "half done", Changed: []string{"half.txt"}}, ctx.Err()
		}}
		model := llmtest.NewScript(llmtest.Call(call("c1", "slow", args{}), call("c2", "slow", args{})), llmtest.Say("next"))
		b := on(t, model, with(slow))
		p := b.say("text")
		_, _, err := b.Scheduler.Stop(t.Context(), p.Session.ID, p.Prompt.Author)
		must(t, err)
		settle(time.Second)
		b.answer(p, core.Cancelled)
		same(t, "results", b.endings(p), []string{"c1 interrupted"})
		same(t, "files", b.mail.Of(p.Prompt.ID, core.EventEnd)[0].Event.Files, []string{"half.txt"})
		next := b.say("and now?", p.Session.ID)
		b.answer(next, core.Done)
		told := results(model.Requests()[1])
		if !strings.Contains(told["c1"], "half done") || !strings.Contains(told["c2"], "did not run") {
			t.Errorf("told %q", told)
		}
	})
}

// A message given meanwhile is read at the next turn, behind the results.
func TestSteering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := fake{name: "slow", run: func(context.Context, string) (tool.Result, error) {
			time.Sleep(10 * time.Second)
			return tool.Result{Output: "done"}, nil
		}}
		model := llmtest.NewScript(llmtest.Call(call("c1", "slow", args{})), llmtest.Say("heard"))
		b := on(t, model, with(slow))
		p := b.say("text")
		_, err := b.Steer(t.Context(), p.Prompt.ID, p.Prompt.Author, "and quickly")
		must(t, err)
		settle(20 * time.Second)
		b.answer(p, core.Done)
		last := model.Requests()[1].Messages
		if got := last[len(last)-1]; got.Role != llm.User || got.Content != "and quickly" {
			t.Errorf("the last message is %+v", got)
		}
	})
}

// The rules are read again before each call of an answer: what changed while the one before it ran counts.
func TestRulesAreReadAgainBeforeEachCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *bench
		var session core.SessionID
		act := fake{name: "act", run: func(ctx context.Context, _ string) (tool.Result, error) {
			return tool.Result{Output: "did"}, b.SetMode(ctx, session, schedtest.Author, core.ModePlan)
		}}
		b = on(t, llmtest.NewScript(llmtest.Call(call("c1", "list_dir", args{"path": "."}), call("c2", "act", args{}), call("c3", "act", struct{}{})), llmtest.Say("done")), with(act))
		p := b.Submit(t, "", "act twice")
		session = p.Session.ID
		settle(2 * time.Second)
		b.answer(p, core.Done)
		if got := b.endings(p); len(got) != 3 || got[1] != "c2 ok" || got[2] == "c3 ok" {
			t.Errorf("results %q", got)
		}
	})
}

func unattended(text string) []scheduler.Submission {
	return []scheduler.Submission{{New: &scheduler.NewSession{Workspace: "w"}, Author: schedtest.Author, Place: schedtest.Place, Text: text, Unattended: true}}
}

// Where nobody can be asked, what would be asked is refused, and the model hears why.
func TestUnattendedRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewScript(llmtest.Call(call("c1", "write_file", args{"path": "a", "content": "x"})), llmtest.Say("could not"))
		b := on(t, model)
		out, err := b.Accept(t.Context(), unattended("write"), nil)
		must(t, err)
		settle(2 * time.Second)
		b.answer(out[0], core.Done)
		same(t, "results", b.endings(out[0]), []string{"c1 refused"})
		if told := results(model.Requests()[1])["c1"]; !strings.Contains(told, "nobody can be asked") {
			t.Errorf("told %q", told)
		}
		if e := b.news.of(core.EventApproval); len(e) != 1 || e[0].State != "refused" {
			t.Errorf("events %+v", e)
		}
	})
}

// In plan mode nothing but reading is offered or run, whatever the rules allow, and a change of mode counts at the next call.
func TestModes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		write := func(id string) llmtest.Turn {
			return llmtest.Call(call(id, "write_file", args{"path": id, "content": "x"}))
		}
		model := llmtest.NewScript(write("c1"), llmtest.Say("planned"), write("c2"), llmtest.Say("edited"))
		b := on(t, model)
		p := b.Submit(t, "", "look")
		must(t, b.SetMode(t.Context(), p.Session.ID, p.Prompt.Author, core.ModePlan))
		settle(2 * time.Second)
		b.answer(p, core.Done)
		if b.read("c1") != "" || slices.Contains(b.endings(p), "c1 ok") {
			t.Errorf("results %v", b.endings(p))
		}
		must(t, b.SetMode(t.Context(), p.Session.ID, p.Prompt.Author, core.ModeEdits))
		b.answer(b.say("do it", p.Session.ID), core.Done)
		if b.read("c2") != "x" {
			t.Errorf("in mode edits: %v", b.endings(p))
		}
	})
}

// A yes that could not be used for more than an hour, because everything was frozen, counts only if what it named is as it was.
func TestOldApprovalIsAskedAgain(t *testing.T) {
	for name, change := range map[string]bool{"changed": true, "the same": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				sh := fake{name: "sh", run: func(context.Context, string) (tool.Result, error) { ran++; return tool.Result{Output: "ran"}, nil }}
				b := on(t, llmtest.NewScript(llmtest.Call(call("c1", "sh", args{"command": "sort -o data.txt data.txt"})), llmtest.Say("done")), with(sh))
				b.write("data.txt", "old")
				p := b.say("sort it")
				first := b.asked(p)[0]
				must(t, b.Freeze(t.Context(), "all", schedtest.Author, "a look"))
				settle(2 * time.Second)
				b.decide(first, core.Approved)
				settle(62 * time.Minute)
				if change {
					b.write("data.txt", "new")
				}
				must(t, b.Thaw(t.Context(), "all", schedtest.Author))
				settle(5 * time.Second)
				if change {
					second := b.asked(p)[0]
					if ran != 0 || second.ID == first.ID {
						t.Fatalf("ran %d times on an old yes", ran)
					}
					b.decide(second, core.Approved)
				}
				b.answer(p, core.Done)
				if ran != 1 {
					t.Errorf("ran %d times", ran)
				}
			})
		})
	}
}
