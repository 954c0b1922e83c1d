package moves

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/state"
)

// Result is what a prompt came to, for people.
type Result struct {
	Answer string
	Error  string   // why it did not end well
	Files  []string // that it changed
}

// loudAfter is how long a prompt must have taken for its end to notify the asker.
const loudAfter = 30 * time.Second

// By says who did it, for people.
func By(what string, who core.Person) string {
	if who == "" {
		return what
	}
	_, id, _ := strings.Cut(string(who), ":")
	return what + " by " + id
}

// Unasked says that what would be asked cannot be.
func Unasked(what, why string) string { return fmt.Sprintf("nobody can be asked (%s): %s", why, what) }

// End ends a prompt, and writes the session that it leaves.
func (b *Batch) End(sess *state.Doc[core.Session], p *core.Prompt, to core.PromptState, out Result) error {
	if err := b.Leave(&sess.Value, p, to, out); err != nil {
		return err
	}
	b.Update(state.SessionKey(sess.Value.ID), sess.Version, sess.Value)
	b.Touch(sess.Value)
	return nil
}

// Leave is the one way in which a prompt ends: it leaves the queue, and says so in exactly one result. The caller writes the session and the prompt.
func (b *Batch) Leave(v *core.Session, p *core.Prompt, to core.PromptState, out Result) error {
	if err := p.To(to, out.Error); err != nil {
		return err
	}
	b.Unblock(*v, p, core.ConflictCancelled, "")
	now := b.Now()
	p.Ended, p.Pending, p.Question, p.Choices, p.Order = now, nil, "", nil, core.OrderNone
	v.Queue = slices.DeleteFunc(slices.Clone(v.Queue), func(id core.PromptID) bool { return id == p.ID })
	why := out.Error
	if n := len(p.Steer); n > 0 {
		if to == core.Cancelled || v.Closed { // they were for the prompt that a person has stopped
			why = strings.TrimPrefix(fmt.Sprintf("%s; it had not read the last %d messages for it", why, n), "; ")
		} else {
			b.promote(v, *p, now)
		}
		p.Steer = nil
	}
	v.Last, v.Touched = p.ID, now
	if len(v.Queue) == 0 {
		v.Held = false
	}
	if out.Answer != "" {
		b.Say(*v, *p, core.Event{Type: core.EventAnswer, Text: out.Answer}, false)
	}
	took := now.Sub(p.Accepted)
	b.Say(*v, *p, core.Event{Type: core.EventEnd, State: string(to), Error: why, Turns: p.Turns,
		Tokens: p.Usage.In + p.Usage.Out, Took: took, Files: out.Files}, to == core.Failed || took > loudAfter)
	if v.Worktree != nil && v.Worktree.Discarded == "" && len(v.Queue) == 0 && (v.Closed && !v.Worktree.Kept || to == core.Done && len(out.Files) > 0) {
		b.Say(*v, *p, core.Event{Type: core.EventWork, State: string(core.WorkOpen)}, v.Closed || took > loudAfter)
	}
	b.Append(state.Audit, audit.Entry{Time: now, What: "ended", Session: v.Ref, Prompt: p.Ref, Who: p.Author, Outcome: string(to), Why: why, Trace: p.Trace})
	// The letters want to be sent and the next prompt to be run. When this replica holds the session it does both before it gives it back.
	if b.Fence == nil {
		b.Ready(v.ID)
	}
	return nil
}

// promote makes a prompt of its own of the messages for one that ended before it read them; it runs before the others.
func (b *Batch) promote(v *core.Session, p core.Prompt, now time.Time) {
	q := core.Prompt{ID: core.NewID[core.PromptID](now), Ref: core.NewRef(), Session: v.ID, Author: p.Author, Place: p.Place, Unattended: p.Unattended,
		Text: strings.Join(p.Steer, "\n\n"), State: core.Queued, Accepted: now, Trace: core.NewID[core.TraceID](now)}
	b.Put(state.PromptKey(q.ID), q, 0)
	b.Name(q.Ref, state.Named{Kind: state.NamedPrompt, ID: string(q.ID), Session: v.ID})
	b.Append(state.Audit, audit.Entry{Time: now, What: "accepted", Session: v.Ref, Prompt: q.Ref, Who: q.Author, Show: q.Text, Trace: q.Trace})
	v.Queue = slices.Insert(v.Queue, 0, q.ID)
}
