package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"paragents/bot/page"
	"paragents/bot/phrase"
	"paragents/bot/setting"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/worktree"
)

// diffLines is how many lines of a difference are shown; a longer one is a file.
const diffLines = 40

// Page shows what lies in a session's worktree, with the difference; one that is too long is a file.
func Page(ctx context.Context, c setting.Config, sess core.Session) (page.Page, worktree.Work, error) {
	at, err := c.Worktree(sess)
	if err != nil {
		return page.Page{}, worktree.Work{}, err
	}
	w, err := c.Git.Work(ctx, at)
	if err != nil {
		return page.Page{}, w, err
	}
	if w.Empty() {
		return page.Page{Text: fmt.Sprintf(phrase.NoWork, phrase.Named(sess), phrase.Code(sess.Worktree.Base), phrase.Code(at.Dir()))}, w, nil
	}
	diff, err := c.Git.Diff(ctx, at, w)
	if err != nil {
		return page.Page{}, w, err
	}
	diff = strings.ToValidUTF8(diff, "\uFFFD")
	if c.Redact != nil {
		diff = c.Redact(diff)
	}
	var b strings.Builder
	fmt.Fprintf(&b, phrase.Work, phrase.Count(len(w.Files), "file"), w.Added, w.Deleted, held(w), phrase.Code(core.BranchOf(sess.Ref)), phrase.Code(sess.Worktree.Base), phrase.Code(at.Dir()))
	p := page.Page{}
	switch {
	case diff == "":
	case strings.Count(diff, "\n") > diffLines:
		fmt.Fprintf(&b, "%s\n%s", phrase.Files(w.Files), phrase.InFile)
		p.File = &core.File{Name: string(sess.Ref) + ".diff", Data: []byte(diff)}
	default:
		b.WriteString(phrase.Fence(strings.TrimSuffix(diff, "\n")))
	}
	p.Text = b.String()
	return p, w, nil
}

// showWork is the command diff for an isolated session.
func (d *Desk) showWork(ctx context.Context, v *visit.Visit, sess core.Session) error {
	p, _, err := Page(ctx, d.cfg, sess)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: "+phrase.NoTree, core.ErrRefused, phrase.Plain(sess))
	}
	if err == nil {
		v.Out = append(v.Out, p)
	}
	return err
}

// held says of what a session's work consists.
func held(w worktree.Work) string {
	var parts []string
	if w.Commits > 0 {
		parts = append(parts, phrase.Count(w.Commits, "commit"))
	}
	if w.Uncommitted {
		parts = append(parts, phrase.Uncommitted)
	}
	return strings.Join(parts, phrase.And)
}
