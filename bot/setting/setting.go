// Package setting is what all of the bot is set up with: the store, the platforms, the workspaces and who may do what in them.
package setting

import (
	"fmt"
	"log/slog"

	"paragents/bot/phrase"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/state"
	"paragents/core/worktree"
	"paragents/store"
)

// Workspace is a workspace as people see it.
type Workspace struct {
	Name         string
	Dir          string
	Capabilities []string
	Deny         []string
	Ask          []string
	Allow        []string
	Busy         string // what a message to a session at work does: queue, steer, interrupt
}

// Config is what both sides of the bot need.
type Config struct {
	Store      store.Store
	Adapters   []core.Adapter
	Access     access.Access
	Workspaces []Workspace // the first is the default
	// At says what is different at a place: its workspace and whose messages count in a thread ("owner", "everyone", "mention"). May be nil.
	At func(core.Place) (workspace, threadReplies string)
	// Explain says what the rules of a workspace, with what people stored, say about a call written Tool(input). May be nil.
	Explain func(workspace string, stored []state.StoredRule, call string) (string, error)
	// Notify says where questions are shown besides the place of their prompt: NotifyThread, NotifyDM or NotifyChannel. Empty: nowhere.
	Notify string
	Demo   bool // the demo model answers
	// Redact takes secrets out of what files hold, before it is shown. Nil: nothing is taken out.
	Redact func(text string) string
	// Settings is the configuration as it holds, without secrets. Nil: there is none to show.
	Settings func() string
	// Git looks after the worktrees of isolated sessions. Nil: there are none.
	Git    *worktree.Git
	Logger *slog.Logger
}

func (c Config) Adapter(platform string) (core.Adapter, bool) {
	for _, a := range c.Adapters {
		if a.Capabilities().Platform == platform {
			return a, true
		}
	}
	return nil, false
}

// Dir is a workspace's directory.
func (c Config) Dir(workspace string) (string, error) {
	for _, w := range c.Workspaces {
		if w.Name == workspace {
			return w.Dir, nil
		}
	}
	return "", fmt.Errorf("%w: "+phrase.Elsewhere, core.ErrNotFound, workspace)
}

func (c Config) Has(name string) bool {
	for _, w := range c.Workspaces {
		if w.Name == name {
			return true
		}
	}
	return false
}

func (c Config) Names() []string {
	out := make([]string, len(c.Workspaces))
	for i, w := range c.Workspaces {
		out[i] = w.Name
	}
	return out
}

// workspace is where a new session at the place works.
func (c Config) WorkspaceAt(p core.Place) string {
	if c.At != nil {
		if ws, _ := c.At(p); ws != "" {
			return ws
		}
	}
	return c.Workspaces[0].Name
}

// Where questions are shown besides the place of their prompt.
const (
	NotifyThread  = "thread"  // nowhere
	NotifyDM      = "dm"      // to each approver of the place, in their own conversation with the bot
	NotifyChannel = "channel" // in the channel around the thread
)

// at is where an isolated session works, as far as this replica can say.
func (c Config) Worktree(sess core.Session) (worktree.At, error) {
	if sess.Worktree == nil || !sess.Worktree.Made || c.Git == nil {
		return worktree.At{}, fmt.Errorf("%w: "+phrase.NotApart, core.ErrRefused, phrase.Plain(sess))
	}
	dir, err := c.Dir(sess.Workspace)
	return worktree.At{Workspace: dir, Session: sess}, err
}
