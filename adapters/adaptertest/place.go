package adaptertest

import (
	"slices"
	"testing"

	"paragents/core"
)

func testPlace(t *testing.T, fresh func(t *testing.T) Harness) {
	t.Run("thread", func(t *testing.T) { testThread(t, fresh(t)) })
	t.Run("open thread", func(t *testing.T) { testOpenThread(t, fresh(t)) })
	t.Run("direct", func(t *testing.T) { testDirect(t, fresh(t)) })
	t.Run("come and go", func(t *testing.T) { testComeAndGo(t, fresh(t)) })
}

func testThread(t *testing.T, h Harness) {
	a := h.Adapter()
	r := receive(t, a, nil, 0)
	thread := h.Place(Thread)
	room := thread
	room.Thread = ""
	id := h.Act(Action{Do: Mention, Place: thread, Text: "in here"})
	e := r.next(core.InMessage)
	if e.Place != thread || e.Message != id || e.Text != "in here" {
		t.Errorf("message %q %q in %+v, want %q in %+v", e.Message, e.Text, e.Place, id, thread)
	}
	answer := send(t, a, text(e.Place, "answer"))
	find(t, h, thread, answer)
	if slices.ContainsFunc(h.Shown(room), func(s Shown) bool { return s.ID == answer }) {
		t.Error("what was sent to the thread stands in the room")
	}
	if err := a.Edit(soon(t), answer, text(e.Place, "answer, changed")); err != nil {
		t.Errorf("edit in a thread: %v", err)
	}
	if typer, ok := a.(core.Typer); ok {
		if err := typer.Typing(soon(t), e.Place); err != nil {
			t.Errorf("typing in a thread: %v", err)
		}
	}
	if reactor, ok := a.(core.Reactor); ok {
		for _, mark := range []string{"seen", "queued", "done"} {
			if err := reactor.React(soon(t), e.Place, id, mark); err != nil {
				t.Errorf("react %s in a thread: %v", mark, err)
			}
		}
	}
}

func testOpenThread(t *testing.T, h Harness) {
	a := h.Adapter()
	threader, ok := a.(core.Threader)
	if !ok {
		return
	}
	r := receive(t, a, nil, 0)
	room := h.Place(Thread)
	room.Thread = ""
	root := h.Act(Action{Do: Mention, Place: room, Text: "new session"})
	r.next(core.InMessage)
	place, err := threader.OpenThread(soon(t), room, root, "a title")
	if err != nil {
		t.Fatal(err)
	}
	if place.Thread == "" || place.Channel == "" || place.Platform != room.Platform {
		t.Fatalf("thread opened at %+v", place)
	}
	find(t, h, place, send(t, a, text(place, "here we are")))
	h.Act(Action{Do: Mention, Place: place, Text: "yes"})
	if e := r.next(core.InMessage); e.Place != place {
		t.Errorf("a message in the new thread comes from %+v, want %+v", e.Place, place)
	}
}

func testDirect(t *testing.T, h Harness) {
	a := h.Adapter()
	director, ok := a.(core.Director)
	if !ok {
		return
	}
	ann := h.Facts().Ann
	place, err := director.Direct(soon(t), ann)
	if err != nil {
		t.Fatal(err)
	}
	if !place.Private || place.Channel == "" || place.Thread != "" || place.Platform != ann.Platform() {
		t.Fatalf("the conversation with %s is %+v", ann, place)
	}
	find(t, h, place, send(t, a, text(place, "only for you")))
	if again, err := director.Direct(soon(t), ann); err != nil || again != place {
		t.Errorf("asked again it is %+v, %v", again, err)
	}
	for _, who := range []core.Person{"elsewhere:1", core.Person(ann.Platform() + ":"), ann + "999"} {
		place, err := director.Direct(soon(t), who)
		if err == nil {
			_, err = a.Send(soon(t), text(place, "is anybody there?"))
		}
		if f := faultOf(t, err); f.Fault != core.FaultGone && f.Fault != core.FaultRefused {
			t.Errorf("the conversation with %s: %v", who, err)
		}
	}
}

func testComeAndGo(t *testing.T, h Harness) {
	r := receive(t, h.Adapter(), nil, 0)
	room := h.Place(Room)
	h.Act(Action{Do: Expel, Place: room})
	left := r.next(core.InLeft)
	h.Act(Action{Do: Invite, Place: room})
	joined := r.next(core.InJoined)
	for _, e := range []core.Inbound{left, joined} {
		if e.Place != room {
			t.Errorf("%s %+v, want %+v", e.Kind, e.Place, room)
		}
	}
	if left.ID == joined.ID || left.ID == "" {
		t.Errorf("ids %q and %q, want two", left.ID, joined.ID)
	}
}
