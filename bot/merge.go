package bot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"paragents/core"
	"paragents/core/scheduler"
	"paragents/core/state"
	"paragents/core/worktree"
)

// aboutWork are the commands that decide what becomes of an isolated session's work. Each is decided on what lies in the worktree when it is given; with a digest behind the ref, as
// their buttons have it, only if that still is what was shown.
var aboutWork = []string{"merge", "keep", "discard", "resolve"}

// decideWork is one of them.
func (d *Desk) decideWork(ctx context.Context, v *visit, c Command) error {
	x, err := d.target(ctx, v, c)
	if err != nil {
		return err
	}
	views, err := d.s.Views(ctx, []core.SessionID{x.session})
	if err != nil || len(views) == 0 {
		return errors.Join(err, core.ErrNotFound)
	}
	w := views[0]
	if err := d.mayOrder(v, w.Session.Owner); err != nil {
		return err
	}
	at, err := d.cfg.at(w.Session)
	if err != nil {
		return err
	}
	if t := w.Session.Worktree; t.Discarded != "" && w.Session.Closed {
		return fmt.Errorf("%w: "+saysDiscardedBy, core.ErrDecided, t.By, t.At.UTC().Format("15:04:05"))
	}
	if c.Name == "keep" {
		return d.keep(ctx, v, at)
	}
	if w.Prompt.State == core.Running {
		return fmt.Errorf("%w: "+saysAtWork, core.ErrRefused, plain(w.Session), v.caps.Slash)
	}
	repository, err := d.cfg.Git.Repository(ctx, at.Workspace)
	if err != nil {
		return err
	}
	digest := ""
	if len(c.Args) > 1 {
		digest = c.Args[1]
	}
	return d.s.Alone(ctx, "merge/"+repository, func(ctx context.Context) error {
		work, err := d.cfg.Git.Work(ctx, at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w: "+saysNoTree, core.ErrRefused, plain(w.Session))
		case err != nil:
			return err
		case digest != "" && digest != work.Digest:
			_, err := d.s.Work(ctx, w.Session.ID, v.Person, core.Event{State: string(core.WorkOpen)}, func(core.Session, *core.Worktree) error { return nil })
			if err != nil {
				return err
			}
			return fmt.Errorf("%w: %s", core.ErrRefused, saysWorkChanged)
		}
		switch c.Name {
		case "merge":
			return d.merge(ctx, v, w, at, work)
		case "resolve":
			return d.giveBack(ctx, v, w, at, work)
		}
		return d.discard(ctx, v, w, at, work, digest)
	})
}

// merge brings a session's work into the workspace's checkout, or shows why it cannot be. Cut off at any point, it goes on when it is asked for again.
func (d *Desk) merge(ctx context.Context, v *visit, w scheduler.View, at worktree.At, work worktree.Work) error {
	git, sess := d.cfg.Git, w.Session
	merged := core.Event{State: string(core.WorkMerged), Text: sess.Worktree.Base}
	record := func(head string) error {
		now, err := d.s.Work(ctx, sess.ID, v.Person, merged, func(_ core.Session, t *core.Worktree) error {
			if t.Merged == head {
				return fmt.Errorf("%w: "+saysMergedBy, core.ErrDecided, t.By, t.At.UTC().Format("15:04:05"))
			}
			t.Merged, t.Conflicts, t.Kept, t.By, t.At = head, nil, false, v.Person, d.s.Now()
			return nil
		})
		if err == nil && w.Replica == "" {
			d.retire(ctx, now)
		}
		return err
	}
	if work.Empty() {
		if work.Head == sess.Worktree.Commit {
			return fmt.Errorf("%w: "+saysNothingToMerge, core.ErrRefused, plain(sess))
		}
		return record(work.Head)
	}
	message := fmt.Sprintf("%s\n\nSession %s of Paragents.", sess.Title, sess.Ref)
	head, err := git.Save(ctx, at, work, message)
	if err != nil {
		return err
	}
	plan, err := git.Plan(ctx, at, head, fmt.Sprintf("Merge session %s: %s", sess.Ref, sess.Title))
	if err != nil {
		return err
	}
	if len(plan.Conflicts) > 0 {
		e := core.Event{State: string(core.WorkConflict), Text: plan.Branch, Paths: plan.Conflicts}
		_, err := d.s.Work(ctx, sess.ID, v.Person, e, func(core.Session, *core.Worktree) error { return nil })
		return err
	}
	if !plan.Nothing() {
		var failed error
		err := d.s.Borrow(ctx, scheduler.Loan{What: "merge", Prompt: sess.Last, Paths: plan.Claims, Shared: true, Who: v.Person}, func() string {
			if failed = git.Apply(ctx, at, plan); failed != nil {
				return "not done: " + failed.Error()
			}
			return fmt.Sprintf("%.12s, %d files", plan.Merged, len(plan.Files))
		})
		var hit *scheduler.Collision
		if errors.As(err, &hit) {
			return fmt.Errorf("%w: "+saysMergeHeld, core.ErrRefused, strings.TrimPrefix(hit.Error(), "would write "))
		}
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	merged.Paths = plan.Files
	return record(head)
}

// keep leaves a session's worktree and branch where they are.
func (d *Desk) keep(ctx context.Context, v *visit, at worktree.At) error {
	e := core.Event{State: string(core.WorkKept), Text: at.Dir()}
	_, err := d.s.Work(ctx, at.Session.ID, v.Person, e, func(_ core.Session, t *core.Worktree) error {
		if t.Kept {
			return fmt.Errorf("%w: "+saysKeptBy, core.ErrDecided, t.By, t.At.UTC().Format("15:04:05"), at.Dir())
		}
		t.Kept, t.By, t.At = true, v.Person, d.s.Now()
		return nil
	})
	return err
}

// discard closes the session and throws its work away; where there is any, it asks once more.
func (d *Desk) discard(ctx context.Context, v *visit, w scheduler.View, at worktree.At, work worktree.Work, digest string) error {
	if !work.Empty() && digest == "" {
		var bs buttons
		yes := "discard " + string(w.Session.Ref) + " " + work.Digest
		p := page{text: fmt.Sprintf(saysDiscardSure, named(w.Session), held(work), files(work.Files)),
			rows: [][]core.Button{{bs.add(labelDiscardSure, "danger", press{Do: doCommand, Command: yes, For: v.Person})}}}
		if !v.caps.Buttons {
			p.text += fmt.Sprintf(saysDiscardTyped, v.caps.Slash, yes)
		}
		var b state.Batch
		bs.put(&b)
		if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
			return err
		}
		v.out = append(v.out, p)
		return nil
	}
	sess, err := d.s.Work(ctx, w.Session.ID, v.Person, core.Event{State: string(core.WorkDiscarded)}, func(s core.Session, t *core.Worktree) error {
		if t.Discarded != "" {
			return fmt.Errorf("%w: "+saysDiscardedBy, core.ErrDecided, t.By, t.At.UTC().Format("15:04:05"))
		}
		t.Discarded, t.By, t.At = work.Digest, v.Person, d.s.Now()
		return nil
	})
	if err != nil {
		return err
	}
	if w.Session.ID == v.bound {
		if err := d.unbind(ctx, v); err != nil {
			return err
		}
	}
	if w.Replica == "" { // else who works there ends first, and the janitor sees to it
		d.retire(ctx, sess)
	}
	return nil
}

// retire takes the worktree of a closed session away, if nothing in it is needed. Best effort: the janitor tries again.
func (d *Desk) retire(ctx context.Context, sess core.Session) {
	at, err := d.cfg.at(sess)
	if err != nil || !sess.Closed {
		return // it has none here, or goes on working in it
	}
	if _, why, err := d.cfg.Git.Retire(ctx, at); err != nil || why != "" {
		d.cfg.Logger.Info("not removing a worktree", "session", sess.Ref, "why", why, "error", err)
	}
}

// giveBack merges the base into the session's branch and has the session resolve what is in conflict.
func (d *Desk) giveBack(ctx context.Context, v *visit, w scheduler.View, at worktree.At, work worktree.Work) error {
	sess := w.Session
	switch {
	case sess.Closed:
		return fmt.Errorf("%w: "+saysResolveClosed, core.ErrRefused, plain(sess), at.Dir())
	case len(sess.Queue) > 0:
		return fmt.Errorf("%w: "+saysAtWork, core.ErrRefused, plain(sess), v.caps.Slash)
	case work.Merging && len(sess.Worktree.Conflicts) > 0:
		return fmt.Errorf("%w: "+saysGivenBefore, core.ErrDecided, strings.Join(sess.Worktree.Conflicts, ", "))
	}
	if !work.Merging { // else it was cut off before it was written down
		if _, err := d.cfg.Git.Save(ctx, at, work, fmt.Sprintf("%s\n\nSession %s of Paragents.", sess.Title, sess.Ref)); err != nil {
			return err
		}
	}
	list, err := d.cfg.Git.GiveBack(ctx, at, fmt.Sprintf("Merge %s into %s", sess.Worktree.Base, core.BranchOf(sess.Ref)))
	if err != nil {
		return err
	}
	e := core.Event{State: string(core.WorkGiven), Paths: list}
	if len(list) == 0 {
		e.State = string(core.WorkOpen)
	}
	if _, err := d.s.Work(ctx, sess.ID, v.Person, e, func(_ core.Session, t *core.Worktree) error {
		t.Conflicts = list
		return nil
	}); err != nil || len(list) == 0 {
		return err
	}
	return d.submit(ctx, v, scheduler.Submission{Session: sess.ID, Text: fmt.Sprintf(tellsResolve, sess.Worktree.Base, strings.Join(list, ", "))})
}

// isolate moves a prompt in conflict into a new session with a worktree of its own.
func (d *Desk) isolate(ctx context.Context, v *visit, c Command) error {
	x, err := d.theirs(ctx, v, c)
	if err != nil {
		return err
	}
	p, sess, err := d.s.Prompt(ctx, x.prompt)
	if err != nil {
		return err
	}
	if p.State != core.Blocked {
		return fmt.Errorf("%w: "+saysNotBlocked, core.ErrRefused, p.Ref, p.State.Word())
	}
	dir, err := d.cfg.dir(sess.Workspace)
	if err != nil {
		return err
	}
	if d.cfg.Git == nil {
		return fmt.Errorf("%w: "+saysNotApart, core.ErrRefused, plain(sess))
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
		v.say(saysIsolated, code(string(p.Ref)), named(out[0].Session))
	}
	return nil
}

// withdraw takes the open questions back of those who hold what a prompt in conflict would write: their prompts end, and this one goes on when it can.
func (d *Desk) withdraw(ctx context.Context, v *visit, c Command) error {
	x, err := d.theirs(ctx, v, c)
	if err != nil {
		return err
	}
	p, _, err := d.s.Prompt(ctx, x.prompt)
	if err != nil {
		return err
	}
	if p.State != core.Blocked || p.Conflict == nil {
		return fmt.Errorf("%w: "+saysNotBlocked, core.ErrRefused, p.Ref, p.State.Word())
	}
	var done []core.Rival
	for _, o := range p.Conflict.Owners {
		theirs, _, err := d.s.Prompt(ctx, o.Prompt)
		if err != nil || theirs.State != core.Waiting || len(theirs.Pending) == 0 {
			if err := ignored(err, core.ErrNotFound); err != nil {
				return err
			}
			continue
		}
		for _, id := range theirs.Pending {
			a, err := d.s.Approval(ctx, id)
			if err != nil {
				return err
			}
			if err := d.cfg.Access.MayDecide(v.grants, v.Person, a, core.Once); err != nil {
				return err
			}
		}
		if _, err := d.s.Withdraw(ctx, theirs.ID, v.Person); err != nil {
			return err
		}
		done = append(done, o)
	}
	if len(done) == 0 {
		return fmt.Errorf("%w: %s", core.ErrRefused, saysNobodyAsks)
	}
	if _, err := d.s.Wait(ctx, p.ID, v.Person); err != nil && !errors.Is(err, core.ErrRefused) { // it may go on by itself already
		return err
	}
	v.say(saysWithdrawn, owners(done))
	return nil
}
