package adaptertest

import (
	"slices"
	"strings"
	"testing"

	"paragents/core"
)

func testPress(t *testing.T, fresh func(t *testing.T) Harness) {
	if !fresh(t).Adapter().Capabilities().Buttons {
		return
	}
	t.Run("press", func(t *testing.T) { testPressed(t, fresh(t)) })
	t.Run("B033 token over 64 bytes", func(t *testing.T) { testLongToken(t, fresh(t)) })
	t.Run("B043 late answer", func(t *testing.T) { testLateAnswer(t, fresh(t)) })
}

func card(p core.Place) core.Message {
	m := text(p, "may I?")
	m.Rows = [][]core.Button{
		{{Label: "Approve once", Token: "tok-approve", Style: "primary"}},
		{{Label: "Deny", Token: "tok-deny", Style: "danger"}, {Label: "Why", Token: strings.Repeat("w", 64)}},
	}
	return m
}

func testPressed(t *testing.T, h Harness) {
	a := h.Adapter()
	r := receive(t, a, nil, 0)
	place := h.Place(Room)
	id := send(t, a, card(place))
	want := [][]string{{"Approve once"}, {"Deny", "Why"}}
	if got := find(t, h, place, id).Buttons; !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Fatalf("buttons %v, want %v", got, want)
	}
	h.Act(Action{Do: Press, Place: place, Message: id, Label: "Deny"})
	e := r.next(core.InPress)
	if e.Token != "tok-deny" || e.Message != id || e.Place != place || e.Person != h.Facts().Ann || e.ID == "" {
		t.Fatalf("press is %+v", e)
	}
	if answerer, ok := a.(core.Answerer); ok {
		if e.Callback == "" {
			t.Fatal("nothing to answer the press with")
		}
		if err := answerer.Answer(soon(t), e.Callback, strings.Repeat("🙂", 300)); err != nil {
			t.Errorf("answer with a long note: %v", err)
		}
	}
	if err := a.Edit(soon(t), id, text(place, "denied")); err != nil {
		t.Fatal(err)
	}
	if got := find(t, h, place, id); got.Text != "denied" || len(got.Buttons) > 0 {
		t.Errorf("after the decision %+v is shown, want no buttons", got)
	}
	// The same button again is another press.
	id = send(t, a, card(place))
	h.Act(Action{Do: Press, Place: place, Message: id, Label: "Why"})
	next := r.next(core.InPress)
	if next.ID == e.ID || next.Token != strings.Repeat("w", 64) {
		t.Errorf("second press is %+v, after %q", next, e.ID)
	}
}

func testLongToken(t *testing.T, h Harness) {
	a := h.Adapter()
	place := h.Place(Direct)
	for _, token := range []string{strings.Repeat("x", 65), strings.Repeat("ж", 33), ""} {
		m := card(place)
		m.Rows[0][0].Token = token
		_, err := a.Send(soon(t), m)
		wantFault(t, err, core.FaultRefused)
	}
	if got := h.Shown(place); len(got) != 0 {
		t.Errorf("%+v is shown", got)
	}
}

func testLateAnswer(t *testing.T, h Harness) {
	a := h.Adapter()
	answerer, ok := a.(core.Answerer)
	if !ok {
		return
	}
	r := receive(t, a, nil, 0)
	if err := answerer.Answer(soon(t), "881234567890", "too late"); err == nil {
		t.Error("an answer to nothing is no error")
	}
	place := h.Place(Direct)
	h.Act(Action{Do: Press, Place: place, Message: send(t, a, card(place)), Label: "Deny"})
	r.next(core.InPress)
}
