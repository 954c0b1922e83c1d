package reader

import (
	"context"

	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// View is a session as lists show it: with its first unfinished prompt, or the last one.
type View struct {
	Session core.Session
	Prompt  core.Prompt // zero when there has been none
	Replica core.ReplicaID
	Frozen  bool // the brake holds the prompt
}

// Word is the session's state for people.
func (v View) Word() string {
	switch {
	case v.Session.Closed:
		return "closed"
	case len(v.Session.Queue) == 0:
		return "idle"
	case v.Frozen && !v.Prompt.State.Ended():
		return "frozen"
	case v.Session.Held && v.Prompt.State == core.Queued:
		return "held"
	}
	return v.Prompt.State.Word()
}

// List returns the sessions of an index, the last changed first, closed ones only if asked for, at most limit.
func (r *Reader) List(ctx context.Context, index store.Index, limit int, closed bool) ([]View, error) {
	var out []View
	var after *store.Entry
	for len(out) < limit {
		page, err := r.store.Scan(ctx, index, store.Range{After: after, Limit: limit, Reverse: true})
		if err != nil {
			return nil, err
		}
		ids := make([]core.SessionID, len(page.Entries))
		for i, e := range page.Entries {
			ids[i] = core.SessionID(e.Member)
		}
		views, err := r.Views(ctx, ids)
		if err != nil {
			return nil, err
		}
		for _, v := range views {
			if len(out) < limit && (closed || !v.Session.Closed) {
				out = append(out, v)
			}
		}
		if len(page.Entries) < limit {
			break
		}
		after = &page.Entries[len(page.Entries)-1]
	}
	return out, nil
}

// Views reads sessions with their prompts; those that do not exist are left out.
func (r *Reader) Views(ctx context.Context, ids []core.SessionID) ([]View, error) {
	keys := make([]store.Key, 0, 2*len(ids))
	for _, id := range ids {
		keys = append(keys, state.SessionKey(id), state.ClaimKey(id))
	}
	if len(keys) == 0 {
		return nil, nil
	}
	snap, err := r.store.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	r.clock.Observe(snap.Time)
	var out []View
	var prompts []store.Key
	for i := 0; i < len(keys); i += 2 {
		sess, err := state.Decode[core.Session](keys[i], snap.Docs[i])
		if err != nil || !sess.Exists() {
			continue
		}
		claim, err := state.Decode[state.Claim](keys[i+1], snap.Docs[i+1])
		if err != nil {
			continue
		}
		v := View{Session: sess.Value, Replica: claim.Value.Replica}
		id := v.Session.Last
		if len(v.Session.Queue) > 0 {
			id = v.Session.Queue[0]
		}
		out = append(out, v)
		prompts = append(prompts, state.PromptKey(id))
	}
	if len(prompts) == 0 {
		return out, nil
	}
	if snap, err = r.store.Get(ctx, prompts...); err != nil {
		return nil, err
	}
	for i, key := range prompts {
		if p, err := state.Decode[core.Prompt](key, snap.Docs[i]); err == nil { // of a newer version, it is shown by those who know it
			out[i].Prompt = p.Value
		}
	}
	return out, nil
}

// Busy reports whether a session of a person's has something to run, to be sent, or in a replica's hands. Prompts that wait for people do not count.
func (r *Reader) Busy(ctx context.Context, who core.Person) (bool, error) {
	mine := map[string]bool{}
	page, err := r.store.Scan(ctx, state.ByPerson(who), store.Range{Reverse: true})
	if err != nil {
		return false, err
	}
	for _, e := range page.Entries {
		mine[e.Member] = true
	}
	for _, index := range []store.Index{state.Ready, state.Running} {
		page, err := r.store.Scan(ctx, index, store.Range{})
		if err != nil {
			return false, err
		}
		for _, e := range page.Entries {
			if mine[e.Member] {
				return true, nil
			}
		}
	}
	return false, nil
}
