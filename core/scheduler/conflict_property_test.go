package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"paragents/core"
	"paragents/core/claims"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/store"
)

// Invariant 6: over random prompts on two replicas, with people who wait, override and cancel at random and a replica that dies, no two live prompts ever hold
// overlapping claims unless a person chose to override, and in the end every prompt has ended.
func TestNoTwoLivePromptsHoldOverlappingClaims(t *testing.T) {
	paths := []string{"a", "b", "dir", "dir/x", "dir/*.go", "dir/main.go", "git:index", "."}
	rapid.Check(t, func(rt *rapid.T) {
		texts := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(rapid.SampledFrom(paths), 1, 3), func(p []string) string { return strings.Join(p, " ") }), 2, 7).Draw(rt, "prompts")
		choices := rapid.SliceOfN(rapid.IntRange(0, 5), 5, 30).Draw(rt, "choices")
		kill := rapid.IntRange(-1, len(choices)-1).Draw(rt, "kill")
		var faults []string
		synctest.Test(t, func(t *testing.T) {
			st := &watched{Store: schedtest.Open(t)}
			var work ran
			cfg := config{Agent: schedtest.Agent(work.writing), Foresee: func(s core.Session, p core.Prompt) core.Guess {
				if len(p.Text)%2 == 0 { // half of them are foreseen, the others meet when they run
					return core.Guess{}
				}
				return foreseeing(s, p)
			}}
			a, b := start(t, st, nil, cfg), start(t, st, nil, cfg)
			var all []scheduler.Accepted
			for i, text := range texts {
				all = append(all, []*replica{a, b}[i%2].Submit(t, "", text))
			}
			live := b
			for i, choice := range choices {
				settle(700 * time.Millisecond)
				if i == kill {
					a.Kill()
				}
				p := all[choice%len(all)].Prompt.ID
				var err error
				switch choice {
				case 0:
					_, err = live.Cancel(t.Context(), p, author)
				case 1, 2:
					_, err = live.Wait(t.Context(), p, author)
				case 3:
					_, err = live.Override(t.Context(), p, author, func(core.Rival) error { return nil })
				}
				if err != nil && !errors.Is(err, core.ErrRefused) {
					faults = append(faults, err.Error())
				}
			}
			for range 2 * len(all) { // people let what is left wait, and end circles
				settle(time.Minute)
				for _, p := range all {
					if v := live.Read(t, p.Prompt.ID); v.State == core.Blocked {
						if len(v.Conflict.Cycle) > 0 {
							_, _ = live.Cancel(t.Context(), p.Prompt.ID, author)
						} else if len(v.WaitsFor) == 0 {
							_, _ = live.Wait(t.Context(), p.Prompt.ID, author)
						}
					}
				}
			}
			for _, p := range all {
				if v := live.Read(t, p.Prompt.ID); !v.State.Ended() {
					faults = append(faults, fmt.Sprintf("prompt %q is %s (%s), %+v, waits for %q", v.Text, v.State, v.Reason, v.Conflict, v.WaitsFor))
				}
			}
			faults = append(faults, st.broken...)
		})
		if len(faults) > 0 {
			rt.Fatal(strings.Join(faults, "\n"))
		}
	})
}

// watched looks at the book after every commit that wrote it.
type watched struct {
	store.Store
	mu     sync.Mutex
	broken []string
}

func (w *watched) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	w.mu.Lock() // one commit at a time, so that what is read afterwards is what it left
	defer w.mu.Unlock()
	res, err := w.Store.Commit(ctx, b)
	key := state.ClaimsKey("w")
	if err != nil || !slices.ContainsFunc(b.Put, func(p store.Put) bool { return p.Key == key }) {
		return res, err
	}
	d, _, err2 := state.Get[claims.Book](ctx, w.Store, key)
	if err2 != nil {
		return res, err
	}
	for id := range d.Value.Holders {
		if p, _, err := state.Get[core.Prompt](ctx, w.Store, state.PromptKey(id)); err == nil && p.Value.State.Ended() {
			d.Value.Drop(id)
		}
	}
	for _, c := range d.Value.Broken(false) {
		w.broken = append(w.broken, fmt.Sprintf("%s and %s are both held, and nobody allowed it", c.Mine, c.Theirs))
	}
	return res, err
}
