package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/audit"
	"paragents/core/scheduler"
	"paragents/core/state"
	"paragents/store"
)

// maySee reports whether the visitor may see a session of somebody else: private ones are their owner's alone.
func (d *Desk) maySee(v *visit, s core.Session) bool {
	return s.Owner == v.Person || !s.Place.Private && d.cfg.Access.Role(v.grants, v.Person, s.Place) >= access.Viewer
}

// ago is an age in one unit.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func (d *Desk) view(ctx context.Context, v *visit, c Command) (scheduler.View, error) {
	x, err := d.target(ctx, v, c)
	if err != nil {
		return scheduler.View{}, err
	}
	views, err := d.s.Views(ctx, []core.SessionID{x.session})
	if err != nil || len(views) == 0 {
		return scheduler.View{}, errors.Join(err, core.ErrNotFound)
	}
	if !d.maySee(v, views[0].Session) && v.role < access.Admin {
		return scheduler.View{}, core.ErrNotFound
	}
	return views[0], nil
}

func (d *Desk) status(ctx context.Context, v *visit, c Command) error {
	w, err := d.view(ctx, v, c)
	if err != nil {
		if notes := d.notes(); notes != "" && len(c.Args) == 0 && personal(err) {
			v.say("%s", notes)
		}
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[S:%s][%s] %s\n\n- workspace %s, mode %s, owner %s\n", w.Session.Ref, w.Word(), escape(w.Session.Title), code(w.Session.Workspace),
		w.Session.Mode, person(w.Session.Owner))
	if w.Session.Worktree != nil {
		dir, err := d.cfg.dir(w.Session.Workspace)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, saysTreeAt, code(w.Session.Dir(dir)), code(core.BranchOf(w.Session.Ref)))
	}
	if w.Prompt.Ref != "" {
		fmt.Fprintf(&b, "- prompt %s is %s: %s\n", code(string(w.Prompt.Ref)), w.Prompt.State.Word(), escape(cutRunes(w.Prompt.Text, 200)))
		if w.Prompt.Reason != "" {
			fmt.Fprintf(&b, "- %s\n", escape(w.Prompt.Reason))
		}
		if g := w.Prompt.Guess; g != nil && len(g.Writes) > 0 && !w.Prompt.State.Ended() {
			fmt.Fprintf(&b, saysGuess, files(g.Writes), g.Confidence)
		}
	}
	if n := len(w.Session.Queue); n > 1 {
		fmt.Fprintf(&b, "- %d more queued\n", n-1)
	}
	if w.Replica != "" {
		fmt.Fprintf(&b, "- held by replica %s\n", code(string(w.Replica)))
	}
	b.WriteString(d.notes())
	v.say("%s", b.String())
	return nil
}

func (d *Desk) approvals(ctx context.Context, v *visit, c Command) error {
	list, err := d.decidable(ctx, v)
	if err != nil {
		return err
	}
	var b strings.Builder
	var refs []core.Ref
	for _, a := range list {
		refs = append(refs, a.Ref)
		fmt.Fprintf(&b, "%d. %s [S:%s] %s, waiting for %s\n%s", len(refs), code(string(a.Ref)), a.SessionRef, escape(a.Action.Tool), ago(d.s.Now().Sub(a.Created)),
			fence(a.Action.Show))
	}
	if len(refs) == 0 {
		v.say(saysNoApprovals)
		return nil
	}
	v.say("%s", b.String())
	return d.remember(ctx, v, refs)
}

func (d *Desk) permissions(ctx context.Context, v *visit, c Command) error {
	var b strings.Builder
	name := d.workspace(v)
	var sess scheduler.Rules
	if v.bound != "" {
		views, err := d.s.Views(ctx, []core.SessionID{v.bound})
		if err != nil {
			return err
		}
		if len(views) > 0 {
			name = views[0].Session.Workspace
		}
		if sess, err = d.s.StoredRules(ctx, state.SessionRules(v.bound)); err != nil {
			return err
		}
	}
	stored, err := d.s.StoredRules(ctx, state.WorkspaceRules(name))
	if err != nil {
		return err
	}
	if c.Rest != "" {
		if d.cfg.Explain == nil {
			return fmt.Errorf("%w: the rules cannot be asked about single calls here", core.ErrRefused)
		}
		text, err := d.cfg.Explain(name, append(slices.Clone(stored.Allow), sess.Allow...), c.Rest)
		if err != nil {
			return fmt.Errorf("%w: %v", core.ErrRefused, err)
		}
		v.say("%s", fence(text))
		return nil
	}
	fmt.Fprintf(&b, "**Rules in %s.** deny wins over ask, ask over allow; what no rule allows is asked, reading in the workspace is free.\n\n", code(name))
	for _, w := range d.cfg.Workspaces {
		if w.Name != name {
			continue
		}
		for _, l := range []struct {
			list  string
			rules []string
		}{{"deny", w.Deny}, {"ask", w.Ask}, {"allow", w.Allow}} {
			for _, r := range l.rules {
				fmt.Fprintf(&b, "- %s %s (configuration)\n", l.list, code(r))
			}
		}
		fmt.Fprintf(&b, "- tools: %s\n", strings.Join(w.Capabilities, ", "))
	}
	for _, l := range []struct {
		where string
		rules []scheduler.StoredRule
	}{{"always here", stored.Allow}, {"this session", sess.Allow}} {
		for _, r := range l.rules {
			fmt.Fprintf(&b, "- allow %s (%s, by %s, %s; %s)\n", code(r.Rule), l.where, person(r.By), r.At.UTC().Format("2006-01-02 15:04"), lastUse(r))
		}
	}
	v.say("%s", b.String())
	return nil
}

func (d *Desk) workspaces(ctx context.Context, v *visit, c Command) error {
	var b strings.Builder
	for _, w := range d.cfg.Workspaces {
		fmt.Fprintf(&b, "- %s at %s (%s)\n", code(w.Name), code(w.Dir), strings.Join(w.Capabilities, ", "))
	}
	v.say("%s", b.String())
	return nil
}

func (d *Desk) usage(ctx context.Context, v *visit, c Command) error {
	w, err := d.view(ctx, v, c)
	if err != nil {
		return err
	}
	records, err := d.s.Transcript(ctx, w.Session.ID)
	if err != nil {
		return err
	}
	var sum core.Usage
	turns := 0
	for _, r := range records {
		if r.Usage != nil {
			sum, turns = sum.Add(*r.Usage), turns+1
		}
	}
	v.say("%s: the model was asked %d times; %d tokens sent (%d of them cached), %d received.", named(w.Session), turns, sum.In, sum.Cached, sum.Out)
	return nil
}

// log shows what a session did, call by call.
func (d *Desk) log(ctx context.Context, v *visit, c Command) error {
	w, err := d.view(ctx, v, c)
	if err != nil {
		return err
	}
	records, err := d.s.Transcript(ctx, w.Session.ID)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, r := range records {
		at := r.Time.UTC().Format("15:04:05")
		switch r.Kind {
		case core.RecordUser:
			fmt.Fprintf(&b, "- %s **%s** %s\n", at, person(r.Person), escape(cutRunes(r.Text, 200)))
		case core.RecordAssistant:
			for _, call := range r.Calls {
				fmt.Fprintf(&b, "- %s asked for %s\n", at, code(cutRunes(call.Name+" "+call.Arguments, 200)))
			}
			if r.Text != "" {
				fmt.Fprintf(&b, "- %s said: %s\n", at, escape(cutRunes(r.Text, 200)))
			}
		case core.RecordResult:
			fmt.Fprintf(&b, "- %s %s: %s\n", at, escape(r.Tool), r.Ending)
		}
	}
	if b.Len() == 0 {
		b.WriteString(saysNoSessions)
	}
	v.say("%s", b.String())
	return nil
}

// auditShown is how many entries audit shows.
const auditShown = 20

func (d *Desk) audit(ctx context.Context, v *visit, c Command) error {
	entries, err := audit.Last(ctx, d.cfg.Store, audit.Filter{}, auditShown)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		what := strings.Join(strings.Fields(strings.Join([]string{e.What, e.Tool, e.Outcome, e.Why}, " ")), " ")
		fmt.Fprintf(&b, "- %s %s %s%s%s\n", e.Time.UTC().Format("01-02 15:04:05"), escape(what), refs("S", e.Session), refs("P", e.Prompt), by(e.Who))
	}
	v.say("%s", b.String())
	return nil
}

func refs(kind string, r core.Ref) string {
	if r == "" {
		return ""
	}
	return fmt.Sprintf("[%s:%s]", kind, r)
}

func by(p core.Person) string {
	if p == "" {
		return ""
	}
	return " by " + person(p)
}

// Pair redeems a pairing code for an admin.
func Pair(ctx context.Context, s store.Store, code string, role access.Role, admin core.Person) (access.Pairing, error) {
	return access.Redeem(ctx, s, code, role, func(b *state.Batch, p access.Pairing) {
		b.Append(state.Audit, scheduler.Entry{Time: time.Now().UTC(), What: "paired", Who: admin, Outcome: string(p.Person) + " is " + role.String()})
	})
}

func (d *Desk) replicas(ctx context.Context, v *visit, c Command) error {
	list, err := d.s.Replicas(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, r := range list {
		me := ""
		if r.ID == d.s.ID() {
			me = " ← this one"
		}
		fmt.Fprintf(&b, "- %s on %s, version %s, since %s, holds %d sessions%s", code(string(r.ID)), escape(r.Host), escape(r.Version),
			r.Since.UTC().Format("2006-01-02 15:04:05"), r.Held, me)
		if len(r.Duties) > 0 {
			fmt.Fprintf(&b, saysDuties, code(strings.Join(r.Duties, " ")))
		}
		if len(r.Odd) > 0 {
			fmt.Fprintf(&b, saysOdd, escape(strings.Join(r.Odd, ", ")))
		}
		b.WriteString("\n")
	}
	v.say("%s", b.String())
	return nil
}

func (d *Desk) help(ctx context.Context, v *visit, c Command) error {
	var b strings.Builder
	b.WriteString(d.welcome(v).text + "\n\n")
	for _, g := range grammar {
		if g.name == "quit" && !v.caps.Lines || d.entries[g.name].role > v.role {
			continue
		}
		fmt.Fprintf(&b, "- `%s%s` — %s\n", v.caps.Slash, g.usage, g.help)
	}
	v.say("%s", b.String())
	return nil
}

// start greets with the first steps, as buttons where there are some.
func (d *Desk) start(ctx context.Context, v *visit, c Command) error {
	var bs buttons
	pg := d.welcome(v)
	pg.text += fmt.Sprintf(saysSteps, v.caps.Slash, v.caps.Slash)
	for _, step := range firstSteps {
		pg.rows = append(pg.rows, []core.Button{bs.add(step, "", press{Do: doCommand, Command: "new " + step, For: v.Person})})
	}
	var b state.Batch
	bs.put(&b)
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		return err
	}
	v.out = append(v.out, pg)
	d.setMenu(ctx, v)
	return nil
}

// setMenu shows in the visitor's own chat what they may do there, behind the answers so far.
func (d *Desk) setMenu(ctx context.Context, v *visit) {
	m, ok := v.adapter.(core.Menuer)
	if !ok || !v.Place.Private {
		return
	}
	place, list := v.Place, d.menuFor(v.role)
	select {
	case d.replies <- reply{also: func(ctx context.Context) error { return m.SetMenu(ctx, place, list) }}:
	case <-ctx.Done():
	}
}

func (d *Desk) quit(ctx context.Context, v *visit, c Command) error {
	if !v.caps.Lines {
		return fmt.Errorf("%w: there is nothing to leave here; %sclose closes a session", core.ErrRefused, v.caps.Slash)
	}
	v.say(saysLeave)
	return nil
}

// lastUse says when a stored rule last let a call through: what came within the hour after is not noted.
func lastUse(r scheduler.StoredRule) string {
	if r.Used.IsZero() {
		return "not used yet"
	}
	return "last used " + r.Used.UTC().Format("2006-01-02 15:04")
}
