package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/llm"
	"paragents/core/llm/llmtest"
	"paragents/core/policy"
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
