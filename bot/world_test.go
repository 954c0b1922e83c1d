package bot_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"paragents/bot"
	"paragents/bot/attend"
	"paragents/bot/setting"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/agent"
	"paragents/core/llm"
	"paragents/core/llm/demo"
	"paragents/core/sandbox"
	"paragents/core/scheduler"
	"paragents/core/state"
	"paragents/core/tool/command"
	"paragents/core/tool/file"
	"paragents/core/worktree"
	"paragents/store"
)

// world is everything around the bot: a chat, a store, a workspace, a model, and the processes that come and go.
type world struct {
	t     testing.TB
	clock clock
	chat  *chat
	store store.Store
	dir   string
	model *model

	grants  access.Grants
	own     bool // operators approve what they asked for
	replies string
	notify  string
	busy    string // what a message to a session at work does
	turns   int
	context int
	queue   int
	expire  time.Duration

	replica *replica
}

// clock is how a journey waits: time that costs nothing, or the real one.
type clock interface {
	// settle waits until nothing goes on any more, and at least that many lines were heard if time is real.
	settle(w *world, lines int)
	// wait lets time pass: on a real clock, until that many lines were heard.
	wait(w *world, d time.Duration, lines int)
	lease() time.Duration
}

func newWorld(t testing.TB, c clock, st store.Store) *world {
	return &world{t: t, clock: c, chat: newChat(), store: st, dir: t.TempDir(), model: &model{}, grants: access.Grants{Everywhere: access.Roles{}}, own: true}
}

// replica is one process.
type replica struct {
	scheduler *scheduler.Scheduler
	desk      *bot.Desk
	attendant *attend.Attendant
	cut       chan struct{}
	stop      context.CancelFunc
	ended     chan error
}

// start starts a process, wired as the program is.
func (w *world) start() *replica {
	w.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	r := &replica{cut: make(chan struct{}), ended: make(chan error, 1)}
	st, conn := mortal{w.store, r.cut}, connection{w.chat, r.cut}
	log := slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	children := sandbox.New(sandbox.Config{Exe: exe, Lease: w.clock.lease()})
	git := worktree.New(direct{})
	ag := agent.New(agent.Config{Git: git, Model: w.model, Tools: append(file.Tools(), command.Tools()...), Sandbox: children, Home: w.dir, Context: w.context,
		Workspaces: []agent.Workspace{{Name: "default", Dir: w.dir, Capabilities: map[string]bool{"filesystem": true, "shell": true}}}, Limits: agent.Limits{Turns: w.turns}})
	var adapter core.Adapter = conn
	if w.chat.forms {
		adapter = forms{conn}
	}
	screen, desk := bot.New(setting.Config{Git: git, Store: st, Adapters: []core.Adapter{adapter}, Access: access.Access{Configured: w.grants, ApproveOwn: w.own}, Demo: true, Logger: log,
		Workspaces: []setting.Workspace{{Name: "default", Dir: w.dir, Capabilities: []string{"filesystem", "shell"}, Busy: w.busy}}, At: func(core.Place) (string, string) { return "", w.replies }, Notify: w.notify})
	r.desk = desk
	r.scheduler = scheduler.New(scheduler.Config{Store: st, Agent: ag, Courier: screen.Courier(), Progress: screen.Progress, Lease: w.clock.lease(), Grace: 10 * time.Millisecond,
		MaxQueue: w.queue, Expire: w.expire, Copies: screen.Copies, Foresee: ag.Foresee, Beat: children.Beat, Lost: children.KillAll, Host: "host", Version: "test", Logger: log})
	desk.Serve(r.scheduler)
	r.attendant = attend.New(attend.Config{Store: st, Scheduler: r.scheduler, Accept: desk.Accept, Logger: log})
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	var g errgroup.Group
	g.Go(func() error { return screen.Run(ctx) })
	g.Go(func() error { return desk.Run(ctx) })
	g.Go(func() error { return r.scheduler.Run(ctx) })
	g.Go(func() error {
		return conn.Receive(ctx, nil, func(ctx context.Context, events []core.Inbound, cursor []byte) error {
			return desk.Accept(ctx, adapter, events, cursor)
		})
	})
	go func() {
		err := g.Wait()
		children.KillAll()
		r.ended <- err
	}()
	return r
}

// crash ends the process without letting it write or say anything more.
func (r *replica) crash(t testing.TB) {
	t.Helper()
	close(r.cut)
	r.end(t)
}

// end ends the process in order.
func (r *replica) end(t testing.TB) {
	t.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

// mortal is the store as one process sees it: when that is dead, what it asked for may have happened, and it never learns.
type mortal struct {
	store.Store
	cut <-chan struct{}
}

func (m mortal) alive() error {
	select {
	case <-m.cut:
		return errCut
	default:
		return nil
	}
}

func (m mortal) Get(ctx context.Context, keys ...store.Key) (store.Snapshot, error) {
	if err := m.alive(); err != nil {
		return store.Snapshot{}, err
	}
	return m.Store.Get(ctx, keys...)
}

func (m mortal) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	if err := m.alive(); err != nil {
		return store.Result{}, err
	}
	res, err := m.Store.Commit(ctx, b)
	if dead := m.alive(); dead != nil {
		return store.Result{}, dead
	}
	return res, err
}

// model is the demo model, which can be made to hold its answers back or to fail.
type model struct {
	demo.Model
	mu    sync.Mutex
	gate  chan struct{} // not nil: closed when it goes on
	held  int
	most  int // characters that it was given at once
	fault error
}

func (m *model) Complete(ctx context.Context, r llm.Request, p llm.Progress) (llm.Reply, error) {
	n := 0
	for _, msg := range r.Messages {
		n += len(msg.Content)
	}
	m.mu.Lock()
	m.most = max(m.most, n)
	gate, fault := m.gate, m.fault
	if gate != nil {
		m.held++
	}
	m.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
		}
		m.mu.Lock()
		m.held--
		m.mu.Unlock()
	}
	if ctx.Err() != nil {
		return llm.Reply{}, ctx.Err()
	}
	if fault != nil {
		return llm.Reply{}, fault
	}
	return m.Model.Complete(ctx, r, p)
}

// hold holds answers back, or lets them all go.
func (m *model) hold(yes bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case yes && m.gate == nil:
		m.gate = make(chan struct{})
	case !yes && m.gate != nil:
		close(m.gate)
		m.gate = nil
	}
}

func (m *model) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = err
}

func (m *model) holding() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}

// quiet reports whether nothing goes on but model calls that are held back.
func (w *world) quiet() bool {
	ctx := context.Background()
	ready, err1 := w.store.Scan(ctx, state.Ready, store.Range{Due: true})
	running, err2 := w.store.Scan(ctx, state.Running, store.Range{})
	if err1 != nil || err2 != nil {
		w.t.Fatal(err1, err2)
	}
	var ids []core.SessionID
	for _, e := range running.Entries {
		ids = append(ids, core.SessionID(e.Member))
	}
	views, err := w.replica.scheduler.Views(ctx, ids)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, v := range views {
		if v.Prompt.State != core.Running || v.Prompt.Order != core.OrderNone {
			return false
		}
	}
	return len(ready.Entries) == 0 && len(ids) == w.model.holding()
}

// given sets what holds from the beginning.
func (w *world) given(text string) error {
	words := strings.Fields(text)
	number := func(to *int) (err error) {
		*to, err = strconv.Atoi(words[len(words)-1])
		return err
	}
	switch {
	case strings.Contains(text, " holds "): // a file
		path, content, _ := strings.Cut(text, " holds ")
		if n, ok := strings.CutSuffix(content, " lines"); ok {
			count, err := strconv.Atoi(n)
			if err != nil {
				return err
			}
			content = strings.Repeat("a line of text\n", count)
		}
		return os.WriteFile(filepath.Join(w.dir, path), []byte(content), 0o644)
	case text == "a repository": // of all files so far
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-q", "--allow-empty", "-m", "begin"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir = w.dir
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
			}
		}
		return nil
	case text == "threads": // a message in a channel begins a thread
		w.chat.caps.Threads = true
	case text == "whispers": // in a channel, one person alone can be told something
		w.chat.caps.Whispers = true
	case text == "no buttons":
		w.chat.caps.Buttons = false
	case text == "progress": // status cards are shown
		w.chat.progress = true
	case strings.HasPrefix(text, "messages to a session at work "): // steer, interrupt
		w.busy = words[len(words)-1]
	case text == "nobody approves their own":
		w.own = false
	case text == "forms": // a press can show one, and everybody has a page
		w.chat.forms = true
	case strings.HasPrefix(text, "notify "): // thread, dm, channel
		w.notify = words[1]
	case len(words) == 3 && words[1] == "is" && words[2] == "unreachable":
		w.chat.unreachable = w.person(words[0])
	case strings.HasPrefix(text, "thread replies "):
		w.replies = words[2]
	case strings.HasPrefix(text, "at most ") && words[len(words)-2] == "queued": // at most queued N
		return number(&w.queue)
	case strings.HasPrefix(text, "at most turns "):
		return number(&w.turns)
	case strings.HasPrefix(text, "questions wait "):
		var err error
		w.expire, err = time.ParseDuration(words[2])
		return err
	case strings.HasPrefix(text, "messages of "): // messages of N characters
		_, err := fmt.Sscanf(text, "messages of %d characters", &w.chat.caps.Max)
		return err
	case strings.HasPrefix(text, "a context of "):
		_, err := fmt.Sscanf(text, "a context of %d characters", &w.context)
		return err
	case len(words) == 3 && words[1] == "is": // rob is operator
		role, err := access.ParseRole(words[2])
		w.grants.Everywhere[w.person(words[0])] = role
		return err
	case len(words) == 5 && words[1] == "is" && words[3] == "in": // ann is approver in #ops
		role, err := access.ParseRole(words[2])
		if w.grants.Places == nil {
			w.grants.Places = map[string]access.Roles{}
		}
		w.grants.Places[access.PlaceKey(w.chat.placeOf(words[4]))] = access.Roles{w.person(words[0]): role}
		return err
	default:
		return fmt.Errorf("nothing is known of given %q", text)
	}
	return nil
}

func (w *world) person(name string) core.Person {
	return core.Person(w.chat.caps.Platform + ":" + name)
}

// direct starts git without a helper, which would live from a heartbeat that the virtual clock does not let pass.
type direct struct{}

func (direct) Run(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Output, c.Errors
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return sandbox.Outcome{}, err
	}
	return sandbox.Outcome{Exit: cmd.ProcessState.ExitCode()}, nil
}
