package agent

import (
	"context"
	"path/filepath"
	"slices"

	"paragents/core"
	"paragents/core/policy"
	"paragents/core/preflight"
	"paragents/core/scheduler"
)

// claims are what a call reserves before it starts: the files that its tool names, and what its commands are known to write. Reading reserves nothing.
func (t *turns) claims(j judged) []string {
	var out []string
	for _, path := range j.plan.Writes {
		if c, err := preflight.Clean(t.ws.Dir, path); err == nil { // outside the workspace there are no claims
			out = append(out, string(c))
		}
	}
	for command, v := range j.commands {
		guess := preflight.Command(command, t.a.world(t.ws, func(string) ([]string, bool) { return v.Writes, !v.Opaque }))
		for _, c := range guess.Claims {
			out = append(out, string(c))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// touched tells others of what a command changed although they hold it.
func (t *turns) touched(ctx context.Context, j judged, changed []string) error {
	if len(j.commands) == 0 || len(changed) == 0 {
		return nil
	}
	return t.run.Touched(ctx, changed, func(path string) string {
		sum, _ := hashFile(filepath.Join(t.ws.Dir, path)) // what cannot be read is nobody's known write
		return sum
	})
}

func (a *Agent) world(ws Workspace, analyse func(string) ([]string, bool)) preflight.World {
	return preflight.World{Root: ws.Dir, Home: a.cfg.Home, Analyse: analyse}
}

// Foresee guesses from a prompt's text what it will write, with the analyser that judges commands. It is what the scheduler asks before a prompt's first run.
func (a *Agent) Foresee(sess core.Session, p core.Prompt) core.Guess {
	ws, ok := a.workspace(sess.Workspace)
	if !ok {
		return core.Guess{}
	}
	ws.Dir = sess.Dir(ws.Dir)
	g := a.infer(ws, p.Text)
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

func (a *Agent) workspace(name string) (Workspace, bool) {
	i := slices.IndexFunc(a.cfg.Workspaces, func(w Workspace) bool { return w.Name == name })
	if i < 0 {
		return Workspace{}, false
	}
	return a.cfg.Workspaces[i], true
}

var _ scheduler.Agent = (*Agent)(nil)
