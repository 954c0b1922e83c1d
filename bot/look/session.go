// Package look answers commands that only show something, and people's own pages.
package look

import (
	"context"
	"fmt"
	"strings"

	"paragents/bot/grammar"
	"paragents/bot/phrase"
	"paragents/bot/reply"
	"paragents/bot/setting"
	"paragents/bot/target"
	"paragents/bot/visit"
	"paragents/core"
	"paragents/core/scheduler"
)

func (d *Desk) Status(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	w, err := d.find.View(ctx, v, c)
	if err != nil {
		if notes := d.notes(); notes != "" && len(c.Args) == 0 && phrase.Personal(err) {
			v.Say("%s", notes)
		}
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[S:%s][%s] %s\n\n- workspace %s, mode %s, owner %s\n", w.Session.Ref, w.Word(), phrase.Escape(w.Session.Title), phrase.Code(w.Session.Workspace),
		w.Session.Mode, phrase.Person(w.Session.Owner))
	if w.Session.Worktree != nil {
		dir, err := d.cfg.Dir(w.Session.Workspace)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, phrase.TreeAt, phrase.Code(w.Session.Dir(dir)), phrase.Code(core.BranchOf(w.Session.Ref)))
	}
	if w.Prompt.Ref != "" {
		fmt.Fprintf(&b, "- prompt %s is %s: %s\n", phrase.Code(string(w.Prompt.Ref)), w.Prompt.State.Word(), phrase.Escape(phrase.Cut(w.Prompt.Text, 200)))
		if w.Prompt.Reason != "" {
			fmt.Fprintf(&b, "- %s\n", phrase.Escape(w.Prompt.Reason))
		}
		if g := w.Prompt.Guess; g != nil && len(g.Writes) > 0 && !w.Prompt.State.Ended() {
			fmt.Fprintf(&b, phrase.Guess, phrase.Files(g.Writes), g.Confidence)
		}
	}
	if n := len(w.Session.Queue); n > 1 {
		fmt.Fprintf(&b, "- %d more queued\n", n-1)
	}
	if w.Replica != "" {
		fmt.Fprintf(&b, "- held by replica %s\n", phrase.Code(string(w.Replica)))
	}
	b.WriteString(d.notes())
	v.Say("%s", b.String())
	return nil
}

func (d *Desk) Usage(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	w, err := d.find.View(ctx, v, c)
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
	v.Say("%s: the model was asked %d times; %d tokens sent (%d of them cached), %d received.", phrase.Named(w.Session), turns, sum.In, sum.Cached, sum.Out)
	return nil
}

// Log shows what a session did, call by call.
func (d *Desk) Log(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	w, err := d.find.View(ctx, v, c)
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
			fmt.Fprintf(&b, "- %s **%s** %s\n", at, phrase.Person(r.Person), phrase.Escape(phrase.Cut(r.Text, 200)))
		case core.RecordAssistant:
			for _, call := range r.Calls {
				fmt.Fprintf(&b, "- %s asked for %s\n", at, phrase.Code(phrase.Cut(call.Name+" "+call.Arguments, 200)))
			}
			if r.Text != "" {
				fmt.Fprintf(&b, "- %s said: %s\n", at, phrase.Escape(phrase.Cut(r.Text, 200)))
			}
		case core.RecordResult:
			fmt.Fprintf(&b, "- %s %s: %s\n", at, phrase.Escape(r.Tool), r.Ending)
		}
	}
	if b.Len() == 0 {
		b.WriteString(phrase.NoSessions)
	}
	v.Say("%s", b.String())
	return nil
}

// Desk answers what only shows something.
type Desk struct {
	cfg     setting.Config
	s       *scheduler.Scheduler
	find    *target.Finder
	replies *reply.Queue
}

// New makes the desk.
func New(cfg setting.Config, s *scheduler.Scheduler, find *target.Finder, replies *reply.Queue) *Desk {
	return &Desk{cfg: cfg, s: s, find: find, replies: replies}
}
