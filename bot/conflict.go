package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"paragents/bot/grammar"
	"paragents/bot/phrase"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/scheduler"
)

// settle is the command wait or override: what a person chooses about a conflict.
func (d *Desk) settle(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	x, err := d.find.Theirs(ctx, v, c)
	if err != nil {
		return err
	}
	if x.Prompt == "" {
		return fmt.Errorf("%w: %s", core.ErrRefused, fmt.Sprintf(phrase.Nothing, c.Name))
	}
	if c.Name == "wait" {
		con, err := d.s.Wait(ctx, x.Prompt, v.Person)
		if err == nil && !v.Caps.Buttons {
			v.Say(phrase.Waiting, phrase.Files(con.Paths), phrase.Owners(con.Owners))
		}
		return err
	}
	con, err := d.s.Override(ctx, x.Prompt, v.Person, func(o core.Rival) error {
		if o.Author == v.Person || v.Role >= access.Approver {
			return nil
		}
		return fmt.Errorf("%w: %s", core.ErrForbidden, fmt.Sprintf(phrase.NotOver, o.Session, o.Title, strings.Join(o.Paths, ", "), o.Author))
	})
	if err == nil {
		v.Say(phrase.Override, phrase.Files(con.Paths), phrase.Owners(con.Owners))
	}
	return err
}

// isolate moves a prompt in conflict into a new session with a worktree of its own.
func (d *Desk) isolate(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	x, err := d.find.Theirs(ctx, v, c)
	if err != nil {
		return err
	}
	p, sess, err := d.s.Prompt(ctx, x.Prompt)
	if err != nil {
		return err
	}
	if p.State != core.Blocked {
		return fmt.Errorf("%w: "+phrase.NotBlocked, core.ErrRefused, p.Ref, p.State.Word())
	}
	dir, err := d.cfg.Dir(sess.Workspace)
	if err != nil {
		return err
	}
	if d.cfg.Git == nil {
		return fmt.Errorf("%w: "+phrase.NotApart, core.ErrRefused, phrase.Plain(sess))
	}
	if _, err := d.cfg.Git.Begin(ctx, dir); err != nil {
		return err
	}
	// Under the prompt's own name, so that it goes once however often this is asked for; then the old one ends.
	out, err := d.s.Accept(ctx, []scheduler.Submission{{Event: "isolate/" + string(p.ID), Author: p.Author, Place: p.Place, Text: p.Text, Message: p.Message, Attachments: p.Attachments,
		New: &scheduler.NewSession{Workspace: sess.Workspace, Mode: sess.Mode, Isolated: true, Bind: true}}}, nil)
	if err != nil {
		return err
	}
	d.accepted(ctx, v, out[0])
	if out[0].Err != nil {
		return nil
	}
	if _, err := d.s.Cancel(ctx, p.ID, v.Person); err != nil && !errors.Is(err, core.ErrRefused) {
		return err
	}
	if !out[0].Duplicate {
		v.Say(phrase.Isolated, phrase.Code(string(p.Ref)), phrase.Named(out[0].Session))
	}
	return nil
}

// withdraw takes the open questions back of those who hold what a prompt in conflict would write: their prompts end, and this one goes on when it can.
func (d *Desk) withdraw(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	x, err := d.find.Theirs(ctx, v, c)
	if err != nil {
		return err
	}
	p, _, err := d.s.Prompt(ctx, x.Prompt)
	if err != nil {
		return err
	}
	if p.State != core.Blocked || p.Conflict == nil {
		return fmt.Errorf("%w: "+phrase.NotBlocked, core.ErrRefused, p.Ref, p.State.Word())
	}
	var done []core.Rival
	for _, o := range p.Conflict.Owners {
		theirs, _, err := d.s.Prompt(ctx, o.Prompt)
		if err != nil || theirs.State != core.Waiting || len(theirs.Pending) == 0 {
			if err != nil && !errors.Is(err, core.ErrNotFound) {
				return err
			}
			continue
		}
		for _, id := range theirs.Pending {
			a, err := d.s.Approval(ctx, id)
			if err != nil {
				return err
			}
			if err := d.cfg.Access.MayDecide(v.Grants, v.Person, a, core.Once); err != nil {
				return err
			}
		}
		if _, err := d.s.Withdraw(ctx, theirs.ID, v.Person); err != nil {
			return err
		}
		done = append(done, o)
	}
	if len(done) == 0 {
		return fmt.Errorf("%w: %s", core.ErrRefused, phrase.NobodyAsks)
	}
	if _, err := d.s.Wait(ctx, p.ID, v.Person); err != nil && !errors.Is(err, core.ErrRefused) { // it may go on by itself already
		return err
	}
	v.Say(phrase.Withdrawn, phrase.Owners(done))
	return nil
}
