package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"paragents/cmd/paragents/config"
	"paragents/core"
	"paragents/core/agent"
	"paragents/core/preflight"
)

// Preflight says what a text would write in a workspace; the first one when none is named.
func (s *Setup) Preflight(workspace, text string) (preflight.Guess, error) {
	cfg, err := s.Load()
	if err != nil {
		return preflight.Guess{}, err
	}
	spaces, _, err := workspaces(cfg)
	if err != nil {
		return preflight.Guess{}, err
	}
	if workspace == "" {
		workspace = spaces[0].Name
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	g, ok := agent.New(agent.Config{Workspaces: spaces, Home: home}).Preflight(workspace, text)
	if !ok {
		return g, fmt.Errorf("workspace %s: not in the configuration", workspace)
	}
	return g, nil
}

// conflicts says what each workspace does about conflicts.
func conflicts(cfg *config.Config) func(string) core.ConflictMode {
	modes := map[string]core.ConflictMode{}
	for _, w := range cfg.Workspaces {
		modes[w.Name] = core.ConflictMode(w.Conflicts)
	}
	return func(name string) core.ConflictMode { return modes[name] }
}

// isolated says in which workspaces every session works in a git worktree of its own.
func isolated(cfg *config.Config) func(string) bool {
	own := map[string]bool{}
	for _, w := range cfg.Workspaces {
		own[w.Name] = w.Isolation == "worktree"
	}
	return func(name string) bool { return own[name] }
}

// folds says which workspaces lie on a file system that takes names which differ only in case for the same.
func folds(spaces []agent.Workspace) func(string) bool {
	fold := map[string]bool{}
	for _, w := range spaces {
		dir, name := filepath.Split(w.Dir)
		other := strings.ToUpper(name)
		if other == name {
			other = strings.ToLower(name)
		}
		here, err1 := os.Stat(w.Dir)
		there, err2 := os.Stat(filepath.Join(dir, other))
		fold[w.Name] = other != name && err1 == nil && err2 == nil && os.SameFile(here, there)
	}
	return func(name string) bool { return fold[name] }
}
