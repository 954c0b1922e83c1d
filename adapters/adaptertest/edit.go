package adaptertest

import (
	"testing"

	"paragents/core"
)

func testEdit(t *testing.T, fresh func(t *testing.T) Harness) {
	t.Run("by a person", func(t *testing.T) { testChanged(t, fresh(t)) })
	t.Run("delete by a person", func(t *testing.T) { testRemoved(t, fresh(t)) })
	if !fresh(t).Adapter().Capabilities().Edits {
		return
	}
	t.Run("by the bot", func(t *testing.T) { testEditOut(t, fresh(t)) })
	t.Run("B025 equal text", func(t *testing.T) { testEqual(t, fresh(t)) })
	t.Run("B026 deleted message", func(t *testing.T) { testEditGone(t, fresh(t)) })
}

func testChanged(t *testing.T, h Harness) {
	r := receive(t, h.Adapter(), nil, 0)
	place := h.Place(Direct)
	id := h.Act(Action{Do: Say, Place: place, Text: "list pods"})
	first := r.next(core.InMessage)
	h.Act(Action{Do: Change, Place: place, Message: id, Text: "list all pods"})
	e := r.next(core.InEdit)
	if e.Message != id || e.Text != "list all pods" || e.Place != place || e.Person != h.Facts().Ann {
		t.Errorf("edit is %+v", e)
	}
	if e.ID == first.ID || e.ID == "" {
		t.Errorf("edit has id %q, and its message %q", e.ID, first.ID)
	}
	if e.Original != first.ID {
		t.Errorf("edit is of %q, and its message is %q", e.Original, first.ID)
	}
}

func testRemoved(t *testing.T, h Harness) {
	if !h.Facts().Deletes {
		return
	}
	r := receive(t, h.Adapter(), nil, 0)
	place := h.Place(Direct)
	id := h.Act(Action{Do: Say, Place: place, Text: "forget this"})
	first := r.next(core.InMessage)
	h.Act(Action{Do: Remove, Place: place, Message: id})
	if e := r.next(core.InDelete); e.Message != id || e.Place != place || e.ID == first.ID || e.Original != first.ID {
		t.Errorf("delete is %+v", e)
	}
}

func testEditOut(t *testing.T, h Harness) {
	a := h.Adapter()
	place := h.Place(Room)
	id := send(t, a, card(place))
	m := text(place, "running")
	m.Rows = [][]core.Button{{{Label: "Stop", Token: "tok-stop"}}}
	if err := a.Edit(soon(t), id, m); err != nil {
		t.Fatal(err)
	}
	got := find(t, h, place, id)
	if got.Text != "running" || len(got.Buttons) != 1 || len(got.Buttons[0]) != 1 || got.Buttons[0][0] != "Stop" {
		t.Errorf("shown is %+v", got)
	}
	// What was sent before a restart can be edited after it.
	if err := h.Adapter().Edit(soon(t), id, text(place, "done")); err != nil {
		t.Fatal(err)
	}
	if got := find(t, h, place, id); got.Text != "done" || len(got.Buttons) != 0 {
		t.Errorf("shown is %+v", got)
	}
	if got := h.Shown(place); len(got) != 1 {
		t.Errorf("%d messages are shown, want the edited one", len(got))
	}
}

func testEqual(t *testing.T, h Harness) {
	a := h.Adapter()
	place := h.Place(Direct)
	id := send(t, a, card(place))
	for range 2 {
		if err := a.Edit(soon(t), id, card(place)); err != nil {
			t.Fatalf("edit to the same: %v", err)
		}
	}
	if got := h.Shown(place); len(got) != 1 {
		t.Errorf("%d messages are shown, want 1", len(got))
	}
}

func testEditGone(t *testing.T, h Harness) {
	a := h.Adapter()
	place := h.Place(Room)
	id := send(t, a, text(place, "working"))
	h.Act(Action{Do: Remove, Place: place, Message: id})
	wantFault(t, a.Edit(soon(t), id, text(place, "still working")), core.FaultGone)
	find(t, h, place, send(t, a, text(place, "the answer")))
}
