package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// candidate is one thing that a command could be about: the one source of completion, buttons and error texts.
type candidate struct {
	ref      core.Ref
	title    string
	session  core.SessionID
	prompt   core.PromptID
	approval core.ApprovalID
	owner    core.Person
}

// maxCandidates bounds how many sessions or approvals are looked at for a command without a ref.
const maxCandidates = 50

// candidates are what the command can be about, for this person, the likeliest first.
func (d *Desk) candidates(ctx context.Context, v *visit, command string) ([]candidate, error) {
	if command == "approve" || command == "deny" {
		list, err := d.decidable(ctx, v)
		var out []candidate
		for _, a := range list {
			out = append(out, candidate{ref: a.Ref, title: a.Action.Tool + " " + cutRunes(firstLine(a.Action.Show), 40), session: a.Session, prompt: a.Prompt,
				approval: a.ID, owner: a.Author})
		}
		return out, err
	}
	views, err := d.s.List(ctx, state.ByPerson(v.Person), maxCandidates, command == "retry" || slices.Contains(aboutWork, command))
	if err != nil {
		return nil, err
	}
	if v.bound != "" && !slices.ContainsFunc(views, func(w scheduler.View) bool { return w.Session.ID == v.bound }) { // somebody else's, but it is what this place is about
		here, err := d.s.Views(ctx, []core.SessionID{v.bound})
		if err != nil {
			return nil, err
		}
		views = append(views, here...)
	}
	var out []candidate
	for _, w := range views {
		if !fits(command, w) {
			continue
		}
		c := candidate{ref: w.Session.Ref, title: w.Session.Title, session: w.Session.ID, prompt: w.Prompt.ID, owner: w.Session.Owner}
		if command == "undo" {
			c.prompt = w.Session.Last
		}
		if w.Session.ID == v.bound { // the active one comes first
			out = append([]candidate{c}, out...)
			continue
		}
		out = append(out, c)
	}
	return out, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// fits reports whether a command makes sense for a session as it is.
func fits(command string, w scheduler.View) bool {
	unfinished := len(w.Session.Queue) > 0
	switch command {
	case "pause":
		return unfinished && w.Prompt.State != core.Paused
	case "resume":
		return unfinished && (w.Prompt.State == core.Paused || w.Prompt.Question != "")
	case "cancel", "stop", "steer":
		return unfinished
	case "wait", "override", "withdraw", "isolate":
		return unfinished && w.Prompt.State == core.Blocked
	case "run-held", "drop-held":
		return w.Session.Held
	case "merge", "keep", "discard", "resolve":
		return w.Session.Worktree != nil && w.Session.Worktree.Made && w.Session.Worktree.Discarded == ""
	case "undo":
		return w.Session.Last != ""
	case "retry":
		return w.Session.Last != "" && !w.Session.Closed
	}
	return !w.Session.Closed
}

// errAsked: the person was asked which one; the command ends.
var errAsked = errors.New("asked which one")

// theirs is the target of a command that only its owner, or an admin, may give.
func (d *Desk) theirs(ctx context.Context, v *visit, c Command) (candidate, error) {
	x, err := d.target(ctx, v, c)
	if err != nil {
		return x, err
	}
	return x, d.mayOrder(v, x.owner)
}

// target finds what a command is about: by the ref that was written, by what the place is bound to, or the only thing that fits. Where several fit, they are offered
// as buttons.
func (d *Desk) target(ctx context.Context, v *visit, c Command) (candidate, error) {
	if len(c.Args) > 0 {
		return d.named(ctx, v, c, c.Args[0])
	}
	list, err := d.candidates(ctx, v, c.Name)
	if err != nil {
		return candidate{}, err
	}
	switch {
	case len(list) == 0:
		return candidate{}, fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysNothing, c.Name))
	case len(list) == 1, list[0].session == v.bound && c.Name != "approve" && c.Name != "deny" && c.Name != "switch":
		return list[0], nil
	}
	return candidate{}, d.offer(ctx, v, c, list)
}

// offer shows what fits, as buttons where there are buttons.
func (d *Desk) offer(ctx context.Context, v *visit, c Command, list []candidate) error {
	var bs buttons
	pg := page{text: fmt.Sprintf(saysWhich, "")}
	for _, x := range list[:min(len(list), 8)] {
		pg.text += fmt.Sprintf("\n- %s %s", code(string(x.ref)), escape(x.title))
		line := strings.TrimSpace(c.Name + " " + string(x.ref) + " " + c.Rest)
		pg.rows = append(pg.rows, []core.Button{bs.add(cutRunes(string(x.ref)+" "+x.title, 40), "", press{Do: doCommand, Command: line, For: v.Person})})
	}
	if v.caps.Buttons {
		var b state.Batch
		bs.put(&b)
		if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
			return err
		}
	}
	v.out = append(v.out, pg)
	return errAsked
}

// named follows what was written: #n of the last list, a ref, or the unique beginning of one that fits.
func (d *Desk) named(ctx context.Context, v *visit, c Command, word string) (candidate, error) {
	ref := core.Ref(strings.ToLower(strings.Trim(word, "`[]")))
	if i := strings.IndexAny(string(ref), ":"); i >= 0 { // S:k3m9p2, as the prefix shows it
		ref = ref[i+1:]
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(string(ref), "#")); err == nil && strings.HasPrefix(string(ref), "#") {
		if ref, err = d.numbered(ctx, v, n); err != nil {
			return candidate{}, err
		}
	}
	if len(ref) == core.RefLen {
		n, err := d.s.Find(ctx, ref)
		if err == nil {
			return d.resolve(ctx, c, n, ref)
		}
		if !errors.Is(err, core.ErrNotFound) {
			return candidate{}, err
		}
	}
	list, err := d.candidates(ctx, v, c.Name)
	if err != nil {
		return candidate{}, err
	}
	var fit []candidate
	for _, x := range list {
		if ref != "" && strings.HasPrefix(string(x.ref), string(ref)) {
			fit = append(fit, x)
		}
	}
	switch len(fit) {
	case 1:
		return fit[0], nil
	case 0:
		return candidate{}, fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysNotRef, word, v.caps.Slash, v.caps.Slash))
	}
	var refs []string
	for _, x := range fit {
		refs = append(refs, string(x.ref)+" "+x.title)
	}
	return candidate{}, fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysAmbiguous, word, strings.Join(refs, ", ")))
}

// resolve turns what a ref names into what the command needs: any ref leads to its session, its prompt and, if there is one thing, its question.
func (d *Desk) resolve(ctx context.Context, c Command, n scheduler.Named, ref core.Ref) (candidate, error) {
	x := candidate{ref: ref, session: n.Session}
	switch n.Kind {
	case scheduler.NamedApproval:
		a, err := d.s.Approval(ctx, core.ApprovalID(n.ID))
		if err != nil {
			return x, err
		}
		x.approval, x.prompt, x.owner = a.ID, a.Prompt, a.Author
	case scheduler.NamedPrompt:
		p, _, err := d.s.Prompt(ctx, core.PromptID(n.ID))
		if err != nil {
			return x, err
		}
		x.prompt, x.owner = p.ID, p.Author
		x.approval = only(p.Pending)
	}
	views, err := d.s.Views(ctx, []core.SessionID{n.Session})
	if err != nil || len(views) == 0 {
		return x, errors.Join(err, core.ErrNotFound)
	}
	w := views[0]
	x.title = w.Session.Title
	if n.Kind == scheduler.NamedSession {
		x.prompt, x.owner = w.Prompt.ID, w.Session.Owner
		x.approval = only(w.Prompt.Pending)
		if c.Name == "retry" || c.Name == "undo" {
			x.prompt = w.Session.Last
		}
	}
	return x, nil
}

func only(ids []core.ApprovalID) core.ApprovalID {
	if len(ids) == 1 {
		return ids[0]
	}
	return ""
}

// listed are the refs of the last list that a person saw at a place, for #n.
type listed struct {
	Refs []core.Ref `json:"refs"`
}

const listedKept = time.Hour

func (d *Desk) remember(ctx context.Context, v *visit, refs []core.Ref) error {
	var b state.Batch
	b.Put(state.ListedKey(v.Place, v.Person), listed{Refs: refs}, listedKept)
	_, err := b.Commit(ctx, d.cfg.Store)
	return err
}

func (d *Desk) numbered(ctx context.Context, v *visit, n int) (core.Ref, error) {
	l, _, err := state.Get[listed](ctx, d.cfg.Store, state.ListedKey(v.Place, v.Person))
	if err != nil {
		return "", err
	}
	if n < 1 || n > len(l.Value.Refs) {
		return "", fmt.Errorf("%w: the last list has no #%d", core.ErrRefused, n)
	}
	return l.Value.Refs[n-1], nil
}

// need refuses a person whose role is too small.
func need(v *visit, role access.Role) error {
	if v.role >= role {
		return nil
	}
	return fmt.Errorf("%w: %s", core.ErrForbidden, fmt.Sprintf(saysNotEnough, role, v.role))
}
