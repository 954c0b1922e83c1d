package adaptertest

import (
	"testing"
	"time"

	"paragents/core"
)

func testRefuse(t *testing.T, fresh func(t *testing.T) Harness) {
	t.Run("rate", func(t *testing.T) { testRate(t, fresh(t)) })
	t.Run("B022 markup", func(t *testing.T) { testMarkup(t, fresh(t)) })
	t.Run("B029 unclear", func(t *testing.T) { testUnclear(t, fresh(t)) })
	t.Run("gone", func(t *testing.T) { testGone(t, fresh(t)) })
	t.Run("foreign place", func(t *testing.T) { testForeign(t, fresh(t)) })
}

// testRate: the adapter says at once how long to wait, and waits for nothing itself.
func testRate(t *testing.T, h Harness) {
	a := h.Adapter()
	place := h.Place(Room)
	h.Fail(Failure{Trouble: Rate, Place: place, After: 33 * time.Second})
	begin := time.Now()
	_, err := a.Send(soon(t), text(place, "hello"))
	if f := wantFault(t, err, core.FaultRate); f.After != 33*time.Second {
		t.Errorf("wait %v, want 33s", f.After)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the refusal took %v", took)
	}
	if got := h.Shown(place); len(got) != 0 {
		t.Errorf("%+v is shown", got)
	}
}

func testMarkup(t *testing.T, h Harness) {
	if !h.Facts().Refuses {
		return
	}
	a := h.Adapter()
	place := h.Place(Room)
	h.Fail(Failure{Trouble: Odd, Place: place})
	m := core.Message{Place: place, Text: "Step 1 - done!", Plain: "Step 1 - done! a_b_c* <ann@example.test> &amp; **"}
	_, err := a.Send(soon(t), m)
	wantFault(t, err, core.FaultMarkup)
	m.Text = ""
	if got := find(t, h, place, send(t, a, m)); got.Text != m.Plain {
		t.Errorf("shown is %q, want %q", got.Text, m.Plain)
	}
	if got := h.Shown(place); len(got) != 1 {
		t.Errorf("%d messages are shown, want 1", len(got))
	}
}

// testUnclear: an answer that was lost is told apart from a message that was never sent.
func testUnclear(t *testing.T, h Harness) {
	a := h.Adapter()
	place := h.Place(Room)
	h.Fail(Failure{Trouble: Cut, Place: place})
	m := text(place, "the answer")
	m.Marker = "m-0123456789"
	_, err := a.Send(soon(t), m)
	wantFault(t, err, core.FaultUnclear)
	if got := h.Shown(place); len(got) != 1 {
		t.Fatalf("%d messages are shown, want the one whose answer was lost", len(got))
	}
	finder, ok := a.(core.Finder)
	if !ok {
		return
	}
	id, ok, err := finder.Find(soon(t), place, m.Marker)
	if err != nil || !ok || id != h.Shown(place)[0].ID {
		t.Errorf("find: %q %v %v, want the message", id, ok, err)
	}
	if _, ok, err := finder.Find(soon(t), place, "m-other"); err != nil || ok {
		t.Errorf("find what was never sent: %v %v", ok, err)
	}
}

func testGone(t *testing.T, h Harness) {
	a := h.Adapter()
	place := h.Place(Room)
	id := send(t, a, text(place, "hello"))
	h.Fail(Failure{Trouble: Gone, Place: place})
	_, err := a.Send(soon(t), text(place, "anybody?"))
	wantFault(t, err, core.FaultGone)
	wantFault(t, a.Edit(soon(t), id, text(place, "anybody?")), core.FaultGone)
	find(t, h, h.Place(Direct), send(t, a, text(h.Place(Direct), "elsewhere all is well")))
}

func testForeign(t *testing.T, h Harness) {
	a := h.Adapter()
	for _, p := range []core.Place{{}, {Platform: "elsewhere", Channel: "1"}, {Platform: h.Place(Room).Platform}} {
		_, err := a.Send(soon(t), text(p, "hello"))
		wantFault(t, err, core.FaultRefused)
	}
}
