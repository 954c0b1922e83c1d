package adaptertest

import (
	"context"
	"slices"
	"testing"

	"paragents/core"
)

func testResume(t *testing.T, fresh func(t *testing.T) Harness) {
	t.Run("not accepted comes again", func(t *testing.T) { testAgain(t, fresh(t)) })
	t.Run("restart", func(t *testing.T) { testRestart(t, fresh(t)) })
	t.Run("killed in accept", func(t *testing.T) { testKilled(t, fresh(t)) })
	t.Run("platform away", func(t *testing.T) { testAway(t, fresh(t)) })
	t.Run("event of unknown form", func(t *testing.T) { testWeird(t, fresh(t)) })
}

// testAgain: the platform is told only after accept, and a second delivery has the same id.
func testAgain(t *testing.T, h Harness) {
	r := receive(t, h.Adapter(), nil, 2)
	h.Act(Action{Do: Say, Place: h.Place(Direct), Text: "hello"})
	e := r.next(core.InMessage)
	r.mu.Lock()
	seen := slices.Clone(r.seen)
	r.mu.Unlock()
	if len(seen) != 3 {
		t.Fatalf("handed over %v, want three times the same", seen)
	}
	for _, id := range seen {
		if id != e.ID {
			t.Errorf("one message came as %q and as %q", e.ID, id)
		}
	}
}

func testRestart(t *testing.T, h Harness) {
	place := h.Place(Direct)
	r := receive(t, h.Adapter(), nil, 0)
	h.Act(Action{Do: Say, Place: place, Text: "one"})
	first := r.next(core.InMessage)
	r.stop()
	if h.Facts().Keeps {
		h.Act(Action{Do: Say, Place: place, Text: "two"})
	}
	r = receive(t, h.Adapter(), r.cursor, 0)
	if !h.Facts().Keeps {
		h.Act(Action{Do: Say, Place: place, Text: "two"})
	}
	// The first may come again, as itself.
	e := r.next(core.InMessage)
	if e.ID == first.ID {
		e = r.next(core.InMessage)
	}
	if e.Text != "two" || e.ID == first.ID {
		t.Errorf("after the restart %q came, want two", e.Text)
	}
}

// testKilled: a process that dies before accept returned gets the event again.
func testKilled(t *testing.T, h Harness) {
	if !h.Facts().Keeps {
		return
	}
	ctx, kill := context.WithCancel(soon(t))
	defer kill()
	a := h.Adapter()
	var lost string
	done := make(chan error, 1)
	go func() {
		done <- a.Receive(ctx, nil, func(ctx context.Context, events []core.Inbound, _ []byte) error {
			lost = events[0].ID
			kill()
			return ctx.Err()
		})
	}()
	h.Act(Action{Do: Say, Place: h.Place(Direct), Text: "hello"})
	if err := <-done; err != nil {
		t.Fatalf("Receive after its context ended: %v", err)
	}
	if e := receive(t, h.Adapter(), nil, 0).next(core.InMessage); e.ID != lost || e.Text != "hello" {
		t.Errorf("after the kill came %q %q, want %q again", e.ID, e.Text, lost)
	}
}

func testAway(t *testing.T, h Harness) {
	place := h.Place(Direct)
	a := h.Adapter()
	r := receive(t, a, nil, 0)
	h.Act(Action{Do: Say, Place: place, Text: "before"})
	r.next(core.InMessage)
	h.Fail(Failure{Trouble: Down})
	if h.Facts().Keeps {
		h.Act(Action{Do: Say, Place: place, Text: "meanwhile"})
	}
	// Of a connection that just broke nobody knows; one that cannot be made has sent nothing.
	_, err := h.Adapter().Send(soon(t), text(place, "anybody?"))
	wantFault(t, err, core.FaultRetry)
	h.Fail(Failure{Trouble: Up})
	if h.Facts().Keeps {
		if e := r.next(core.InMessage); e.Text != "meanwhile" {
			t.Errorf("after the platform came back %q came, want meanwhile", e.Text)
		}
	}
	h.Act(Action{Do: Say, Place: place, Text: "after"})
	if e := r.next(core.InMessage); e.Text != "after" {
		t.Errorf("after the platform came back %q came, want after", e.Text)
	}
	find(t, h, place, send(t, a, text(place, "welcome back")))
}

func testWeird(t *testing.T, h Harness) {
	r := receive(t, h.Adapter(), nil, 0)
	h.Fail(Failure{Trouble: Weird})
	h.Act(Action{Do: Say, Place: h.Place(Direct), Text: "hello"})
	if e := r.next(core.InMessage); e.Text != "hello" {
		t.Errorf("behind an odd event came %+v", e)
	}
}
