package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"paragents/bot/button"
	"paragents/bot/grammar"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/reader"
	"paragents/core/scheduler"
	"paragents/core/worktree"
)

// DecideWork is one of them.
func (d *Desk) DecideWork(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	x, err := d.find.Find(ctx, v, c)
	if err != nil {
		return err
	}
	views, err := d.s.Views(ctx, []core.SessionID{x.Session})
	if err != nil || len(views) == 0 {
		return errors.Join(err, core.ErrNotFound)
	}
	w := views[0]
	if err := v.MayOrder(w.Session.Owner); err != nil {
		return err
	}
	at, err := d.cfg.Worktree(w.Session)
	if err != nil {
		return err
	}
	if t := w.Session.Worktree; t.Discarded != "" && w.Session.Closed {
		return fmt.Errorf("%w: "+phrase.DiscardedBy, core.ErrDecided, t.By, t.At.UTC().Format("15:04:05"))
	}
	if c.Name == "keep" {
		return d.keep(ctx, v, at)
	}
	if w.Prompt.State == core.Running {
		return fmt.Errorf("%w: "+phrase.AtWork, core.ErrRefused, phrase.Plain(w.Session), v.Caps.Slash)
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
			return fmt.Errorf("%w: "+phrase.NoTree, core.ErrRefused, phrase.Plain(w.Session))
		case err != nil:
			return err
		case digest != "" && digest != work.Digest:
			_, err := d.s.Work(ctx, w.Session.ID, v.Person, core.Event{State: string(core.WorkOpen)}, func(core.Session, *core.Worktree) error { return nil })
			if err != nil {
				return err
			}
			return fmt.Errorf("%w: %s", core.ErrRefused, phrase.WorkChanged)
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
func (d *Desk) merge(ctx context.Context, v *visit.Visit, w reader.View, at worktree.At, work worktree.Work) error {
	git, sess := d.cfg.Git, w.Session
	merged := core.Event{State: string(core.WorkMerged), Text: sess.Worktree.Base}
	record := func(head string) error {
		now, err := d.s.Work(ctx, sess.ID, v.Person, merged, func(_ core.Session, t *core.Worktree) error {
			if t.Merged == head {
				return fmt.Errorf("%w: "+phrase.MergedBy, core.ErrDecided, t.By, t.At.UTC().Format("15:04:05"))
			}
			t.Merged, t.Conflicts, t.Kept, t.By, t.At = head, nil, false, v.Person, d.s.Now()
			return nil
		})
		if err == nil && w.Replica == "" {
			d.Retire(ctx, now)
		}
		return err
	}
	if work.Empty() {
		if work.Head == sess.Worktree.Commit {
			return fmt.Errorf("%w: "+phrase.NothingToMerge, core.ErrRefused, phrase.Plain(sess))
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
		var hit *core.Collision
		if errors.As(err, &hit) {
			return fmt.Errorf("%w: "+phrase.MergeHeld, core.ErrRefused, strings.TrimPrefix(hit.Error(), "would write "))
		}
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	merged.Paths = plan.Files
	return record(head)
}

// keep leaves a session's worktree and branch where they are.
func (d *Desk) keep(ctx context.Context, v *visit.Visit, at worktree.At) error {
	e := core.Event{State: string(core.WorkKept), Text: at.Dir()}
	_, err := d.s.Work(ctx, at.Session.ID, v.Person, e, func(_ core.Session, t *core.Worktree) error {
		if t.Kept {
			return fmt.Errorf("%w: "+phrase.KeptBy, core.ErrDecided, t.By, t.At.UTC().Format("15:04:05"), at.Dir())
		}
		t.Kept, t.By, t.At = true, v.Person, d.s.Now()
		return nil
	})
	return err
}

// discard closes the session and throws its work away; where there is any, it asks once more.
func (d *Desk) discard(ctx context.Context, v *visit.Visit, w reader.View, at worktree.At, work worktree.Work, digest string) error {
	if !work.Empty() && digest == "" {
		var bs button.Set
		yes := "discard " + string(w.Session.Ref) + " " + work.Digest
		p := page.Page{Text: fmt.Sprintf(phrase.DiscardSure, phrase.Named(w.Session), held(work), phrase.Files(work.Files)),
			Rows: [][]core.Button{{bs.Add(phrase.LabelDiscardSure, "danger", button.Press{Do: button.DoCommand, Command: yes, For: v.Person})}}}
		if !v.Caps.Buttons {
			p.Text += fmt.Sprintf(phrase.DiscardTyped, v.Caps.Slash, yes)
		}
		if err := bs.Store(ctx, d.cfg.Store); err != nil {
			return err
		}
		v.Out = append(v.Out, p)
		return nil
	}
	sess, err := d.s.Work(ctx, w.Session.ID, v.Person, core.Event{State: string(core.WorkDiscarded)}, func(s core.Session, t *core.Worktree) error {
		if t.Discarded != "" {
			return fmt.Errorf("%w: "+phrase.DiscardedBy, core.ErrDecided, t.By, t.At.UTC().Format("15:04:05"))
		}
		t.Discarded, t.By, t.At = work.Digest, v.Person, d.s.Now()
		return nil
	})
	if err != nil {
		return err
	}
	if w.Session.ID == v.Bound {
		if err := d.unbind(ctx, v); err != nil {
			return err
		}
	}
	if w.Replica == "" { // else who works there ends first, and the janitor sees to it
		d.Retire(ctx, sess)
	}
	return nil
}

// Retire takes the worktree of a closed session away, if nothing in it is needed. Best effort: the janitor tries again.
func (d *Desk) Retire(ctx context.Context, sess core.Session) {
	at, err := d.cfg.Worktree(sess)
	if err != nil || !sess.Closed {
		return // it has none here, or goes on working in it
	}
	if _, why, err := d.cfg.Git.Retire(ctx, at); err != nil || why != "" {
		d.cfg.Logger.Info("not removing a worktree", "session", sess.Ref, "why", why, "error", err)
	}
}

// giveBack merges the base into the session's branch and has the session resolve what is in conflict.
func (d *Desk) giveBack(ctx context.Context, v *visit.Visit, w reader.View, at worktree.At, work worktree.Work) error {
	sess := w.Session
	switch {
	case sess.Closed:
		return fmt.Errorf("%w: "+phrase.ResolveClosed, core.ErrRefused, phrase.Plain(sess), at.Dir())
	case len(sess.Queue) > 0:
		return fmt.Errorf("%w: "+phrase.AtWork, core.ErrRefused, phrase.Plain(sess), v.Caps.Slash)
	case work.Merging && len(sess.Worktree.Conflicts) > 0:
		return fmt.Errorf("%w: "+phrase.GivenBefore, core.ErrDecided, strings.Join(sess.Worktree.Conflicts, ", "))
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
	return d.submit(ctx, v, scheduler.Submission{Session: sess.ID, Text: fmt.Sprintf(phrase.TellsResolve, sess.Worktree.Base, strings.Join(list, ", "))})
}
