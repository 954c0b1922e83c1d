package core

import (
	"path/filepath"
	"time"
)

// Worktree is the git worktree of an isolated session. It lies below the directory of the workspace, where no tool of another session reaches, and has a branch of its own.
type Worktree struct {
	// Base is the branch of the workspace's checkout that it began from, and is merged into; Commit is what that held then. Both are empty before the session's first run.
	Base   string `json:"base,omitempty"`
	Commit string `json:"commit,omitempty"`
	Sub    string `json:"sub,omitempty"`  // where the workspace lies in its repository; "": it is its top
	Made   bool   `json:"made,omitempty"` // whole: before, nothing has run in it
	// Conflicts are the files of a merge that was given back to the agent; while one of them holds conflict markers nothing is merged.
	Conflicts []string `json:"conflicts,omitempty"`
	// Merged is the last commit of it that was merged.
	Merged string `json:"merged,omitempty"`
	// Kept: a person wants it to stay. Discarded is the digest of the work that a person gave up; it is removed as long as it holds nothing else.
	Kept      bool      `json:"kept,omitempty"`
	Discarded string    `json:"discarded,omitempty"`
	By        Person    `json:"by,omitempty"`
	At        time.Time `json:"at,omitzero"`
}

// Worktrees is the folder of a workspace that holds the worktrees of its isolated sessions, each under the session's ref.
const Worktrees = ".paragents/worktrees"

// branches is in front of the ref in the name of an isolated session's branch.
const branches = "paragents/"

// BranchOf is the branch of an isolated session.
func BranchOf(ref Ref) string { return branches + string(ref) }

// Dir is the directory that the session works in, for a workspace at an absolute path.
func (s Session) Dir(workspace string) string {
	if s.Worktree == nil {
		return workspace
	}
	return filepath.Join(workspace, filepath.FromSlash(Worktrees), string(s.Ref), filepath.FromSlash(s.Worktree.Sub))
}

// Apart names the directory that the session's claims on files are about; "" is the workspace's own, which it shares.
func (s Session) Apart() string {
	if s.Worktree == nil {
		return ""
	}
	return string(s.Ref)
}

// WorkState says what an EventWork is about; it stands in Event.State.
type WorkState string

const (
	WorkOpen      WorkState = "open"     // there is something to merge, to keep or to discard
	WorkMerged    WorkState = "merged"   // By merged it; Paths are the files, Text is the branch
	WorkConflict  WorkState = "conflict" // By tried to; Paths are in conflict and nothing was changed; Text is the branch
	WorkGiven     WorkState = "given"    // By gave the conflict to the agent
	WorkKept      WorkState = "kept"     // By wants it to stay
	WorkDiscarded WorkState = "discarded"
)
