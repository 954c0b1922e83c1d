package agent

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/agent/transcript"
	"paragents/core/policy"
	"paragents/core/scheduler"
	"paragents/core/tool"
)

//go:embed system.md
var systemText string

// turns is one run of one prompt.
type turns struct {
	a        *Agent
	run      *scheduler.Run
	ws       Workspace
	around   string // the workspace's own directory, when the session works in a worktree
	env      *tool.Env
	world    policy.World
	layers   []policy.Layer     // of rules, as compiled last
	standing scheduler.Standing // at the last judgement
	log      *transcript.Log
	system   string
	mode     core.Mode // the same
	began    time.Time
	logger   *slog.Logger

	asked int
	usage core.Usage
	late  []core.Record // results that are to be written with the outcome
}

// open reads the transcript and the workspace.
func (a *Agent) open(ctx context.Context, r *scheduler.Run) (*turns, error) {
	t := &turns{a: a, run: r, log: &transcript.Log{}, began: time.Now(), mode: r.Session.Mode,
		logger: a.cfg.Logger.With("session", r.Session.Ref, "prompt", r.Prompt.Ref, "trace_id", r.Prompt.Trace)}
	records, err := r.Transcript(ctx)
	if err != nil {
		return t, err
	}
	t.log.Add(records...)
	for _, ws := range a.cfg.Workspaces {
		if ws.Name == r.Session.Workspace {
			t.ws = ws
		}
	}
	if t.ws.Dir == "" {
		return t, fmt.Errorf("workspace %q is not in this replica's configuration", r.Session.Workspace)
	}
	if r.Session.Worktree != nil {
		if err := t.isolate(ctx); err != nil {
			return t, err
		}
	}
	if t.system, err = t.prompt(); err != nil {
		return t, err
	}
	root, err := os.OpenRoot(t.ws.Dir)
	if err != nil {
		return t, fmt.Errorf("open workspace %s: %w", t.ws.Name, err)
	}
	t.env = &tool.Env{Root: root, Dir: t.ws.Dir, RunDir: filepath.Join(t.ws.Dir, ".paragents", "run", string(r.Prompt.ID)), Run: a.cfg.Sandbox,
		Seen: t.log.Seen, Timeout: a.cfg.Limits.Time, Slot: a.slot}
	t.world = policy.NewOSWorld(t.ws.Dir, a.cfg.Home)
	return t, nil
}

func (t *turns) close() { t.env.Root.Close() }

// slot waits until one more command may run on this replica.
func (a *Agent) slot(ctx context.Context) (func(), error) {
	if err := a.commands.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { a.commands.Release(1) }, nil
}

// prompt makes the system prompt.
func (t *turns) prompt() (string, error) {
	var b strings.Builder
	err := t.a.system.Execute(&b, map[string]string{"Workspace": t.ws.Name, "Dir": t.ws.Dir, "Branch": t.branch(), "Date": t.run.Now().Format("Monday, 2 January 2006"),
		"Session": string(t.run.Session.Ref), "Title": t.run.Session.Title, "Mode": string(t.run.Session.Mode)})
	return b.String(), err
}

// repair gives every call that can no longer be run its result, so that the conversation is valid: calls of prompts that are over were
// interrupted; of the present prompt's, one that was begun has an unknown outcome, and the rest will be run.
func (t *turns) repair(ctx context.Context) error {
	var records []core.Record
	var letters []core.Event
	for _, c := range t.log.Unanswered() {
		switch {
		case c.Begun:
			records = append(records, t.result(c, core.EndUnknown, tellsNotKnown))
			letters = append(letters, core.Event{Type: core.EventUncertain, ID: c.ID, Tool: c.Name, Show: c.Show})
		case c.Prompt != t.run.Prompt.ID || !c.Latest:
			records = append(records, t.result(c, core.EndInterrupted, transcript.Interrupted))
		}
	}
	if len(records) == 0 {
		return nil
	}
	if err := t.run.Append(ctx, records, letters...); err != nil {
		return err
	}
	t.log.Add(records...)
	return nil
}

func (t *turns) result(c transcript.Call, ending core.Ending, text string) core.Record {
	return core.Record{Kind: core.RecordResult, Prompt: c.Prompt, Time: t.run.Now(), Call: c.ID, Tool: c.Name, Ending: ending, Text: text}
}
