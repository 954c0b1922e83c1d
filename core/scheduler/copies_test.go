package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/scheduler/schedtest"
)

// Every letter about an approval goes to all its copies: the question, the reminder, the decision. Who gets one is settled when it is asked, and asked again while that
// cannot be known.
func TestCopiesOfAnApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dm := core.Copy{Place: core.Place{Platform: "test", Private: true}, To: "test:ann"}
		channel := core.Copy{Place: core.Place{Platform: "test", Channel: "c"}}
		tries := 0
		mail := &schedtest.Mail{}
		r := start(t, schedtest.Open(t), mail, config{Agent: schedtest.Agent(asking), Copies: func(_ context.Context, p core.Prompt) ([]core.Copy, error) {
			if tries++; tries == 1 {
				return nil, errors.New("the store is away")
			}
			return []core.Copy{dm, channel}, nil
		}})
		p := r.Submit(t, "", "text")
		settle(5 * time.Second)
		a := waitsFor(t, r, p.Prompt.ID)
		settle(61 * time.Minute)
		_, err := r.Decide(t.Context(), a.ID, yes(boss))
		must(t, err)
		settle(5 * time.Second)
		for _, c := range []struct {
			event core.EventType
			state string
		}{{core.EventApproval, string(core.Pending)}, {core.EventReminder, ""}, {core.EventApproval, string(core.Approved)}} {
			var got []core.Letter
			for _, l := range mail.Of(p.Prompt.ID, c.event) {
				if l.Event.State == c.state {
					got = append(got, l)
				}
			}
			if len(got) != 3 || got[0].Copy != nil || got[1].Copy == nil || *got[1].Copy != dm || got[2].Copy == nil || *got[2].Copy != channel {
				t.Fatalf("letters of %s %s: %+v", c.event, c.state, got)
			}
			for i, place := range []core.Place{p.Prompt.Place, dm.Place, channel.Place} {
				if got[i].Place != place || got[i].Event.Approvals[0] != a.ID {
					t.Errorf("letter %d of %s %s goes to %+v about %v", i, c.event, c.state, got[i].Place, got[i].Event.Approvals)
				}
			}
		}
		if n := len(mail.Of(p.Prompt.ID, core.EventEnd)); n != 1 {
			t.Errorf("the end is told %d times", n)
		}
	})
}
