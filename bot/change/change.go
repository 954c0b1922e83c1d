// Package change is about what sessions changed: it is shown, undone, merged, kept or discarded.
package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"paragents/bot/grammar"
	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/setting"
	"paragents/bot/target"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/scheduler"
	"paragents/core/tool/file"
)

// Diff shows what a session changed, from what the files held before its first change to what they hold now.
func (d *Desk) Diff(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	w, err := d.find.View(ctx, v, c)
	if err != nil {
		return err
	}
	if w.Session.Worktree != nil {
		return d.showWork(ctx, v, w.Session)
	}
	changes, others, err := d.changes(ctx, w.Session.ID, "")
	if err != nil {
		return err
	}
	if len(changes.Paths()) == 0 && len(others) == 0 {
		v.Say(phrase.NoChanges, phrase.Named(w.Session))
		return nil
	}
	root, err := d.root(w.Session)
	if err != nil {
		return err
	}
	defer root.Close()
	text, n := changes.Diff(root)
	if d.cfg.Redact != nil {
		text = d.cfg.Redact(text)
	}
	var b strings.Builder
	if n == 0 {
		fmt.Fprintf(&b, phrase.NoDiff+"\n", phrase.Named(w.Session))
	} else {
		fmt.Fprintf(&b, phrase.Diff, phrase.Named(w.Session), n)
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, phrase.ByCommands, phrase.Files(others))
	}
	pg := page.Page{Text: b.String()}
	if n > 0 && strings.Count(text, "\n") > diffLines && v.Caps.Files {
		pg.Text += phrase.InFile
		pg.File = &core.File{Name: string(w.Session.Ref) + ".diff", Data: []byte(text)}
	} else if n > 0 {
		pg.Text += "\n" + phrase.Fence(strings.TrimSuffix(text, "\n"))
	}
	v.Out = append(v.Out, pg)
	return nil
}

// Undo puts the files back that one prompt changed, where nobody has changed them since.
func (d *Desk) Undo(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	x, err := d.find.Theirs(ctx, v, c)
	if err != nil {
		return err
	}
	p, sess, err := d.s.Prompt(ctx, x.Prompt)
	if err != nil {
		return err
	}
	if !p.State.Ended() {
		return fmt.Errorf("%w: prompt %s is %s; only what has ended can be undone", core.ErrRefused, p.Ref, p.State.Word())
	}
	changes, others, err := d.changes(ctx, sess.ID, p.ID)
	if err != nil {
		return err
	}
	if len(changes.Paths()) == 0 {
		v.Say(phrase.NoChanges, phrase.Code(string(p.Ref)))
		return nil
	}
	root, err := d.root(sess)
	if err != nil {
		return err
	}
	defer root.Close()
	var b strings.Builder
	fmt.Fprintf(&b, phrase.Undone, phrase.Code(string(p.Ref)))
	err = d.s.Borrow(ctx, scheduler.Loan{What: "undo", Prompt: p.ID, Paths: changes.Paths(), Who: v.Person}, func() string {
		done, left := 0, 0
		for _, u := range changes.Undo(root) {
			switch {
			case u.Err != nil:
				left++
				fmt.Fprintf(&b, phrase.KeptAsIs, phrase.Code(u.Path), phrase.Escape(u.Err.Error()))
				continue
			case u.Removed:
				fmt.Fprintf(&b, phrase.TakenAway, phrase.Code(u.Path))
			default:
				fmt.Fprintf(&b, phrase.PutBack, phrase.Code(u.Path))
			}
			done++
		}
		return fmt.Sprintf("%d files put back, %d left as they are", done, left)
	})
	var hit *core.Collision
	if errors.As(err, &hit) {
		return fmt.Errorf("%w: "+phrase.HeldByOthers, core.ErrRefused, strings.TrimPrefix(hit.Error(), "would write "))
	}
	if err != nil {
		return err
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, phrase.ByCommands, phrase.Files(others))
	}
	v.Say("%s", b.String())
	return nil
}

// changes are what a session's file tools changed, or those of one prompt; others are the files that commands changed, of which nobody knows what they held.
func (d *Desk) changes(ctx context.Context, id core.SessionID, only core.PromptID) (*file.Changes, []string, error) {
	records, err := d.s.Transcript(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	changes, others := &file.Changes{}, map[string]bool{}
	for _, r := range records {
		if only != "" && r.Prompt != only {
			continue
		}
		changes.Add(r.Prompt, r.Changes...)
		for _, path := range r.Changed {
			others[path] = true
		}
	}
	for _, path := range changes.Paths() {
		delete(others, path)
	}
	return changes, slices.Sorted(maps.Keys(others)), nil
}

// root opens the directory that a session works in; the caller closes it.
func (d *Desk) root(sess core.Session) (*os.Root, error) {
	dir, err := d.cfg.Dir(sess.Workspace)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(sess.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) && sess.Worktree != nil {
		return nil, fmt.Errorf("%w: "+phrase.NoTree, core.ErrRefused, phrase.Plain(sess))
	}
	return root, err
}

// Desk is about what sessions changed.
type Desk struct {
	cfg    setting.Config
	s      *scheduler.Scheduler
	find   *target.Finder
	submit func(context.Context, *visit.Visit, scheduler.Submission) error
	unbind func(context.Context, *visit.Visit) error
}

// New makes the desk: submit hands a prompt in for the visitor, unbind leaves their place without an active session.
func New(cfg setting.Config, s *scheduler.Scheduler, find *target.Finder, submit func(context.Context, *visit.Visit, scheduler.Submission) error, unbind func(context.Context, *visit.Visit) error) *Desk {
	return &Desk{cfg: cfg, s: s, find: find, submit: submit, unbind: unbind}
}
