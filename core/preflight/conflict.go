package preflight

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"paragents/core"
)

// Conflict is an overlap of one of my claims with one of another prompt.
type Conflict struct {
	Mine   Claim         `json:"mine"`
	Theirs Claim         `json:"theirs"`
	Owner  core.PromptID `json:"owner"`
}

// Index holds the claims of one prompt, ready to be compared with those of all others. It is safe for concurrent use.
type Index struct {
	fold  bool
	all   []own
	at    map[string][]int // plain claims, as places in all, by their path
	below map[string][]int // the same by every directory above them, which is "" for the workspace
	globs []int
}

type own struct {
	claim  Claim
	parsed parsed
	git    bool
}

// NewIndex makes an index of a prompt's claims. fold is as for Overlap.
func NewIndex(mine []Claim, fold bool) *Index {
	x := &Index{fold: fold, at: map[string][]int{}, below: map[string][]int{}}
	for i, c := range slices.Compact(slices.Sorted(slices.Values(mine))) {
		o := own{claim: c, git: c.git(), parsed: parse(x.folded(c))}
		x.all = append(x.all, o)
		if o.parsed.glob {
			x.globs = append(x.globs, i)
			continue
		}
		x.at[o.parsed.base] = append(x.at[o.parsed.base], i)
		for dir, more := above(o.parsed.base, o.git); more; dir, more = above(dir, o.git) {
			x.below[dir] = append(x.below[dir], i)
		}
	}
	return x
}

func (x *Index) folded(c Claim) Claim {
	if x.fold {
		return folded(c)
	}
	return c
}

// above is the directory that holds p; false above the workspace, and above a remote.
func above(p string, git bool) (string, bool) {
	at := strings.LastIndexByte(p, '/')
	if at < 0 {
		return "", p != "" && !git
	}
	return p[:at], true
}

// Conflicts are the overlaps with the claims of others, which must not hold the prompt itself: sorted by owner, then by claim. It takes time in proportion to the
// number of claims of others, and allocates only for globs and for what it finds.
func (x *Index) Conflicts(others iter.Seq2[core.PromptID, []Claim]) []Conflict {
	var out []Conflict
	for owner, claims := range others {
		for _, c := range claims {
			x.each(c, func(i int) { out = append(out, Conflict{Mine: x.all[i].claim, Theirs: c, Owner: owner}) })
		}
	}
	slices.SortFunc(out, func(a, b Conflict) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Mine, b.Mine), cmp.Compare(a.Theirs, b.Theirs))
	})
	return slices.Compact(out)
}

// each calls found for each of my claims that overlaps with c.
func (x *Index) each(c Claim, found func(int)) {
	git := c.git()
	p := parse(x.folded(c))
	pairs := func(list []int) {
		for _, i := range list {
			if x.all[i].git == git && overlap(x.all[i].parsed, p) {
				found(i)
			}
		}
	}
	pairs(x.globs)
	if p.glob {
		for _, list := range x.at {
			pairs(list)
		}
		return
	}
	for _, i := range x.below[p.base] {
		if x.all[i].git == git {
			found(i)
		}
	}
	for dir, more := p.base, true; more; dir, more = above(dir, git) {
		for _, i := range x.at[dir] {
			found(i)
		}
	}
}

// Cycles are the groups of prompts that wait for each other, directly or through others, so that none of them can ever start. waits says for
// each prompt which ones it waits for. Groups and their members are sorted.
func Cycles(waits map[core.PromptID][]core.PromptID) [][]core.PromptID {
	t := tarjan{waits: waits, seen: map[core.PromptID]int{}, low: map[core.PromptID]int{}, open: map[core.PromptID]bool{}}
	for id := range waits {
		if t.seen[id] == 0 {
			t.visit(id)
		}
	}
	slices.SortFunc(t.out, slices.Compare)
	return t.out
}

// tarjan finds strongly connected components.
type tarjan struct {
	waits map[core.PromptID][]core.PromptID
	seen  map[core.PromptID]int // when it was visited, from 1
	low   map[core.PromptID]int // the earliest visited that can be reached
	open  map[core.PromptID]bool
	stack []core.PromptID
	out   [][]core.PromptID
}

func (t *tarjan) visit(id core.PromptID) {
	t.seen[id] = len(t.seen) + 1
	t.low[id] = t.seen[id]
	t.stack, t.open[id] = append(t.stack, id), true
	for _, next := range t.waits[id] {
		if t.seen[next] == 0 {
			t.visit(next)
			t.low[id] = min(t.low[id], t.low[next])
		} else if t.open[next] {
			t.low[id] = min(t.low[id], t.seen[next])
		}
	}
	if t.low[id] != t.seen[id] {
		return
	}
	at := slices.Index(t.stack, id)
	group := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, member := range group {
		t.open[member] = false
	}
	if len(group) > 1 || slices.Contains(t.waits[id], id) {
		slices.Sort(group)
		t.out = append(t.out, group)
	}
}
