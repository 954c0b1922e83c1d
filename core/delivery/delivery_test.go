package delivery_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/delivery"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/store"
)

func TestLettersInOrderOneRecordAPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, false)
		p.write("1a\n1b\n1c", "", "2a", "3a\n3b")
		commits := 0
		p.own.Before = func(b store.Batch) error {
			commits++
			if n := len(p.chat.order); n != commits { // one more is out with each record
				t.Errorf("%d messages are out at record %d", n, commits)
			}
			return nil
		}
		p.all()
		p.want("1a", "1b", "1c", "2a", "3a", "3b")
		for i, id := range p.chat.order {
			got, _, err := state.Get[delivery.Sent](t.Context(), p.store, state.SentKey(place, id))
			must(t, err)
			if got.Value.Session != session || got.Value.Prompt != "p1" {
				t.Errorf("message %d is remembered as %+v", i, got.Value)
			}
		}
		marks := map[string]bool{}
		for _, m := range p.chat.tries {
			if m.Marker == "" || len(m.Marker) > 25 || marks[m.Marker] {
				t.Errorf("marker %q", m.Marker)
			}
			marks[m.Marker] = true
		}
	})
}

// B028: piece 2 of 3 fails twice and is tried again; no piece comes twice, and nothing is rendered again.
func TestB028PieceFailsAndIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, false)
		p.write("1\n2\n3", "4")
		p.chat.answers = []error{nil, fault(core.FaultRetry), errors.New("500"), nil}
		began := time.Now()
		p.all()
		p.want("1", "2", "3", "4")
		if took := time.Since(began); p.renders != 2 || took != 3*time.Second { // one second, then two
			t.Errorf("%d letters were rendered, in %s", p.renders, took)
		}
	})
}

// B028: killed at every place there is, and gone on with by another replica, which knows that one message may be out. People see everything in order; a piece appears twice
// only where the record of it was lost, and never where it can be looked for.
func TestB028KilledBetweenPieces(t *testing.T) {
	for _, find := range []bool{true, false} {
		for kill := range 4 {
			t.Run(fmt.Sprintf("finder %v, at record %d", find, kill), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := open(t, find)
					p.write("1\n2\n3", "4")
					n := 0
					p.own.Before = func(store.Batch) error {
						if n++; n > kill {
							p.own.Set(schedtest.Dead)
							return errors.New("killed")
						}
						return nil
					}
					_, err := p.drain()
					if err == nil {
						t.Fatal("it was not killed")
					}
					// Another replica takes over: as the scheduler does it.
					first, err := p.store.Read(t.Context(), state.Lane(session), 0, 1)
					must(t, err)
					p.claim("another")
					b := &state.Batch{}
					b.Put(state.DoubtKey(session), state.Doubt{Position: first[0].Position}, 0)
					_, err = b.Commit(t.Context(), p.store)
					must(t, err)
					var adapter core.Adapter = p.chat
					if find {
						adapter = finder{p.chat}
					}
					p.courier = p.another(adapter)
					p.all()
					want := []string{"1", "2", "3", "4"}
					if !find {
						want = slices.Insert(want, kill, want[kill])
					}
					p.want(want...)
					for i, m := range p.chat.tries {
						if copied := i == kill+1; m.Repeat != (copied && !find) {
							t.Errorf("try %d (%s): repeat is %v", i, m.Text, m.Repeat)
						}
					}
				})
			})
		}
	}
}

// B029: a send whose answer was lost. Where messages can be found it is looked for; elsewhere it is sent once more, marked, and then never again.
func TestB029SendWithoutAnAnswer(t *testing.T) {
	unclear := fault(core.FaultUnclear)
	for name, c := range map[string]struct {
		find, takes bool
		answers     []error
		want        []string
		repeats     int
	}{
		"found":                    {true, true, []error{unclear}, []string{"1", "2"}, 0},
		"looked for, not there":    {true, false, []error{unclear, unclear}, []string{"1", "2"}, 0},
		"sent once more":           {false, true, []error{unclear}, []string{"1", "1", "2"}, 1},
		"had not arrived":          {false, false, []error{unclear}, []string{"1", "2"}, 1},
		"unclear twice":            {false, true, []error{unclear, unclear}, []string{"1", "1", "2"}, 1},
		"unclear, then not at all": {false, false, []error{unclear, fault(core.FaultRetry)}, []string{"1", "2"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := open(t, c.find)
				p.chat.takes, p.chat.answers = c.takes, c.answers
				p.write("1\n2")
				p.all()
				p.want(c.want...)
				repeats := 0
				for _, m := range p.chat.tries {
					if m.Repeat {
						repeats++
						if m.Text != "1" {
							t.Errorf("%s is marked as a copy", m.Text)
						}
					}
				}
				if repeats != c.repeats {
					t.Errorf("%d marked copies", repeats)
				}
			})
		})
	}
}

// A wait that a platform asks for is in the store: another replica keeps to it, for this chat or for all of the platform.
func TestRateLimitIsSharedByReplicas(t *testing.T) {
	for _, everywhere := range []bool{false, true} {
		t.Run(fmt.Sprintf("everywhere %v", everywhere), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := open(t, false)
				p.chat.answers = []error{&core.SendError{Fault: core.FaultRate, After: 30 * time.Second, Everywhere: everywhere, Err: errors.New("429")}}
				p.write("1")
				if again, err := p.drain(); err != nil || again != 30*time.Second {
					t.Fatalf("again in %s, %v", again, err)
				}
				p.courier = p.another(p.chat) // it knows only what is in the store
				time.Sleep(10 * time.Second)
				if again, err := p.drain(); err != nil || again != 20*time.Second || len(p.chat.tries) != 1 {
					t.Errorf("again in %s, %v, after %d tries", again, err, len(p.chat.tries))
				}
				all, err := p.store.Get(t.Context(), state.RestKey("test"))
				must(t, err)
				if (all.Docs[0].Version != 0) != everywhere {
					t.Errorf("all of the platform rests: %v", !everywhere)
				}
				time.Sleep(20 * time.Second)
				p.all()
				p.want("1")
			})
		})
	}
}

// Refused markup is sent again once, plain; what is refused plainly too is given up, and the lane goes on.
func TestRefusedMarkupIsSentPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, false)
		p.chat.answers = []error{fault(core.FaultMarkup), nil, fault(core.FaultMarkup), fault(core.FaultRefused), nil}
		p.write("1", "2", "3")
		p.all()
		p.want("", "3") // the plain text of this test's messages is empty
		if len(p.chat.tries) != 5 || !slices.Equal(p.given, []string{"2"}) {
			t.Errorf("%d tries, given up %q", len(p.chat.tries), p.given)
		}
	})
}

func TestGoneAndMovedChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, false)
		moved := core.Place{Platform: "test", Channel: "c2"}
		p.chat.answers = []error{fault(core.FaultGone), &core.SendError{Fault: core.FaultGone, MovedTo: moved, Err: errors.New("moved")}}
		p.write("lost", "card k: found")
		p.all()
		p.want("card k: found")
		if got := p.chat.shown["m1"].Place; got != moved {
			t.Errorf("it stands in %+v", got)
		}
		if !slices.Equal(p.given, []string{"lost"}) {
			t.Errorf("given up: %q", p.given)
		}
		card, _, err := state.Get[delivery.Card](t.Context(), p.store, state.CardKey("k"))
		must(t, err)
		sent, _, err := state.Get[delivery.Sent](t.Context(), p.store, state.SentKey(moved, "m1"))
		must(t, err)
		if card.Value.Place != moved || card.Value.ID != "m1" || sent.Value.Session != session {
			t.Errorf("remembered: card %+v, message %+v", card.Value, sent.Value)
		}
	})
}

func TestCardsAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, false)
		p.write("card k: silent", "card k: 1", "card k: 2")
		p.all()
		p.want("card k: 2") // silent: nothing to keep up yet; 1 is sent, 2 replaces it
		p.chat.edits = []error{fault(core.FaultUnclear), fault(core.FaultRetry), &core.SendError{Fault: core.FaultRate, After: 5 * time.Second, Err: errors.New("429")}}
		began := time.Now()
		p.write("card k: 3")
		p.all()
		p.want("card k: 3")
		if took := time.Since(began); took < 8*time.Second || took > 10*time.Second {
			t.Errorf("it took %s: one and two seconds, and the five that the platform asked for", took)
		}
		p.chat.edits = []error{fault(core.FaultRefused)}
		p.write("card k: 4", "card k: 5")
		p.all()
		p.want("card k: 5") // 4 is refused and given up
		delete(p.chat.shown, "m1")
		p.write("card k: 6")
		p.all()
		p.want("", "card k: 6") // its message is gone: a new one
		p.write("card k: silent", "card k: 7")
		p.all()
		p.want("", "card k: 7")
	})
}

// Without the lease nothing is sent, and what another holder has taken is not recorded.
func TestWithoutALeaseNothingIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, false)
		p.write("1\n2")
		p.alive = false
		if _, err := p.drain(); err == nil || len(p.chat.tries) != 0 {
			t.Errorf("%v, %d tries", err, len(p.chat.tries))
		}
		p.alive = true
		old := p.fence
		p.claim("another")
		taken := p.fence
		p.fence = old
		if _, err := p.drain(); !errors.Is(err, store.ErrFenced) {
			t.Errorf("an old holder: %v", err)
		}
		p.want("1") // what it sent before it heard; no second message without a record
		p.fence = taken
		left, err := p.store.Read(t.Context(), state.Lane(session), 0, 0)
		must(t, err)
		if len(left) != 1 {
			t.Errorf("%d letters are left", len(left))
		}
	})
}

// A letter to a place of a platform that this replica does not speak to stays; one to no place is nobody's.
func TestPlacesThatAreNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, false)
		b := &state.Batch{}
		b.Append(state.Lane(session), core.Letter{Event: core.Event{Text: "to nobody"}})
		b.Append(state.Lane(session), core.Letter{Place: core.Place{Platform: "other", Channel: "c"}, Event: core.Event{Text: "elsewhere"}})
		_, err := b.Commit(t.Context(), p.store)
		must(t, err)
		again, err := p.drain()
		must(t, err)
		left, err := p.store.Read(t.Context(), state.Lane(session), 0, 0)
		must(t, err)
		if again <= 0 || len(left) != 1 || len(p.chat.tries) != 0 {
			t.Errorf("again in %s, %d letters left, %d tries", again, len(left), len(p.chat.tries))
		}
	})
}

// A letter that speaks of something damaged is given up, and does not hold up what lies behind it.
func TestALetterThatCannotBeShownIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, false)
		p.write("before", "damaged", "behind")
		p.all()
		p.want("before", "behind")
		if !slices.Equal(p.given, []string{"damaged"}) {
			t.Errorf("given up: %q", p.given)
		}
	})
}
