package scheduler_test

import (
	"context"
	"encoding/json"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/state"
	"paragents/store"
)

// told checks that people were shown all that waits for them.
func (w *world) told() {
	list, err := w.desk.Waiting(context.WithoutCancel(w.t.Context()), 100)
	if err != nil {
		w.fault("waiting: %v", err)
	}
	for _, a := range list {
		if len(w.mail.Of(a.Prompt, core.EventApproval)) == 0 {
			w.fault("nobody was shown %s", a.Ref)
		}
	}
}

// check holds what happened against the invariants.
func (w *world) check() {
	ctx := context.WithoutCancel(w.t.Context())
	accepted, ended, decisions, started, order := map[core.Ref]bool{}, map[core.Ref]int{}, map[core.Ref]int{}, map[core.Ref]int{}, map[core.Ref]int{}
	records, err := w.store.Read(ctx, state.Audit, 0, 0)
	if err != nil {
		w.fault("read audit: %v", err)
	}
	for i, r := range records {
		var e audit.Entry
		if err := json.Unmarshal(r.Value, &e); err != nil {
			w.fault("audit: %v", err)
		}
		switch e.What {
		case "accepted":
			accepted[e.Prompt], order[e.Prompt] = true, i
		case "ended":
			ended[e.Prompt]++
		case "decided":
			decisions[e.Request]++
		case "started":
			started[e.Request]++
		}
	}
	if len(records) == store.MaxScan {
		w.fault("the audit log is longer than is read here")
	}
	told := map[core.Ref]int{}
	for _, l := range w.mail.All() {
		if l.Event.Type == core.EventEnd {
			told[l.Event.Prompt]++
		}
	}
	for p := range accepted { // invariant 7
		if ended[p] != 1 || told[p] == 0 {
			w.fault("prompt %s ended %d times and was told of %d times", p, ended[p], told[p])
		}
	}
	for _, id := range w.prompts { // invariant 3
		p := w.desk.Read(w.t, id)
		if !accepted[p.Ref] || !p.State.Ended() {
			w.fault("prompt %s is %s", p.Ref, p.State)
		}
	}
	for a, n := range decisions { // invariant 4
		if n != 1 || started[a] > 1 {
			w.fault("approval %s was decided %d times and used %d times", a, n, started[a])
		}
	}
	for call, n := range w.effects { // invariants 1 and 5
		if n != 1 {
			w.fault("call %s ran %d times", call, n)
		}
	}
	for _, list := range w.began { // invariant 2: those that people submitted began in the order of acceptance
		last := -1
		for _, id := range list {
			p := w.desk.Read(w.t, id)
			if !w.submitted(id) {
				continue // made of what was said to one before: it runs next
			}
			if order[p.Ref] < last {
				w.fault("prompt %s began after one that was accepted later", p.Ref)
			}
			last = order[p.Ref]
		}
	}
	for _, id := range w.sessions {
		if left, err := w.store.Read(ctx, state.Lane(id), 0, 0); err != nil || len(left) != 0 {
			w.fault("%d letters were not sent, %v", len(left), err)
		}
	}
	for _, index := range []store.Index{state.Running, state.Ready} {
		if page, err := w.store.Scan(ctx, index, store.Range{}); err != nil || len(page.Entries) != 0 {
			w.fault("%s still holds %v, %v", index, page.Entries, err)
		}
	}
}

func (w *world) submitted(id core.PromptID) bool {
	for _, p := range w.prompts {
		if p == id {
			return true
		}
	}
	return false
}
