// Package decide takes answers to approvals: by button or typed, with a second question for what is wider or dangerous.
package decide

import (
	"context"
	"fmt"
	"strings"

	"paragents/bot/button"
	"paragents/bot/grammar"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/setting"
	"paragents/bot/target"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/audit"
	"paragents/core/orders"
	"paragents/core/scheduler"
	"paragents/core/state"
)

// Approve says yes by command: only with a ref, or where exactly one thing waits.
func (d *Desk) Approve(ctx context.Context, v *visit.Visit, c grammar.Command) error {
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
	x, err := d.find.Find(ctx, v, grammar.Command{Name: c.Name, Args: args, Rest: strings.Join(args, " ")})
	if err != nil {
		return err
	}
	if x.Approval == "" {
		return fmt.Errorf("%w: %s names no single question; %sapprovals shows them", core.ErrRefused, x.Ref, v.Caps.Slash)
	}
	a, err := d.s.Approval(ctx, x.Approval)
	if err != nil {
		return err
	}
	p := button.Press{Approval: x.Approval, Scope: scope, Do: button.DoScope}
	if a.Confirm != "" {
		p.Do = button.DoConfirm
	}
	if v.Caps.Buttons && (scope != core.Once || a.Confirm != "") && a.State == core.Pending {
		return d.Twice(ctx, v, p)
	}
	_, err = d.Decide(ctx, v, x.Approval, orders.Decision{State: core.Approved, Scope: scope})
	return err
}

func (d *Desk) Deny(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	x, err := d.find.Find(ctx, v, c)
	if err != nil {
		return err
	}
	if x.Approval == "" {
		return fmt.Errorf("%w: %s names no single question; %sapprovals shows them", core.ErrRefused, x.Ref, v.Caps.Slash)
	}
	reason := ""
	if len(c.Args) > 1 {
		_, reason = grammar.CutWord(c.Rest)
	}
	_, err = d.Decide(ctx, v, x.Approval, orders.Decision{State: core.Denied, Scope: core.Once, Reason: reason})
	return err
}

func ScopeOf(p button.Press) core.Scope {
	if p.Scope == "" {
		return core.Once
	}
	return p.Scope
}

// Decide answers an approval for the visitor, if they may.
func (d *Desk) Decide(ctx context.Context, v *visit.Visit, id core.ApprovalID, answer orders.Decision) (string, error) {
	a, err := d.s.Approval(ctx, id)
	if err != nil {
		return "", err
	}
	if err := d.mayDecide(ctx, v, a, answer.Scope); err != nil {
		return "", err
	}
	answer.By = v.Person
	a, err = d.s.Decide(ctx, id, answer)
	if err != nil {
		return "", err
	}
	return string(a.State), nil
}

// DecideAll answers several approvals with one press: those that somebody else has answered meanwhile stay as they are.
func (d *Desk) DecideAll(ctx context.Context, v *visit.Visit, p button.Press) (string, error) {
	to := core.Approved
	if p.Do == button.DoDeny {
		to = core.Denied
	}
	var first error
	n := 0
	for _, id := range p.Approvals {
		_, err := d.Decide(ctx, v, id, orders.Decision{State: to, Scope: core.Once})
		switch {
		case err == nil:
			n++
		case !phrase.Personal(err):
			return "", err
		case first == nil:
			first = err
		}
	}
	if n == 0 {
		return "", first
	}
	return fmt.Sprintf("%d %s", n, to), nil
}

// mayDecide says why the visitor may not answer an approval, if so, and notes that they tried.
func (d *Desk) mayDecide(ctx context.Context, v *visit.Visit, a core.Approval, scope core.Scope) error {
	if max(v.Role, d.cfg.Access.Role(v.Grants, v.Person, a.Place)) < access.Viewer {
		return fmt.Errorf("%w: %s", core.ErrForbidden, phrase.NotIn)
	}
	err := d.cfg.Access.MayDecide(v.Grants, v.Person, a, scope)
	if err != nil {
		d.refusedPress(ctx, v, a, err)
	}
	return err
}

// refusedPress tells the audit log of somebody who pressed what they may not.
func (d *Desk) refusedPress(ctx context.Context, v *visit.Visit, a core.Approval, why error) {
	var b state.Batch
	b.Append(state.Audit, audit.Entry{Time: d.s.Now(), What: "refused press", Session: a.SessionRef, Prompt: a.PromptRef, Request: a.Ref, Who: v.Person,
		Tool: a.Action.Tool, Digest: a.Digest, Why: why.Error(), Trace: a.Trace})
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		d.cfg.Logger.Error("cannot write the audit log", "error", err)
	}
}

// Twice asks once more, with everything that a wider or dangerous yes means in full.
func (d *Desk) Twice(ctx context.Context, v *visit.Visit, p button.Press) error {
	a, err := d.s.Approval(ctx, p.Approval)
	if err != nil {
		return err
	}
	if err := d.mayDecide(ctx, v, a, ScopeOf(p)); err != nil {
		return err
	}
	if a.State != core.Pending {
		return a.To(core.Approved, v.Person, "", d.s.Now()) // says who was faster
	}
	yes := p
	yes.Do, yes.For = button.DoApprove, v.Person
	var bs button.Set
	var pg page.Page
	if p.Do == button.DoConfirm {
		pg.Text = fmt.Sprintf(phrase.Confirm, phrase.Code(a.Confirm))
		pg.Rows = [][]core.Button{{bs.Add(fmt.Sprintf(phrase.LabelConfirm, phrase.Cut(a.Confirm, 40)), "danger", yes)}}
	} else {
		where := map[core.Scope]string{core.ForSession: "session", core.Always: "workspace"}[p.Scope]
		pg.Text = fmt.Sprintf(phrase.Wider, where, phrase.Fence(strings.Join(a.Offers, "\n")))
		pg.Rows = [][]core.Button{{bs.Add(phrase.LabelStore, "primary", yes)}}
		if len(a.Wider) > 0 {
			pg.Text += fmt.Sprintf(phrase.WiderStill, phrase.Fence(strings.Join(a.Wider, "\n")))
			yes.Wide = true
			pg.Rows[0] = append(pg.Rows[0], bs.Add(phrase.LabelStoreWide, "", yes))
		}
	}
	no := yes
	no.Do, no.Wide = button.DoDeny, false
	pg.Rows = append(pg.Rows, []core.Button{bs.Add(phrase.LabelDeny, "danger", no)})
	if err := bs.Store(ctx, d.cfg.Store); err != nil {
		return err
	}
	switch {
	case v.Caps.Lines:
		pg.Card = page.ApprovalCard(a)
	case v.Place.Platform == a.Place.Platform: // what is decided changes it where the approval's own card is changed
		pg.Card = page.SecondCard(a)
	}
	v.Out = append(v.Out, pg)
	return nil
}

// Desk takes answers to approvals.
type Desk struct {
	cfg  setting.Config
	s    *scheduler.Scheduler
	find *target.Finder
}

// New makes the desk.
func New(cfg setting.Config, s *scheduler.Scheduler, find *target.Finder) *Desk {
	return &Desk{cfg: cfg, s: s, find: find}
}
