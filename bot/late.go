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
	"paragents/core/delivery"
	"paragents/core/scheduler"
	"paragents/core/state"
	"paragents/store"
)

// tooOld is the age from which a message is asked about instead of run.
const tooOld = 15 * time.Minute

// late reports whether an event is so old that its author may mean it no more. The platform's time counts, and the store's.
func late(e core.Inbound, now time.Time) bool { return !e.At.IsZero() && now.Sub(e.At) > tooOld }

// begins are the commands that set work going. The others take effect however late they come.
var begins = []string{"new", "submit", "prompt", "steer", "retry", "approve", "resume"}

// inTime carries out a command, or asks about one that came late and would set work going.
func (d *Desk) inTime(ctx context.Context, v *visit, c Command) error {
	if slices.Contains(begins, c.Name) && v.role >= access.Operator && late(v.Inbound, d.s.Now()) {
		return d.askLate(ctx, v, v.Text)
	}
	return d.command(ctx, v, c)
}

// askLate asks whether a late message, or with command a late command, is to be run after all.
func (d *Desk) askLate(ctx context.Context, v *visit, command string) error {
	p := press{Session: v.replied, Event: v.ID, Text: v.request(), Message: v.Message, Files: v.Files, Entered: v.entered(), Command: command, For: v.Person}
	if p.Session == "" {
		p.Session = v.bound
	}
	run, drop := p, press{Do: doDropLate, Event: v.ID, For: v.Person}
	run.Do = doRunLate
	var bs buttons
	pg := page{text: fmt.Sprintf(saysTooOld, old(d.s.Now().Sub(v.At))), open: true} // who wrote it may be away by now
	pg.rows = [][]core.Button{{bs.add(labelRun, "", run), bs.add(labelDrop, "", drop)}}
	if !v.caps.Buttons {
		v.say("%s", pg.text+saysSendAgain)
		return nil
	}
	var b state.Batch
	bs.put(&b)
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		return err
	}
	v.out = append(v.out, pg)
	return nil
}

// old is an age as people say it.
func old(d time.Duration) string {
	if d < 2*time.Hour {
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	}
	return fmt.Sprintf("%d hours", int(d.Hours()))
}

// answerLate runs or drops a late message, whichever is pressed first.
func (d *Desk) answerLate(ctx context.Context, v *visit, p press) (string, error) {
	if err := need(v, access.Operator); err != nil {
		return "", err
	}
	event := p.Event + "/late"
	if p.Do == doRunLate && p.Command == "" {
		sub := scheduler.Submission{Event: event, Author: v.Person, Place: v.Place, Text: p.Text, Message: p.Message, Attachments: p.Files, Entered: p.Entered, Session: p.Session}
		if p.Session == "" {
			sub.New = &scheduler.NewSession{Workspace: d.workspace(v), Bind: true, Join: true}
		}
		out, err := d.s.Accept(ctx, []scheduler.Submission{sub}, nil)
		if err != nil {
			return "", err
		}
		if out[0].Duplicate {
			return saysGone, nil
		}
		v.Message = p.Message
		d.accepted(ctx, v, out[0])
		return saysLateRun, nil
	}
	var b state.Batch
	b.Expect(state.EventKey(event), 0)
	b.Put(state.EventKey(event), scheduler.Seen{}, scheduler.EventKept)
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		if errors.Is(err, store.ErrConflict) {
			return saysGone, nil
		}
		return "", err
	}
	if p.Do == doDropLate {
		return saysLateDrop, nil
	}
	c, ok := Parse(p.Command)
	if !ok {
		return saysGone, nil
	}
	return saysLateRun, d.command(ctx, v, c)
}

// settled puts a sentence in place of a message whose buttons were pressed, best effort.
func (d *Desk) settled(ctx context.Context, v *visit, message, text string) {
	if message == "" || !v.caps.Edits {
		return
	}
	if wait, _, err := delivery.Resting(ctx, d.cfg.Store, v.Place); err != nil || wait > 0 {
		return
	}
	for _, m := range d.cfg.messages(page{text: text}, v.caps, v.Place) {
		if err := v.adapter.Edit(ctx, message, m); err != nil {
			d.screen.rests(ctx, v.Place, err)
			d.cfg.Logger.Debug("cannot change a message that was answered", "error", err)
		}
	}
}

// left follows that the bot was removed from a place, or blocked there: it is written down, and nobody can answer there any more. Sessions keep.
func (d *Desk) left(ctx context.Context, v *visit) error {
	var b state.Batch
	b.Append(state.Audit, scheduler.Entry{Time: d.s.Now(), What: "left", Who: v.Person, Why: "the bot was removed from " + v.Place.Key() + ", or blocked there"})
	if _, err := b.Commit(ctx, d.cfg.Store); err != nil {
		return err
	}
	asked, err := d.s.Waiting(ctx, maxAskedAt)
	if err != nil {
		return err
	}
	here, err := d.s.List(ctx, state.ByPlace(v.Place), maxAskedAt, false)
	if err != nil {
		return err
	}
	var prompts []core.PromptID
	for _, a := range asked {
		if access.PlaceKey(a.Place) == access.PlaceKey(v.Place) {
			prompts = append(prompts, a.Prompt)
		}
	}
	for _, w := range here {
		if w.Prompt.State == core.Waiting || w.Prompt.State == core.Blocked {
			prompts = append(prompts, w.Prompt.ID)
		}
	}
	slices.Sort(prompts)
	for _, id := range slices.Compact(prompts) {
		if err := d.s.Unreachable(ctx, id, saysLeft); err != nil && !personal(err) {
			return err
		}
	}
	return nil
}

// maxAskedAt bounds how many questions are looked at when the bot is removed from a place; those behind them end when they are next asked about.
const maxAskedAt = 1000

// worthAsking reports whether a late message would be a prompt.
func worthAsking(v *visit) bool {
	return strings.TrimSpace(v.Text) != "" || len(v.Files) > 0 && v.Group == ""
}
