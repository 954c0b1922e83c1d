package app

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"paragents/core"
	"paragents/core/agent"
	"paragents/core/fleet"
	"paragents/core/workspace"
	"paragents/store"
)

// premises are the directories that this process may serve: on a shared store those that hold the registered id, looked at again and again.
type premises struct {
	store  store.Store
	alone  bool // the store is this machine's: every directory is what the configuration says
	spaces []agent.Workspace
	log    *slog.Logger

	mu      sync.Mutex
	refused map[string]error // by workspace; one that was not looked at yet is refused too
	seen    bool
}

// lookEvery is how often the directories are looked at.
const lookEvery = 5 * time.Second

func newPremises(st store.Store, alone bool, spaces []agent.Workspace, log *slog.Logger) *premises {
	return &premises{store: st, alone: alone, spaces: spaces, log: log, refused: map[string]error{}}
}

// served are the workspaces that may be worked in.
func (p *premises) served() []agent.Workspace {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.alone && !p.seen {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.spaces), func(w agent.Workspace) bool { return p.refused[w.Name] != nil })
}

func (p *premises) serves(name string) bool {
	return slices.ContainsFunc(p.served(), func(w agent.Workspace) bool { return w.Name == name })
}

// dirs are the directories of the workspaces that may be worked in, by name.
func (p *premises) dirs() map[string]string {
	out := map[string]string{}
	for _, w := range p.served() {
		out[w.Name] = w.Dir
	}
	return out
}

// problems say what is not served, and why.
func (p *premises) problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.refused)) {
		out = append(out, p.refused[name].Error())
	}
	return out
}

// run looks at the directories again and again until the context ends. self is this process among the replicas.
func (p *premises) run(ctx context.Context, self func() core.ReplicaID) {
	if p.alone {
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.look(ctx, self())
		}
	}
}

// look compares the directories with what is registered.
func (p *premises) look(ctx context.Context, self core.ReplicaID) {
	if p.alone {
		return
	}
	others, err := fleet.Read(ctx, p.store)
	if err != nil {
		p.log.Warn("cannot compare the workspaces with those of other replicas; trying again", "error", err)
		return
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	refused := map[string]error{}
	for _, w := range p.spaces {
		served := slices.ContainsFunc(others, func(t fleet.Terms) bool { _, ok := t.Workspaces[w.Name]; return ok && t.Replica != self })
		if err := workspace.Register(ctx, p.store, w.Name, w.Dir, host, served); err != nil {
			refused[w.Name] = err
		}
	}
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, err := range refused {
		if p.refused[name] == nil {
			p.log.Error("not serving a workspace", "workspace", name, "error", err)
		}
	}
	p.refused, p.seen = refused, true
}
