package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	"paragents/core/state"
	"paragents/core/tool"
)

// editor is a model that adds the line which it is asked for to shared.txt: it reads, edits, and does both again when somebody was faster.
type editor struct{}

func (editor) Complete(_ context.Context, r llm.Request, _ llm.Progress) (llm.Reply, error) {
	at := 0
	for i, m := range r.Messages {
		if m.Role == llm.User {
			at = i
		}
	}
	line, since := r.Messages[at].Content, r.Messages[at+1:]
	if len(since) == 0 {
		return llm.Reply{Calls: []llm.Call{call("r", "read_file", args{"path": "shared.txt"})}}, nil
	}
	switch last := since[len(since)-1].Content; {
	case strings.Contains(last, "wrote shared.txt"):
		return llm.Reply{Text: "added"}, nil
	case strings.Contains(last, "END"): // it was read
		return llm.Reply{Calls: []llm.Call{call("e", "edit_file", args{"path": "shared.txt", "old": "END", "new": line + "\nEND"})}}, nil
	}
	return llm.Reply{Calls: []llm.Call{call("r", "read_file", args{"path": "shared.txt"})}}, nil
}

func allowing(rules ...string) func(*agent.Config) {
	return func(c *agent.Config) {
		c.Workspaces[0].Rules = policy.Layer{Allow: rules}
	}
}

// Five sessions on two replicas add a hundred lines to one file: none is lost, and every collision was told.
func TestFiveSessionsLoseNoLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := on(t, editor{}, allowing("Write(./**)"))
		must(t, b.Stop())
		b.sched.Conflicts = func(string) core.ConflictMode { return core.WaitConflicts }
		b.restart()
		b.sched.Agent = agent.New(b.cfg)
		schedtest.Start(t, b.store, b.mail, b.sched)
		settle(time.Second)
		b.write("shared.txt", "END\n")
		var all []scheduler.Accepted
		var sessions [5]core.SessionID
		for i := range 100 {
			p := b.Submit(t, sessions[i%5], fmt.Sprintf("line %02d", i))
			sessions[i%5] = p.Session.ID
			all = append(all, p)
			if i%50 == 49 { // at most twenty wait in a session
				settle(5 * time.Minute)
			}
		}
		blocked, told := 0, 0
		for _, p := range all {
			if got := b.answer(p, core.Done); got != "added" {
				t.Errorf("%s: %q", p.Prompt.Text, got)
			}
			for _, l := range b.mail.Of(p.Prompt.ID, core.EventConflict) {
				if l.Event.State == string(core.ConflictWaits) {
					told++
				}
			}
		}
		entries, err := b.store.Read(t.Context(), state.Audit, 0, 1000)
		must(t, err)
		for from := int64(0); len(entries) > 0; {
			for _, e := range entries {
				if strings.Contains(string(e.Value), `"blocked"`) {
					blocked++
				}
				from = e.Position + 1
			}
			entries, err = b.store.Read(t.Context(), state.Audit, from, 1000)
			must(t, err)
		}
		lines := strings.Split(strings.TrimSuffix(b.read("shared.txt"), "\nEND\n"), "\n")
		slices.Sort(lines)
		lines = slices.Compact(lines)
		t.Logf("100 edits: %d lines, %d collisions, %d told", len(lines), blocked, told)
		if len(lines) != 100 || blocked == 0 || told < blocked {
			t.Errorf("%d lines of 100, %d collisions of which %d were told", len(lines), blocked, told)
		}
	})
}

// What the program that this one replaces kept apart: one session holds a path, and the other's command would write it.
func TestB055CommandsCollideBeforeTheyRun(t *testing.T) {
	for _, tt := range []struct{ holds, command, path string }{
		{"out.txt", "echo x > out.txt", "out.txt"},
		{"logs/run.log", "echo x | tee -a logs/run.log", "logs/run.log"},
		{"dst/src/a.txt", "cp -r src dst", "dst/src"}, // dst exists
		{"dst", "cp -r src dst", "dst"},
		{"new.txt", "mv -f old.txt new.txt", "new.txt"},
		{"tmp/cache/x", "mkdir -p tmp/cache", "tmp/cache"},
		{"src/main.go", "git checkout other", "."},
		{"", "echo x > out.txt", ""},
		{"other.txt", "python3 a.py", ""}, // that both run Python is no conflict
	} {
		for _, foreseen := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s foreseen %v", tt.command, foreseen), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					run := llmtest.Call(call("c2", "run", args{"command": tt.command}))
					turns := []llmtest.Turn{run, llmtest.Say("ran")}
					if tt.holds != "" {
						turns = append([]llmtest.Turn{llmtest.Call(call("c1", "write_file", args{"path": tt.holds, "content": "x"}), call("c3", "stay", args{}))}, turns...)
					}
					stay := fake{name: "stay", run: func(ctx context.Context, _ string) (tool.Result, error) {
						<-ctx.Done()
						return tool.Result{}, ctx.Err()
					}}
					b := on(t, llmtest.NewScript(turns...), allowing("Write(./**)"), with(stay, fake{name: "run", run: func(context.Context, string) (tool.Result, error) { return tool.Result{Output: "ran"}, nil }}))
					b.write("old.txt", "old")
					text := "do it"
					if foreseen {
						must(t, b.Stop())
						b.sched.Foresee = agent.New(b.cfg).Foresee
						b.restart()
						text = tt.command
					}
					if tt.holds != "" {
						b.say("begin")
					}
					p := b.say(text)
					got := b.Read(t, p.Prompt.ID)
					if got.State == core.Waiting { // the rules ask first; the claim comes when it would start
						b.decide(b.asked(p)[0], core.Approved)
						got = b.Read(t, p.Prompt.ID)
					}
					if tt.path == "" {
						b.answer(p, core.Done)
						return
					}
					if got.State != core.Blocked || !slices.Contains(got.Conflict.Paths, tt.path) {
						t.Fatalf("it is %s: %+v", got.State, got.Conflict)
					}
					for _, r := range b.records(p) {
						if r.Kind == core.RecordIntent {
							t.Error("the command was begun")
						}
					}
				})
			})
		}
	}
}

// What a command wrote without saying so is told to both sides; what its owner wrote meanwhile is not.
func TestWritesOfOpaqueCommandsAreTold(t *testing.T) {
	for _, wrote := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var b *bench
			stay := fake{name: "stay", run: func(ctx context.Context, _ string) (tool.Result, error) {
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Minute):
				}
				return tool.Result{Output: "stayed"}, nil
			}}
			run := fake{name: "run", run: func(context.Context, string) (tool.Result, error) {
				if wrote {
					b.write("out.txt", "y")
				}
				return tool.Result{Changed: []string{"out.txt"}}, nil
			}}
			b = on(t, llmtest.NewScript(llmtest.Call(call("c1", "write_file", args{"path": "out.txt", "content": "x"}), call("c2", "stay", args{})),
				llmtest.Call(call("c3", "run", args{"command": "./build"})), llmtest.Say("built"), llmtest.Say("done")), allowing("Write(./**)", "Bash(./build)"), with(stay, run))
			owner := b.say("begin")
			other := b.say("build it")
			if got := b.Read(t, other.Prompt.ID); got.State == core.Waiting {
				b.decide(b.asked(other)[0], core.Approved)
			}
			b.answer(other, core.Done)
			settle(20 * time.Minute)
			b.answer(owner, core.Done)
			want := 0
			if wrote {
				want = 1
			}
			for _, p := range []scheduler.Accepted{owner, other} {
				found := b.mail.Of(p.Prompt.ID, core.EventConflict)
				if len(found) != want || want == 1 && (found[0].Event.State != string(core.ConflictFound) || !slices.Equal(found[0].Event.Paths, []string{"out.txt"})) {
					t.Errorf("wrote %v: %q was told %+v", wrote, p.Prompt.Text, found)
				}
			}
		})
	}
}
