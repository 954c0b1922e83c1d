package adaptertest

import (
	"strings"
	"testing"
	"time"

	"paragents/core"
)

func testText(t *testing.T, fresh func(t *testing.T) Harness) {
	t.Run("in", func(t *testing.T) { testTextIn(t, fresh(t)) })
	t.Run("order", func(t *testing.T) { testOrder(t, fresh(t)) })
	t.Run("addressed", func(t *testing.T) { testAddressed(t, fresh(t)) })
	t.Run("B012 other bots are marked", func(t *testing.T) { testOtherBot(t, fresh(t)) })
	t.Run("out", func(t *testing.T) { testTextOut(t, fresh(t)) })
	t.Run("long", func(t *testing.T) { testLong(t, fresh(t)) })
}

func testTextIn(t *testing.T, h Harness) {
	a := h.Adapter()
	r := receive(t, a, nil, 0)
	id := h.Act(Action{Do: Say, Place: h.Place(Direct), Text: "list <all> the pods & *wait*"})
	e := r.next(core.InMessage)
	want := h.Place(Direct)
	if e.Place != want {
		t.Errorf("place %+v, want %+v", e.Place, want)
	}
	if e.Text != "list <all> the pods & *wait*" {
		t.Errorf("text %q is not what was written", e.Text)
	}
	if e.Person != h.Facts().Ann || e.Name == "" {
		t.Errorf("person %q named %q, want %q with a name", e.Person, e.Name, h.Facts().Ann)
	}
	if e.Person.Platform() != a.Capabilities().Platform || e.Place.Platform != a.Capabilities().Platform {
		t.Errorf("person %q and place %+v are not of platform %q", e.Person, e.Place, a.Capabilities().Platform)
	}
	if e.ID == "" || e.Message != id {
		t.Errorf("event %q of message %q, want message %q", e.ID, e.Message, id)
	}
	if !e.Addressed || e.Bot || e.ToOther {
		t.Errorf("addressed %v, bot %v, to other %v; want a person's word to the bot", e.Addressed, e.Bot, e.ToOther)
	}
	if age := time.Since(e.At).Abs(); age > time.Minute {
		t.Errorf("time %v is %v from now", e.At, age)
	}
}

func testOrder(t *testing.T, h Harness) {
	r := receive(t, h.Adapter(), nil, 0)
	words := strings.Fields("one two three four five six seven eight nine ten")
	for _, w := range words {
		h.Act(Action{Do: Say, Place: h.Place(Direct), Text: w})
	}
	ids := map[string]bool{}
	for _, w := range words {
		e := r.next(core.InMessage)
		if e.Text != w {
			t.Fatalf("got %q, want %q", e.Text, w)
		}
		ids[e.ID] = true
	}
	if len(ids) != len(words) {
		t.Errorf("%d ids for %d messages", len(ids), len(words))
	}
}

func testAddressed(t *testing.T, h Harness) {
	a := h.Adapter()
	r := receive(t, a, nil, 0)
	room := h.Place(Room)
	id := h.Act(Action{Do: Say, Place: room, Text: "good morning"})
	want := room
	if h.Facts().Roots {
		want.Thread = id
	}
	if e := r.next(core.InMessage); e.Addressed || e.Place != want {
		t.Errorf("chatter in %+v counts as addressed: %v", e.Place, e.Addressed)
	}
	h.Act(Action{Do: Mention, Place: room, Text: "list pods"})
	if e := r.next(core.InMessage); !e.Addressed || e.Text != "list pods" || e.ToOther {
		t.Errorf("mention: addressed %v, to other %v, text %q; want addressed, without the mention", e.Addressed, e.ToOther, e.Text)
	}
	h.Act(Action{Do: Mention, Whom: Bob, Place: room, Text: "are you there"})
	if e := r.next(core.InMessage); e.Addressed || !e.ToOther || !strings.HasSuffix(e.Text, "are you there") {
		t.Errorf("mention of Bob: addressed %v, to other %v, text %q", e.Addressed, e.ToOther, e.Text)
	}
	if !h.Facts().Replies {
		return
	}
	id = send(t, a, text(room, "it is done"))
	h.Act(Action{Do: Reply, Place: room, Message: id, Text: "thanks"})
	if e := r.next(core.InMessage); !e.Addressed || e.ReplyTo != id || e.Quote != "it is done" || e.Text != "thanks" {
		t.Errorf("reply: addressed %v, to %q, quoting %q; want to %q", e.Addressed, e.ReplyTo, e.Quote, id)
	}
}

func testOtherBot(t *testing.T, h Harness) {
	r := receive(t, h.Adapter(), nil, 0)
	h.Act(Action{Do: Mention, Place: h.Place(Room), By: Machine, Text: "hello, bot"})
	h.Act(Action{Do: Mention, Place: h.Place(Room), Text: "hello, bot"})
	if e := r.next(core.InMessage); e.Bot {
		// The other bot's message may also be left out altogether; then the first one is Ann's.
		e = r.next(core.InMessage)
		if e.Bot {
			t.Error("a person is taken for a bot")
		}
	} else if e.Person != h.Facts().Ann {
		t.Errorf("bot %q is taken for a person", e.Person)
	}
}

func testTextOut(t *testing.T, h Harness) {
	a := h.Adapter()
	place := h.Place(Room)
	first := send(t, a, text(place, "hello"))
	if got := find(t, h, place, first); got.Text != "hello" || !got.FromBot || len(got.Buttons) > 0 || got.Silent {
		t.Errorf("shown is %+v", got)
	}
	m := text(place, "answer")
	m.Reply, m.Silent = first, true
	got := find(t, h, place, send(t, a, m))
	if h.Facts().Replies && got.Reply != first {
		t.Errorf("reply to %q, want %q", got.Reply, first)
	}
	if h.Facts().Silence && !got.Silent {
		t.Error("a silent message makes a noise")
	}
	m = text(place, "answer to something that was deleted")
	m.Reply = first
	h.Act(Action{Do: Remove, Place: place, Message: first})
	find(t, h, place, send(t, a, m))

	if got := len(h.Shown(place)); got != 2 {
		t.Errorf("%d messages are shown, want 2", got)
	}
}

// testLong: a text of the declared length is taken whole, and nothing is ever cut without an error.
func testLong(t *testing.T, h Harness) {
	a := h.Adapter()
	place := h.Place(Direct)
	limit := a.Capabilities().Max
	unit := map[string]string{"utf16": "🙂", "rune": "🙂", "byte": "é"}[a.Capabilities().Unit]
	if unit == "" || limit <= 0 {
		t.Fatalf("limit %d in unit %q", limit, a.Capabilities().Unit)
	}
	per := 1
	if a.Capabilities().Unit != "rune" {
		per = 2
	}
	long := strings.Repeat(unit, limit/per)
	if got := find(t, h, place, send(t, a, text(place, long))); got.Text != long {
		t.Errorf("shown are %d bytes of %d", len(got.Text), len(long))
	}
	before := len(h.Shown(place))
	_, err := a.Send(soon(t), text(place, long+long))
	wantFault(t, err, core.FaultRefused)
	if got := len(h.Shown(place)); got != before {
		t.Errorf("a refused text is shown")
	}
}
