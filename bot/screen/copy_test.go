package screen

import (
	"path/filepath"
	"testing"
	"time"

	"paragents/bot/setting"
	"paragents/core"
	"paragents/core/state"
	"paragents/store/local"
)

// chat is a platform that is never sent anything.
type chat struct{ core.Adapter }

func (chat) Capabilities() core.Capabilities {
	return core.Capabilities{Platform: "chat", Dialect: "plain", Unit: "rune", Max: 4000, Buttons: true, Edits: true}
}

// Of several letters about one card only the last changes a copy: each would show the same. The original shows each.
func TestCopiesChangeOnce(t *testing.T) {
	st, err := local.Open(t.Context(), local.Config{Path: filepath.Join(t.TempDir(), "state.db"), NoSync: true, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	screen := New(setting.Config{Store: st, Adapters: []core.Adapter{chat{}}})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	group := []core.ApprovalID{"a", "b", "c"}
	times := map[core.ApprovalID]time.Time{"a": at, "b": at.Add(time.Second), "c": at.Add(time.Second)}
	var b state.Batch
	for i, id := range group {
		action := core.Action{Tool: "run_command", Show: "make"}
		b.Put(state.ApprovalKey(id), core.Approval{ID: id, Ref: "bcdfgh", Group: group, Number: i + 1, Of: 3, Action: action, Digest: action.Digest(), State: core.Denied, Decided: times[id]}, 0)
	}
	if _, err := b.Commit(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	render := func(id core.ApprovalID, c *core.Copy) int {
		out, err := screen.Render(t.Context(), core.Letter{Place: core.Place{Platform: "chat", Channel: "ann", Private: true}, Copy: c,
			Event: core.Event{Type: core.EventApproval, State: string(core.Denied), Time: times[id], Approvals: []core.ApprovalID{id}}})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Messages)
	}
	for _, id := range group {
		if n, want := render(id, &core.Copy{To: "chat:ann"}), map[core.ApprovalID]int{"c": 1}[id]; n != want {
			t.Errorf("the letter about %s changes a copy %d times, want %d", id, n, want)
		}
		if n := render(id, nil); n != 1 {
			t.Errorf("the letter about %s changes the card %d times, want 1", id, n)
		}
	}
}
