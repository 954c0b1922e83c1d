// Package target finds what a command is about: by a ref, by the place, or the only thing that fits; where several fit it asks.
package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"paragents/bot/button"
	"paragents/bot/grammar"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/setting"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/reader"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// Candidate is one thing that a command could be about: the one source of completion, buttons and error texts.
type Candidate struct {
	Ref      core.Ref
	Title    string
	Session  core.SessionID
	Prompt   core.PromptID
	Approval core.ApprovalID
	Owner    core.Person
}

// maxCandidates bounds how many sessions or approvals are looked at for a command without a ref.
const maxCandidates = 50

// Candidates are what the command can be about, for this person, the likeliest first.
func (f *Finder) Candidates(ctx context.Context, v *visit.Visit, command string) ([]Candidate, error) {
	if command == "approve" || command == "deny" {
		list, err := f.Decidable(ctx, v)
		var out []Candidate
		for _, a := range list {
			out = append(out, Candidate{Ref: a.Ref, Title: a.Action.Tool + " " + phrase.Cut(phrase.FirstLine(a.Action.Show), 40), Session: a.Session, Prompt: a.Prompt,
				Approval: a.ID, Owner: a.Author})
		}
		return out, err
	}
	views, err := f.s.List(ctx, state.ByPerson(v.Person), maxCandidates, command == "retry" || slices.Contains(aboutWork, command))
	if err != nil {
		return nil, err
	}
	if v.Bound != "" && !slices.ContainsFunc(views, func(w reader.View) bool { return w.Session.ID == v.Bound }) { // somebody else's, but it is what this place is about
		here, err := f.s.Views(ctx, []core.SessionID{v.Bound})
		if err != nil {
			return nil, err
		}
		views = append(views, here...)
	}
	var out []Candidate
	for _, w := range views {
		if !Fits(command, w) {
			continue
		}
		c := Candidate{Ref: w.Session.Ref, Title: w.Session.Title, Session: w.Session.ID, Prompt: w.Prompt.ID, Owner: w.Session.Owner}
		if command == "undo" {
			c.Prompt = w.Session.Last
		}
		if w.Session.ID == v.Bound { // the active one comes first
			out = append([]Candidate{c}, out...)
			continue
		}
		out = append(out, c)
	}
	return out, nil
}

// Fits reports whether a command makes sense for a session as it is.
func Fits(command string, w reader.View) bool {
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

// ErrAsked: the person was asked which one; the command ends.
var ErrAsked = errors.New("asked which one")

// Theirs is the target of a command that only its owner, or an admin, may give.
func (f *Finder) Theirs(ctx context.Context, v *visit.Visit, c grammar.Command) (Candidate, error) {
	x, err := f.Find(ctx, v, c)
	if err != nil {
		return x, err
	}
	return x, v.MayOrder(x.Owner)
}

// Find finds what a command is about: by the ref that was written, by what the place is bound to, or the only thing that fits. Where several fit, they are offered
// as buttons.
func (f *Finder) Find(ctx context.Context, v *visit.Visit, c grammar.Command) (Candidate, error) {
	if len(c.Args) > 0 {
		return f.Named(ctx, v, c, c.Args[0])
	}
	list, err := f.Candidates(ctx, v, c.Name)
	if err != nil {
		return Candidate{}, err
	}
	switch {
	case len(list) == 0:
		return Candidate{}, fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.Nothing, c.Name))
	case len(list) == 1, list[0].Session == v.Bound && c.Name != "approve" && c.Name != "deny" && c.Name != "switch":
		return list[0], nil
	}
	return Candidate{}, f.offer(ctx, v, c, list)
}

// offer shows what fits, as buttons where there are buttons.
func (f *Finder) offer(ctx context.Context, v *visit.Visit, c grammar.Command, list []Candidate) error {
	var bs button.Set
	pg := page.Page{Text: fmt.Sprintf(phrase.Which, "")}
	for _, x := range list[:min(len(list), 8)] {
		pg.Text += fmt.Sprintf("\n- %s %s", phrase.Code(string(x.Ref)), phrase.Escape(x.Title))
		line := strings.TrimSpace(c.Name + " " + string(x.Ref) + " " + c.Rest)
		pg.Rows = append(pg.Rows, []core.Button{bs.Add(phrase.Cut(string(x.Ref)+" "+x.Title, 40), "", button.Press{Do: button.DoCommand, Command: line, For: v.Person})})
	}
	if v.Caps.Buttons {
		if err := bs.Store(ctx, f.cfg.Store); err != nil {
			return err
		}
	}
	v.Out = append(v.Out, pg)
	return ErrAsked
}

// Named follows what was written: #n of the last list, a ref, or the unique beginning of one that fits.
func (f *Finder) Named(ctx context.Context, v *visit.Visit, c grammar.Command, word string) (Candidate, error) {
	ref := core.Ref(strings.ToLower(strings.Trim(word, "`[]")))
	if i := strings.IndexAny(string(ref), ":"); i >= 0 { // S:k3m9p2, as the prefix shows it
		ref = ref[i+1:]
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(string(ref), "#")); err == nil && strings.HasPrefix(string(ref), "#") {
		if ref, err = f.numbered(ctx, v, n); err != nil {
			return Candidate{}, err
		}
	}
	if len(ref) == core.RefLen {
		n, err := f.s.Find(ctx, ref)
		if err == nil {
			return f.resolve(ctx, c, n, ref)
		}
		if !errors.Is(err, core.ErrNotFound) {
			return Candidate{}, err
		}
	}
	list, err := f.Candidates(ctx, v, c.Name)
	if err != nil {
		return Candidate{}, err
	}
	var fit []Candidate
	for _, x := range list {
		if ref != "" && strings.HasPrefix(string(x.Ref), string(ref)) {
			fit = append(fit, x)
		}
	}
	switch len(fit) {
	case 1:
		return fit[0], nil
	case 0:
		return Candidate{}, fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.NotRef, word, v.Caps.Slash, v.Caps.Slash))
	}
	var refs []string
	for _, x := range fit {
		refs = append(refs, string(x.Ref)+" "+x.Title)
	}
	return Candidate{}, fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.Ambiguous, word, strings.Join(refs, ", ")))
}

// resolve turns what a ref names into what the command needs: any ref leads to its session, its prompt and, if there is one thing, its question.
func (f *Finder) resolve(ctx context.Context, c grammar.Command, n state.Named, ref core.Ref) (Candidate, error) {
	x := Candidate{Ref: ref, Session: n.Session}
	switch n.Kind {
	case state.NamedApproval:
		a, err := f.s.Approval(ctx, core.ApprovalID(n.ID))
		if err != nil {
			return x, err
		}
		x.Approval, x.Prompt, x.Owner = a.ID, a.Prompt, a.Author
	case state.NamedPrompt:
		p, _, err := f.s.Prompt(ctx, core.PromptID(n.ID))
		if err != nil {
			return x, err
		}
		x.Prompt, x.Owner = p.ID, p.Author
		x.Approval = only(p.Pending)
	}
	views, err := f.s.Views(ctx, []core.SessionID{n.Session})
	if err != nil || len(views) == 0 {
		return x, errors.Join(err, core.ErrNotFound)
	}
	w := views[0]
	x.Title = w.Session.Title
	if n.Kind == state.NamedSession {
		x.Prompt, x.Owner = w.Prompt.ID, w.Session.Owner
		x.Approval = only(w.Prompt.Pending)
		if c.Name == "retry" || c.Name == "undo" {
			x.Prompt = w.Session.Last
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

// Finder finds what commands are about.
type Finder struct {
	cfg setting.Config
	s   *scheduler.Scheduler
}

// New makes a finder.
func New(cfg setting.Config, s *scheduler.Scheduler) *Finder { return &Finder{cfg: cfg, s: s} }

// aboutWork are the commands that decide what becomes of an isolated session's work. Each is decided on what lies in the worktree when it is given; with a digest behind the ref, as
// their buttons have it, only if that still is what was shown.
var aboutWork = []string{"merge", "keep", "discard", "resolve"}
