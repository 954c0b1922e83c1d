package bot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"paragents/core"
	"paragents/core/scheduler"
	"paragents/core/tool/file"
)

// diffLines is how many lines of a difference are shown; a longer one is a file.
const diffLines = 40

// diff shows what a session changed, from what the files held before its first change to what they hold now.
func (d *Desk) diff(ctx context.Context, v *visit, c Command) error {
	w, err := d.view(ctx, v, c)
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
		v.say(saysNoChanges, named(w.Session))
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
		fmt.Fprintf(&b, saysNoDiff+"\n", named(w.Session))
	} else {
		fmt.Fprintf(&b, saysDiff, named(w.Session), n)
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, saysByCommands, files(others))
	}
	pg := page{text: b.String()}
	if n > 0 && strings.Count(text, "\n") > diffLines && v.caps.Files {
		pg.text += saysInFile
		pg.file = &core.File{Name: string(w.Session.Ref) + ".diff", Data: []byte(text)}
	} else if n > 0 {
		pg.text += "\n" + fence(strings.TrimSuffix(text, "\n"))
	}
	v.out = append(v.out, pg)
	return nil
}

// undo puts the files back that one prompt changed, where nobody has changed them since.
func (d *Desk) undo(ctx context.Context, v *visit, c Command) error {
	x, err := d.theirs(ctx, v, c)
	if err != nil {
		return err
	}
	p, sess, err := d.s.Prompt(ctx, x.prompt)
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
		v.say(saysNoChanges, code(string(p.Ref)))
		return nil
	}
	root, err := d.root(sess)
	if err != nil {
		return err
	}
	defer root.Close()
	var b strings.Builder
	fmt.Fprintf(&b, saysUndone, code(string(p.Ref)))
	err = d.s.Borrow(ctx, scheduler.Loan{What: "undo", Prompt: p.ID, Paths: changes.Paths(), Who: v.Person}, func() string {
		done, left := 0, 0
		for _, u := range changes.Undo(root) {
			switch {
			case u.Err != nil:
				left++
				fmt.Fprintf(&b, saysKeptAsIs, code(u.Path), escape(u.Err.Error()))
				continue
			case u.Removed:
				fmt.Fprintf(&b, saysTakenAway, code(u.Path))
			default:
				fmt.Fprintf(&b, saysPutBack, code(u.Path))
			}
			done++
		}
		return fmt.Sprintf("%d files put back, %d left as they are", done, left)
	})
	var hit *scheduler.Collision
	if errors.As(err, &hit) {
		return fmt.Errorf("%w: "+saysHeldByOthers, core.ErrRefused, strings.TrimPrefix(hit.Error(), "would write "))
	}
	if err != nil {
		return err
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, saysByCommands, files(others))
	}
	v.say("%s", b.String())
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
	dir, err := d.cfg.dir(sess.Workspace)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(sess.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) && sess.Worktree != nil {
		return nil, fmt.Errorf("%w: "+saysNoTree, core.ErrRefused, plain(sess))
	}
	return root, err
}

// dir is a workspace's directory.
func (c Config) dir(workspace string) (string, error) {
	for _, w := range c.Workspaces {
		if w.Name == workspace {
			return w.Dir, nil
		}
	}
	return "", fmt.Errorf("%w: "+saysElsewhere, core.ErrNotFound, workspace)
}
