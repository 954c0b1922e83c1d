package agent

import (
	"context"
	"path/filepath"
	"slices"

	"paragents/core/preflight"
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
