package moves

import (
	"strings"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/state"
	"paragents/store"
)

// Decide moves an approval out of pending, and tells the place and the audit log.
func (b *Batch) Decide(key store.Key, a state.Doc[core.Approval], to core.ApprovalState, who core.Person, reason string) error {
	v, now := a.Value, b.Now()
	if err := v.To(to, who, reason, now); err != nil {
		return err
	}
	outcome := string(to)
	if to == core.Approved {
		outcome = strings.TrimSpace(outcome + " " + string(v.Scope))
	}
	b.Update(key, a.Version, v)
	b.RemoveFrom(state.Pending, string(v.ID))
	b.RemoveFrom(state.Due, state.DueExpire+string(v.ID))
	b.RemoveFrom(state.Due, state.DueRemind+string(v.ID))
	b.SayAll(core.Letter{SessionID: v.Session, PromptID: v.Prompt, Place: v.Place, Asker: v.Author,
		Event: core.Event{Type: core.EventApproval, Time: now, Session: v.SessionRef, Prompt: v.PromptRef, Title: v.Title, Request: v.Ref, Tool: v.Action.Tool, Show: v.Action.Show, State: string(to), By: who,
			Approvals: []core.ApprovalID{v.ID}, Trace: v.Trace}}, v.Copies)
	b.Ready(v.Session)
	b.Append(state.Audit, audit.Entry{Time: now, What: "decided", Session: v.SessionRef, Prompt: v.PromptRef, Request: v.Ref, Who: who, Tool: v.Action.Tool, Show: v.Action.Show, Digest: v.Digest,
		Rule: v.Rule, Outcome: outcome, Why: reason, Trace: v.Trace})
	return nil
}

// SayAll writes a letter about an approval, and one for everywhere else where it is asked.
func (b *Batch) SayAll(l core.Letter, copies []core.Copy) {
	b.Append(state.Lane(l.SessionID), l)
	for _, c := range copies {
		l.Place, l.Reply, l.Copy = c.Place, "", &c
		b.Append(state.Lane(l.SessionID), l)
	}
}
