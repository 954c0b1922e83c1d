package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// handler carries out one command. What it says to the person goes into the visit; an error that is meant for people is said as well.
type handler func(d *Desk, ctx context.Context, v *visit, c Command) error

// entry is a command's handler with the role that it needs.
type entry struct {
	role access.Role
	do   handler
}

// entries are all commands of the grammar.
func entries() map[string]entry {
	return map[string]entry{
		"new":         {access.Operator, (*Desk).newSession},
		"submit":      {access.Operator, (*Desk).newSession},
		"prompt":      {access.Operator, (*Desk).prompt},
		"steer":       {access.Operator, (*Desk).steer},
		"list":        {access.Viewer, (*Desk).list},
		"switch":      {access.Operator, (*Desk).switchTo},
		"status":      {access.Viewer, (*Desk).status},
		"rename":      {access.Operator, (*Desk).rename},
		"close":       {access.Operator, (*Desk).close},
		"approvals":   {access.Viewer, (*Desk).approvals},
		"approve":     {access.Operator, (*Desk).approve},
		"deny":        {access.Operator, (*Desk).deny},
		"pause":       {access.Operator, (*Desk).order},
		"resume":      {access.Operator, (*Desk).order},
		"cancel":      {access.Operator, (*Desk).order},
		"wait":        {access.Operator, (*Desk).settle},
		"override":    {access.Operator, (*Desk).settle},
		"withdraw":    {access.Operator, (*Desk).withdraw},
		"isolate":     {access.Operator, (*Desk).isolate},
		"merge":       {access.Operator, (*Desk).decideWork},
		"keep":        {access.Operator, (*Desk).decideWork},
		"discard":     {access.Operator, (*Desk).decideWork},
		"resolve":     {access.Operator, (*Desk).decideWork},
		"diff":        {access.Viewer, (*Desk).diff},
		"undo":        {access.Operator, (*Desk).undo},
		"retry":       {access.Operator, (*Desk).retry},
		"stop":        {access.Operator, (*Desk).stop},
		"run-held":    {access.Operator, (*Desk).release},
		"drop-held":   {access.Operator, (*Desk).release},
		"permissions": {access.Viewer, (*Desk).permissions},
		"revoke":      {access.Operator, (*Desk).revoke},
		"freeze":      {access.Admin, (*Desk).freeze},
		"thaw":        {access.Admin, (*Desk).freeze},
		"verify":      {access.Viewer, (*Desk).verify},
		"access":      {access.Admin, (*Desk).access},
		"workspaces":  {access.Viewer, (*Desk).workspaces},
		"mode":        {access.Operator, (*Desk).mode},
		"usage":       {access.Viewer, (*Desk).usage},
		"log":         {access.Viewer, (*Desk).log},
		"audit":       {access.Admin, (*Desk).audit},
		"replicas":    {access.Viewer, (*Desk).replicas},
		"pair":        {access.Admin, (*Desk).pair},
		"setup":       {access.Viewer, (*Desk).setup},
		"show-config": {access.Admin, (*Desk).showConfig},
		"start":       {access.Viewer, (*Desk).start},
		"help":        {access.Nobody, (*Desk).help},
		"quit":        {access.Nobody, (*Desk).quit},
	}
}

// command carries out a command. Only failures of the store or the machine are returned: everything else is said to the person.
func (d *Desk) command(ctx context.Context, v *visit, c Command) error {
	h := d.entries[c.Name]
	elsewhere := d.decidesHere(ctx, v, c)
	if v.role == access.Nobody && h.role > access.Nobody && !elsewhere {
		return d.stranger(ctx, v)
	}
	err := need(v, h.role)
	if err == nil || elsewhere {
		err = h.do(d, ctx, v, c)
	}
	switch {
	case err == nil, errors.Is(err, errAsked):
		return nil
	case personal(err):
		v.say("%s", escape(trim(err)))
		return nil
	}
	return err
}

// newSession begins a session: new makes it the active one, submit leaves that as it is.
func (d *Desk) newSession(ctx context.Context, v *visit, c Command) error {
	isolated, rest := apart(c.Rest)
	name, text := inWorkspace(rest)
	if !isolated { // in either order
		isolated, text = apart(text)
	}
	if name == "" {
		name = d.workspace(v)
	}
	if !d.hasWorkspace(name) {
		return fmt.Errorf("%w: %s", core.ErrNotFound, fmt.Sprintf(saysWorkspace, name, strings.Join(d.workspaceNames(), ", ")))
	}
	if text == "" && len(v.Files) == 0 {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysNeedsText, v.caps.Slash, usage(c.Name)))
	}
	return d.submit(ctx, v, scheduler.Submission{Text: text, New: &scheduler.NewSession{Workspace: name, Isolated: isolated, Bind: c.Name == "new"}})
}

// submit hands a prompt in for the visitor, under the event's id.
func (d *Desk) submit(ctx context.Context, v *visit, sub scheduler.Submission) error {
	sub.Event, sub.Author, sub.Place, sub.Message, sub.Attachments = v.ID+"/prompt", v.Person, v.Place, v.Message, v.Files
	out, err := d.s.Accept(ctx, []scheduler.Submission{sub}, nil)
	if err != nil {
		return err
	}
	d.accepted(ctx, v, out[0])
	return nil
}

func (d *Desk) prompt(ctx context.Context, v *visit, c Command) error {
	if c.Rest == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysNeedsText, v.caps.Slash, usage(c.Name)))
	}
	sub := scheduler.Submission{Text: c.Rest, Session: v.bound}
	if v.bound == "" {
		sub.New = &scheduler.NewSession{Workspace: d.workspace(v), Bind: true}
	}
	return d.submit(ctx, v, sub)
}

func (d *Desk) steer(ctx context.Context, v *visit, c Command) error {
	if c.Rest == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysNeedsText, v.caps.Slash, usage(c.Name)))
	}
	x, err := d.target(ctx, v, Command{Name: c.Name})
	if err != nil {
		return err
	}
	if err := d.mayOrder(v, x.owner); err != nil {
		return err
	}
	p, err := d.s.Steer(ctx, x.prompt, v.Person, c.Rest)
	if err == nil {
		v.say(saysSteered, code(string(p.Ref)))
	}
	return err
}

func (d *Desk) switchTo(ctx context.Context, v *visit, c Command) error {
	x, err := d.theirs(ctx, v, c)
	if err != nil {
		return err
	}
	var b state.Batch
	b.Put(state.BindKey(v.Place), scheduler.Binding{Session: x.session}, 0)
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		return err
	}
	v.say(saysSwitched, code(string(x.ref))+" "+escape(x.title))
	return nil
}

func (d *Desk) rename(ctx context.Context, v *visit, c Command) error {
	if v.bound == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysNoSession, v.caps.Slash))
	}
	if err := d.mayOrderSession(ctx, v, v.bound); err != nil {
		return err
	}
	s, err := d.s.Rename(ctx, v.bound, v.Person, c.Rest)
	if err == nil {
		v.say(saysRenamed, named(s))
	}
	return err
}

func (d *Desk) mayOrderSession(ctx context.Context, v *visit, id core.SessionID) error {
	views, err := d.s.Views(ctx, []core.SessionID{id})
	if err != nil || len(views) == 0 {
		return errors.Join(err, core.ErrNotFound)
	}
	return d.mayOrder(v, views[0].Session.Owner)
}

func (d *Desk) close(ctx context.Context, v *visit, c Command) error {
	x, err := d.theirs(ctx, v, c)
	if err != nil {
		return err
	}
	s, err := d.s.Close(ctx, x.session, v.Person)
	if err != nil {
		return err
	}
	if x.session == v.bound {
		if err := d.unbind(ctx, v); err != nil {
			return err
		}
	}
	v.say(saysClosed, named(s))
	if len(s.Queue) == 0 {
		d.retire(ctx, s)
	}
	return nil
}

// unbind leaves the visitor's place without an active session.
func (d *Desk) unbind(ctx context.Context, v *visit) error {
	var b state.Batch
	b.Put(state.BindKey(v.Place), scheduler.Binding{}, 0)
	_, err := b.Commit(ctx, d.cfg.Store)
	return err
}

// approve says yes by command: only with a ref, or where exactly one thing waits.
func (d *Desk) approve(ctx context.Context, v *visit, c Command) error {
	scope := core.Once
	args := c.Args
	if n := len(args); n > 0 {
		switch core.Scope(strings.ToLower(args[n-1])) {
		case core.ForSession:
			scope, args = core.ForSession, args[:n-1]
		case core.Always:
			scope, args = core.Always, args[:n-1]
		case core.Once:
			args = args[:n-1]
		}
	}
	x, err := d.target(ctx, v, Command{Name: c.Name, Args: args, Rest: strings.Join(args, " ")})
	if err != nil {
		return err
	}
	if x.approval == "" {
		return fmt.Errorf("%w: %s names no single question; %sapprovals shows them", core.ErrRefused, x.ref, v.caps.Slash)
	}
	a, err := d.s.Approval(ctx, x.approval)
	if err != nil {
		return err
	}
	p := press{Approval: x.approval, Scope: scope, Do: doScope}
	if a.Confirm != "" {
		p.Do = doConfirm
	}
	if v.caps.Buttons && (scope != core.Once || a.Confirm != "") && a.State == core.Pending {
		return d.twice(ctx, v, p)
	}
	_, err = d.decide(ctx, v, x.approval, scheduler.Decision{State: core.Approved, Scope: scope})
	return err
}

func (d *Desk) deny(ctx context.Context, v *visit, c Command) error {
	x, err := d.target(ctx, v, c)
	if err != nil {
		return err
	}
	if x.approval == "" {
		return fmt.Errorf("%w: %s names no single question; %sapprovals shows them", core.ErrRefused, x.ref, v.caps.Slash)
	}
	reason := ""
	if len(c.Args) > 1 {
		_, reason = cutWord(c.Rest)
	}
	_, err = d.decide(ctx, v, x.approval, scheduler.Decision{State: core.Denied, Scope: core.Once, Reason: reason})
	return err
}

func (d *Desk) order(ctx context.Context, v *visit, c Command) error {
	x, err := d.theirs(ctx, v, c)
	if err != nil {
		return err
	}
	if x.prompt == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysNothing, c.Name))
	}
	var p core.Prompt
	switch c.Name {
	case "pause":
		if p, err = d.s.Pause(ctx, x.prompt, v.Person); err == nil {
			v.say(saysPausing, code(string(p.Ref)), v.caps.Slash, p.Ref)
		}
	case "resume":
		if p, err = d.resume(ctx, v, x.prompt); err == nil {
			v.say(saysResumed, code(string(p.Ref)))
		}
	default:
		was, _, err := d.s.Prompt(ctx, x.prompt)
		if err != nil {
			return err
		}
		if p, err = d.s.Cancel(ctx, x.prompt, v.Person); err == nil && p.State == core.Running {
			v.say(saysStopping, code(string(p.Ref)))
		} else if err == nil && was.Conflict != nil {
			v.say(saysCancelledIn, code(string(p.Ref)), files(was.Conflict.Paths), owners(was.Conflict.Owners))
		}
		return err
	}
	return err
}

// retry makes a new prompt of an old one.
func (d *Desk) retry(ctx context.Context, v *visit, c Command) error {
	x, err := d.theirs(ctx, v, c)
	if err != nil {
		return err
	}
	p, sess, err := d.s.Prompt(ctx, x.prompt)
	if err != nil {
		return err
	}
	if !p.State.Ended() {
		return fmt.Errorf("%w: prompt %s is %s; only one that has ended can be done again", core.ErrRefused, p.Ref, p.State.Word())
	}
	return d.submit(ctx, v, scheduler.Submission{Session: sess.ID, Text: p.Text, RetryOf: p.Ref})
}

func (d *Desk) stop(ctx context.Context, v *visit, c Command) error {
	x, err := d.theirs(ctx, v, c)
	if err != nil {
		return err
	}
	p, held, err := d.s.Stop(ctx, x.session, v.Person)
	if err != nil {
		return err
	}
	text := ""
	if p.State == core.Running {
		text = fmt.Sprintf(saysStopping, code(string(p.Ref)))
	}
	if held > 0 {
		if text == "" {
			text = fmt.Sprintf(saysEnded, code(string(p.Ref)))
		}
		text += fmt.Sprintf(saysHeld, held, v.caps.Slash, v.caps.Slash)
	}
	if text != "" {
		v.say("%s", text)
	}
	return nil
}

func (d *Desk) release(ctx context.Context, v *visit, c Command) error {
	x, err := d.target(ctx, v, c)
	if err != nil {
		return err
	}
	note, err := d.held(ctx, v, x.session, c.Name == "drop-held")
	if err == nil {
		v.say("%s", note)
	}
	return err
}

func (d *Desk) mode(ctx context.Context, v *visit, c Command) error {
	if v.bound == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysNoSession, v.caps.Slash))
	}
	m := core.Mode(strings.ToLower(c.Rest))
	switch m {
	case core.ModePlan, core.ModeAsk, core.ModeEdits:
	default:
		return fmt.Errorf("%w: the modes are plan (reads only), ask (the default) and edits (file tools may write in the workspace)", core.ErrRefused)
	}
	if err := d.mayOrderSession(ctx, v, v.bound); err != nil {
		return err
	}
	if err := d.s.SetMode(ctx, v.bound, v.Person, m); err != nil {
		return err
	}
	v.say(saysMode, "The session", m)
	return nil
}

func (d *Desk) pair(ctx context.Context, v *visit, c Command) error {
	if len(c.Args) == 0 {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(saysNeedsText, v.caps.Slash, usage(c.Name)))
	}
	role := access.Operator
	if len(c.Args) > 1 {
		var err error
		if role, err = access.ParseRole(c.Args[1]); err != nil {
			return err
		}
	}
	p, err := Pair(ctx, d.cfg.Store, c.Args[0], role, v.Person)
	if err == nil {
		v.say(saysPaired, escape(p.Name), escape(string(p.Person)), role)
	}
	return err
}

func usage(name string) string {
	for _, g := range grammar {
		if g.name == name {
			return g.usage
		}
	}
	return name
}

func (d *Desk) hasWorkspace(name string) bool {
	for _, w := range d.cfg.Workspaces {
		if w.Name == name {
			return true
		}
	}
	return false
}

func (d *Desk) workspaceNames() []string {
	out := make([]string, len(d.cfg.Workspaces))
	for i, w := range d.cfg.Workspaces {
		out[i] = w.Name
	}
	return out
}
