package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/llm/llmtest"
	"paragents/core/orders"
	"paragents/core/policy"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/core/tool"
)

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

// The rules are read again before each call of an answer: what changed while the one before it ran counts.
func TestRulesAreReadAgainBeforeEachCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *bench
		var session core.SessionID
		act := fake{name: "act", run: func(ctx context.Context, _ string) (tool.Result, error) {
			return tool.Result{Output: "did"}, b.SetMode(ctx, session, schedtest.Author, core.ModePlan)
		}}
		b = on(t, llmtest.NewScript(llmtest.Say("ready"), llmtest.Call(call("c1", "list_dir", args{"path": "."}), call("c2", "act", args{}), call("c3", "act", struct{}{})), llmtest.Say("done")), with(act))
		session = b.say("begin").Session.ID
		p := b.say("act twice", session)
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
		model := llmtest.NewScript(llmtest.Say("ready"), write("c1"), llmtest.Say("planned"), write("c2"), llmtest.Say("edited"))
		b := on(t, model)
		p := b.say("begin")
		must(t, b.SetMode(t.Context(), p.Session.ID, p.Prompt.Author, core.ModePlan))
		b.answer(b.say("look", p.Session.ID), core.Done)
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

// A stored rule says when it last let a call through, to the hour; what it does not cover, and what it covered within the hour, is not noted.
func TestLastUseOfAStoredRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := fake{name: "sh", run: func(context.Context, string) (tool.Result, error) { return tool.Result{Output: "ran"}, nil }}
		again := func(id string) llmtest.Turn { return llmtest.Call(call(id, "sh", args{"command": "make all"})) }
		b := on(t, llmtest.NewScript(again("c1"), llmtest.Say("1"), again("c2"), llmtest.Say("2"), again("c3"), llmtest.Say("3")), with(sh))
		p := b.say("run it")
		_, err := b.Decide(t.Context(), b.asked(p)[0].ID, orders.Decision{State: core.Approved, Scope: core.ForSession, By: schedtest.Author})
		must(t, err)
		settle(2 * time.Second)
		used := func() time.Time {
			rules, err := b.StoredRules(t.Context(), state.SessionRules(p.Session.ID))
			must(t, err)
			if len(rules.Allow) != 1 {
				t.Fatalf("stored %+v", rules.Allow)
			}
			return rules.Allow[0].Used
		}
		if at := used(); !at.IsZero() {
			t.Errorf("used at %s, by the call that a person said yes to", at)
		}
		settle(2 * time.Hour)
		b.answer(b.say("again", p.Session.ID), core.Done)
		first := used()
		if since := time.Since(first); since > time.Minute {
			t.Errorf("used %s ago", since)
		}
		settle(30 * time.Minute)
		b.answer(b.say("once more", p.Session.ID), core.Done)
		if at := used(); !at.Equal(first) {
			t.Errorf("noted again at %s", at)
		}
	})
}
