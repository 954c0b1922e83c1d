package delivery_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/state"
)

// director is a chat in which people can be written to alone.
type director struct {
	*chat
	refuse []error // what it answers when it is asked for a conversation, in order; after that it gives it
}

func (d *director) Direct(_ context.Context, p core.Person) (core.Place, error) {
	return core.Place{Platform: "test", Channel: "of " + string(p), Private: true}, next(&d.refuse)
}

// copies writes a question, its copies for some people and, behind them, another letter.
func (p *post) copies(people ...core.Person) {
	p.t.Helper()
	b := &state.Batch{}
	ask := core.Letter{SessionID: session, PromptID: "p1", Place: place, Event: core.Event{Type: core.EventApproval, State: string(core.Pending), Text: "card k: may it?"}}
	b.Append(state.Lane(session), ask)
	for _, who := range people {
		c := core.Copy{Place: core.Place{Platform: "test", Private: true}, To: who}
		ask.Place, ask.Copy, ask.Event.Text = c.Place, &c, "card k/"+string(who)+": may it?"
		b.Append(state.Lane(session), ask)
	}
	b.Append(state.Lane(session), core.Letter{SessionID: session, PromptID: "p1", Place: place, Event: core.Event{Type: core.EventAnswer, Text: "behind"}})
	_, err := b.Commit(p.t.Context(), p.store)
	must(p.t, err)
}

// A copy goes to the conversation with its person; where that stands is remembered, so that what is decided changes it.
func TestCopiesGoToPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, false)
		p.courier = p.another(&director{chat: p.chat, refuse: []error{nil, fault(core.FaultRetry)}})
		p.copies("ann", "bob")
		p.all()
		p.want("card k: may it?", "card k/ann: may it?", "card k/bob: may it?", "behind")
		for i, want := range []string{"c1", "of ann", "of bob", "c1"} {
			if got := p.chat.shown[p.chat.order[i]].Place.Channel; got != want {
				t.Errorf("message %d stands in %q, want %q", i, got, want)
			}
		}
		card, _, err := state.Get[delivery.Card](t.Context(), p.store, state.CardKey("k/bob"))
		must(t, err)
		if card.Value.Place.Channel != "of bob" {
			t.Errorf("bob's copy is remembered at %+v", card.Value)
		}
		b := &state.Batch{}
		c := core.Copy{Place: core.Place{Platform: "test", Private: true}, To: "bob"}
		b.Append(state.Lane(session), core.Letter{SessionID: session, Place: c.Place, Copy: &c,
			Event: core.Event{Type: core.EventApproval, State: string(core.Denied), Text: "card k/bob: denied"}})
		_, err = b.Commit(t.Context(), p.store)
		must(t, err)
		p.all()
		p.want("card k: may it?", "card k/ann: may it?", "card k/bob: denied", "behind")
	})
}

// Whoever cannot be written to, or not soon, is passed over and named; everybody else hears at once.
func TestCopiesHoldUpNothing(t *testing.T) {
	long := &core.SendError{Fault: core.FaultRate, After: time.Hour, Err: errors.New("429")}
	short := &core.SendError{Fault: core.FaultRate, After: 5 * time.Second, Err: errors.New("429")}
	many := slices.Repeat([]error{fault(core.FaultRetry)}, 20)
	for name, c := range map[string]struct {
		refuse, answers []error // of the conversation with ann, and of what is sent
		lost            bool
		most            time.Duration
	}{
		"no conversation":       {[]error{fault(core.FaultGone)}, nil, true, 0},
		"not taken":             {nil, []error{nil, fault(core.FaultRefused)}, true, 0},
		"not for an hour":       {nil, []error{nil, long}, true, 0},
		"no one for an hour":    {[]error{long}, nil, true, 0},
		"not for five seconds":  {nil, []error{nil, short}, false, 7 * time.Second},
		"never a conversation":  {many, nil, true, time.Minute},
		"nothing ever goes out": {nil, append([]error{nil}, many[:6]...), true, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := open(t, false)
				p.courier = p.another(&director{chat: p.chat, refuse: c.refuse})
				p.chat.answers = c.answers
				p.copies("ann")
				began := time.Now()
				p.all()
				want := []string{"card k: may it?", "card k/ann: may it?", "behind"}
				var given []string
				if c.lost {
					want = slices.Delete(want, 1, 2)
					given = []string{"card k/ann: may it?"}
				}
				p.want(want...)
				if !slices.Equal(p.given, given) {
					t.Errorf("given up: %q, want %q", p.given, given)
				}
				if took := time.Since(began); took > c.most {
					t.Errorf("what came behind was held up for %s", took)
				}
			})
		})
	}
}
