// Package claims keeps the book of who writes what: for each workspace the claims of its live prompts, and what they wait for.
//
// Everything here is a pure function of the book. Whoever stores it does so under its version, so that two prompts that claim at the same time
// meet there. An entry counts as long as its prompt lives; one that has ended may stand here until the next claim.
package claims

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"paragents/core"
	"paragents/core/preflight"
)

// Book is the document of a workspace's claims.
type Book struct {
	Holders map[core.PromptID]Holder `json:"holders"`
}

// Holder is one prompt in the book.
type Holder struct {
	Session   core.SessionID `json:"session"`
	Ref       core.Ref       `json:"session_ref"`
	PromptRef core.Ref       `json:"prompt_ref"`
	Title     string         `json:"title"`
	Author    core.Person    `json:"author"`
	Since     time.Time      `json:"since"` // of the first claim
	// Apart names the directory that the claims on files are about; "" is the workspace's own. Claims on files of different directories never meet.
	Apart  string            `json:"apart,omitempty"`
	Claims []preflight.Claim `json:"claims,omitempty"`
	// Over are the claims that a person let it make although another prompt's overlap.
	Over map[core.PromptID][]preflight.Claim `json:"over,omitempty"`
	// Until is the end of claims that belong to no prompt, but to a person who writes by a command: zero for a prompt's.
	Until time.Time `json:"until,omitzero"`
	// Waits is what kept it from going on when it last tried; empty when nothing did.
	Waits []preflight.Conflict `json:"waits,omitempty"`
}

// most is how many claims a prompt may hold; with more of them it holds the whole workspace.
const most = 200

// Fit is what has to be claimed for a prompt to hold what it wants: that, or, where there would be too many claims, the whole workspace.
func (b Book) Fit(id core.PromptID, want []preflight.Claim) []preflight.Claim {
	if len(b.Holders[id].Claims)+len(want) <= most {
		return want
	}
	return append([]preflight.Claim{"."}, slices.DeleteFunc(slices.Clone(want), isPath)...)
}

func isPath(c preflight.Claim) bool { return preflight.Overlap(c, ".", false) }

// Missing are the claims of want that the prompt does not hold yet.
func (b Book) Missing(id core.PromptID, want []preflight.Claim) []preflight.Claim {
	have := b.Holders[id].Claims
	if slices.Contains(have, ".") { // it covers all paths
		return slices.DeleteFunc(slices.Clone(want), func(c preflight.Claim) bool {
			return slices.Contains(have, c) || isPath(c)
		})
	}
	return slices.DeleteFunc(slices.Clone(want), func(c preflight.Claim) bool { return slices.Contains(have, c) })
}

// Conflicts are the overlaps of what a prompt wants in a directory, and does not hold yet, with what others hold, without those that a person allowed. fold
// says that the file system takes names that differ only in case for the same.
func (b Book) Conflicts(id core.PromptID, apart string, want []preflight.Claim, fold bool) []preflight.Conflict {
	want = b.Missing(id, want)
	if len(want) == 0 {
		return nil
	}
	over := b.Holders[id].Over
	return slices.DeleteFunc(preflight.NewIndex(want, fold).Conflicts(b.others(id, apart)), func(c preflight.Conflict) bool {
		return slices.Contains(over[c.Owner], c.Mine)
	})
}

// others are the claims of all other prompts that can meet those of a prompt in a directory: from another directory, those on what the repository shares.
func (b Book) others(id core.PromptID, apart string) iter.Seq2[core.PromptID, []preflight.Claim] {
	return func(yield func(core.PromptID, []preflight.Claim) bool) {
		for other, h := range b.Holders {
			held := h.Claims
			if h.Apart != apart {
				held = slices.DeleteFunc(slices.Clone(held), func(c preflight.Claim) bool { return !c.Shared() })
			}
			if other != id && !yield(other, held) {
				return
			}
		}
	}
}

// Claim adds to what a prompt holds; it waits for nothing any more. who says who it is, for a prompt that is new in the book.
func (b *Book) Claim(id core.PromptID, who Holder, want []preflight.Claim) {
	h := b.holder(id, who)
	h.Claims = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(h.Claims), want...))))
	if slices.Contains(h.Claims, ".") {
		h.Claims = append([]preflight.Claim{"."}, slices.DeleteFunc(h.Claims, isPath)...)
	}
	h.Waits = nil
	b.Holders[id] = h
}

// Wait notes what a prompt waits for.
func (b *Book) Wait(id core.PromptID, who Holder, why []preflight.Conflict) {
	h := b.holder(id, who)
	h.Waits = why
	b.Holders[id] = h
}

// Allow lets a prompt make claims in spite of these conflicts.
func (b *Book) Allow(id core.PromptID, who Holder, why []preflight.Conflict) {
	h := b.holder(id, who)
	over := maps.Clone(h.Over)
	if over == nil {
		over = map[core.PromptID][]preflight.Claim{}
	}
	for _, c := range why {
		if !slices.Contains(over[c.Owner], c.Mine) {
			over[c.Owner] = append(slices.Clone(over[c.Owner]), c.Mine)
		}
	}
	h.Over, h.Waits = over, nil
	b.Holders[id] = h
}

func (b *Book) holder(id core.PromptID, who Holder) Holder {
	if b.Holders == nil {
		b.Holders = map[core.PromptID]Holder{}
	}
	h, ok := b.Holders[id]
	if !ok {
		h.Since, h.Until = who.Since, who.Until
	}
	h.Apart, h.Session, h.Ref, h.PromptRef, h.Title, h.Author = who.Apart, who.Session, who.Ref, who.PromptRef, who.Title, who.Author
	return h
}

// Drop takes prompts that have ended out of the book.
func (b *Book) Drop(ended ...core.PromptID) {
	if len(ended) == 0 {
		return
	}
	for _, id := range ended {
		delete(b.Holders, id)
	}
	for id, h := range b.Holders {
		h.Over = maps.Clone(h.Over)
		maps.DeleteFunc(h.Over, func(owner core.PromptID, _ []preflight.Claim) bool { return slices.Contains(ended, owner) })
		h.Waits = slices.DeleteFunc(slices.Clone(h.Waits), func(c preflight.Conflict) bool { return slices.Contains(ended, c.Owner) })
		b.Holders[id] = h
	}
}

// Cycle are the prompts that wait for each other in a circle with id among them, sorted; none when there is no such circle.
func (b Book) Cycle(id core.PromptID) []core.PromptID {
	waits := map[core.PromptID][]core.PromptID{}
	for p, h := range b.Holders {
		waits[p] = Owners(h.Waits)
	}
	for _, group := range preflight.Cycles(waits) {
		if slices.Contains(group, id) {
			return group
		}
	}
	return nil
}

// Owners are the prompts that conflicts are with, sorted.
func Owners(list []preflight.Conflict) []core.PromptID {
	var out []core.PromptID
	for _, c := range list {
		out = append(out, c.Owner)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Mine are a prompt's own claims in conflicts, sorted; theirs those of one owner.
func Mine(list []preflight.Conflict) []string {
	return unique(list, func(c preflight.Conflict) (preflight.Claim, bool) { return c.Mine, true })
}

// Theirs are the claims of one owner in conflicts, sorted.
func Theirs(list []preflight.Conflict, owner core.PromptID) []string {
	return unique(list, func(c preflight.Conflict) (preflight.Claim, bool) { return c.Theirs, c.Owner == owner })
}

func unique(list []preflight.Conflict, pick func(preflight.Conflict) (preflight.Claim, bool)) []string {
	var out []string
	for _, c := range list {
		if claim, ok := pick(c); ok {
			out = append(out, string(claim))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Broken are the overlaps between claims that are held although nobody allowed them: the invariant says that there are none among live prompts.
func (b Book) Broken(fold bool) []preflight.Conflict {
	var out []preflight.Conflict
	for id, h := range b.Holders {
		for _, c := range preflight.NewIndex(h.Claims, fold).Conflicts(b.others(id, h.Apart)) {
			if !slices.Contains(h.Over[c.Owner], c.Mine) && !slices.Contains(b.Holders[c.Owner].Over[id], c.Theirs) {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(a, b preflight.Conflict) int { return cmp.Compare(a.Owner, b.Owner) })
	return out
}
