package adaptertest

import (
	"testing"

	"paragents/core"
)

func testCommand(t *testing.T, fresh func(t *testing.T) Harness) {
	for _, where := range []Where{Direct, Room} {
		t.Run(string(where), func(t *testing.T) {
			h := fresh(t)
			a := h.Adapter()
			r := receive(t, a, nil, 0)
			h.Act(Action{Do: Command, Place: h.Place(where), Text: "new in:api fix the <tests>"})
			e := r.next(core.InCommand)
			if e.Text != "new in:api fix the <tests>" || !e.Addressed || e.Place != h.Place(where) || e.Person != h.Facts().Ann {
				t.Errorf("command is %+v", e)
			}
			h.Act(Action{Do: Command, Place: h.Place(where), Text: "list"})
			next := r.next(core.InCommand)
			if next.Text != "list" || next.ID == e.ID || next.ID == "" {
				t.Errorf("second command is %+v, after %q", next, e.ID)
			}
			if next.Callback == "" {
				return
			}
			if err := a.(core.Answerer).Answer(soon(t), next.Callback, "on its way"); err != nil {
				t.Errorf("answer: %v", err)
			}
		})
	}
}
