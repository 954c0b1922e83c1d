package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"paragents/core"
	"paragents/core/agent"
	"paragents/core/llm"
	"paragents/core/llm/llmtest"
	"paragents/core/orders"
	"paragents/core/policy"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/tool"
	"paragents/core/tool/file"
	"paragents/store"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "200")
	goleak.VerifyTestMain(m)
}

// bench is a workspace, a model that follows a script, and a replica whose agent works there. It is used in a bubble.
type bench struct {
	*schedtest.Replica
	t     *testing.T
	store store.Store
	mail  *schedtest.Mail
	dir   string
	cfg   agent.Config
	sched scheduler.Config
	news  *news
}

// news is what runs emitted.
type news struct {
	mu     sync.Mutex
	events []core.Event
}

func (n *news) add(l core.Letter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, l.Event)
}

func (n *news) of(kind core.EventType) (out []core.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		if e.Type == kind {
			out = append(out, e)
		}
	}
	return out
}

// on makes a bench. change, if any, changes the agent's configuration before it starts.
func on(t *testing.T, model llm.Model, change ...func(*agent.Config)) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	b := &bench{t: t, store: schedtest.Open(t), mail: &schedtest.Mail{}, dir: dir, news: &news{}}
	b.cfg = agent.Config{Model: model, Tools: file.Tools(), Home: "/nonexistent", Workspaces: []agent.Workspace{{Name: "w", Dir: dir,
		Capabilities: map[string]bool{"filesystem": true, "test": true}}}}
	for _, c := range change {
		c(&b.cfg)
	}
	b.sched = scheduler.Config{Progress: b.news.add}
	b.restart()
	return b
}

// restart starts another replica with the configuration as it is now.
func (b *bench) restart() {
	b.sched.Agent = agent.New(b.cfg)
	b.Replica = schedtest.Start(b.t, b.store, b.mail, b.sched)
	settle(time.Second)
}

// say submits a prompt, in the session if one is named, and lets everything come to rest.
func (b *bench) say(text string, session ...core.SessionID) scheduler.Accepted {
	b.t.Helper()
	p := b.Submit(b.t, core.SessionID(strings.Join(toStrings(session), "")), text)
	settle(2 * time.Second)
	return p
}

func toStrings(ids []core.SessionID) (out []string) {
	for _, id := range ids {
		out = append(out, string(id))
	}
	return out
}

func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// write makes a file of the workspace.
func (b *bench) write(name, content string) {
	b.t.Helper()
	must(b.t, os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o644))
}

// read is a file's content; "" when there is none.
func (b *bench) read(name string) string {
	raw, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Error(err)
	}
	return string(raw)
}

// answer is what a prompt came to: its answer, or what its end says.
func (b *bench) answer(p scheduler.Accepted, want core.PromptState) string {
	b.t.Helper()
	got := b.Read(b.t, p.Prompt.ID)
	if got.State != want {
		b.t.Fatalf("the prompt is %s (%s), want %s", got.State, got.Reason, want)
	}
	if !want.Ended() {
		return got.Question
	}
	ends := b.mail.Of(p.Prompt.ID, core.EventEnd)
	if len(ends) != 1 {
		b.t.Fatalf("%d results", len(ends))
	}
	if a := b.mail.Of(p.Prompt.ID, core.EventAnswer); len(a) == 1 {
		return a[0].Event.Text
	}
	return ends[0].Event.Error
}

// asked are the approvals that a prompt waits for and that nobody has decided.
func (b *bench) asked(p scheduler.Accepted) (out []core.Approval) {
	b.t.Helper()
	got := b.Read(b.t, p.Prompt.ID)
	if got.State != core.Waiting {
		b.t.Fatalf("the prompt is %s (%s), not waiting", got.State, got.Reason)
	}
	for _, id := range got.Pending {
		a, err := b.Approval(context.Background(), id)
		must(b.t, err)
		if a.State == core.Pending {
			out = append(out, a)
		}
	}
	return out
}

// decide answers an approval and lets everything come to rest.
func (b *bench) decide(a core.Approval, to core.ApprovalState) {
	b.t.Helper()
	_, err := b.Decide(context.Background(), a.ID, orders.Decision{State: to, Scope: core.Once, By: schedtest.Author})
	must(b.t, err)
	settle(2 * time.Second)
}

func (b *bench) records(p scheduler.Accepted) []core.Record {
	b.t.Helper()
	out, err := b.Transcript(context.Background(), p.Session.ID)
	must(b.t, err)
	return out
}

// endings are the results of a session, as "call ending", in the order in which they were written.
func (b *bench) endings(p scheduler.Accepted) (out []string) {
	for _, r := range b.records(p) {
		if r.Kind == core.RecordResult {
			out = append(out, string(r.Call)+" "+string(r.Ending))
		}
	}
	return out
}

// results are what the model was told in a request, by call.
func results(r llm.Request) map[string]string {
	out := map[string]string{}
	for _, m := range r.Messages {
		if m.Role == llm.ToolReply {
			out[m.CallID] = llm.Unframe(m.Content)
		}
	}
	return out
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fake is a tool of a test: judged as a command, or freely if it has none.
type fake struct {
	name     string
	readOnly bool
	run      func(ctx context.Context, arguments string) (tool.Result, error)
}

func (f fake) Spec() tool.Spec {
	return tool.Spec{Name: f.name, Description: f.name, Schema: json.RawMessage(`{"type":"object"}`), Capability: "test", ReadOnly: f.readOnly}
}

// Plan understands {"command":"…"}.
func (f fake) Plan(_ context.Context, env *tool.Env, arguments json.RawMessage) (tool.Plan, error) {
	var a struct {
		Command string `json:"command"`
	}
	if err := tool.Args(arguments, &a); err != nil {
		return tool.Plan{}, err
	}
	check := tool.Check{Tool: f.name}
	if a.Command != "" {
		check = tool.Check{Tool: "Bash", Input: a.Command}
	}
	return tool.Plan{Checks: []tool.Check{check}, Show: a.Command, Line: f.name + " " + a.Command, Dir: env.Dir,
		Run: func(ctx context.Context) (tool.Result, error) { return f.run(ctx, string(arguments)) }}, nil
}

// with adds tools that are allowed without a question unless they run a command.
func with(tools ...tool.Tool) func(*agent.Config) {
	return func(c *agent.Config) {
		c.Tools = append(c.Tools, tools...)
		for _, tl := range tools {
			c.Managed.Allow = append(c.Managed.Allow, tl.Spec().Name)
		}
	}
}

func managed(l policy.Layer) func(*agent.Config) { return func(c *agent.Config) { c.Managed = l } }

// call is a call for a script.
func call(id, name string, arguments any) llm.Call {
	return llmtest.NewCall(core.CallID(id), name, arguments)
}

type args map[string]string
