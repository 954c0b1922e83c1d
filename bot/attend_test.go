package bot_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
)

// missed is what a platform has for who asks what was written: an answer for each call, the last one again and again.
type missed struct {
	answers []error
	events  []core.Inbound
	asked   []time.Time // when
	since   []time.Time
}

func (m *missed) CatchUp(_ context.Context, p core.Place, since time.Time) ([]core.Inbound, error) {
	if p.Thread == "" && !p.Private { // nothing at the top of channels
		return nil, nil
	}
	m.asked, m.since = append(m.asked, time.Now()), append(m.since, since)
	var err error
	if len(m.answers) > 0 {
		err, m.answers = m.answers[0], m.answers[1:]
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(m.events), func(e core.Inbound) bool { return e.Place.Key() != p.Key() }), nil
}

// attends lets the desk attend for a while, as the holder of the duty.
func (w *world) attends(m *missed, d time.Duration) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.replica.attendant.Attend(ctx, connection{w.chat, w.replica.cut}, m) }()
	time.Sleep(d)
	synctest.Wait()
	cancel()
	if err := <-done; err != nil {
		w.t.Error(err)
	}
	w.clock.settle(w, 0)
}

// What was missed is looked for from a minute before the gap on, when the platform wants it, and where nobody may look nothing was missed. A gap is what nobody listened in:
// the end of one holder and the beginning of the next are none.
func TestAttend(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.does("rob", "say begun")
		m := &missed{}
		w.attends(m, time.Minute)
		if len(m.asked) != 0 {
			t.Fatalf("asked %d times, and nothing was missed", len(m.asked))
		}
		w.attends(m, time.Minute)
		if len(m.asked) != 0 {
			t.Fatalf("asked %d times after a handing over", len(m.asked))
		}
		gone := time.Now()
		time.Sleep(10 * time.Minute)
		for i := range 70 { // more than are accepted together
			e := w.event("rob", "rob", fmt.Sprintf("say number %d", i))
			e.At = time.Now()
			m.events = append(m.events, e)
		}
		rate := &core.SendError{Fault: core.FaultRate, After: 30 * time.Second, Err: core.ErrRefused}
		m.answers = []error{rate, &core.SendError{Fault: core.FaultRetry, Err: core.ErrRefused}}
		back := time.Now()
		w.attends(m, time.Minute)
		if len(m.asked) != 3 || m.asked[1].Sub(m.asked[0]) != 30*time.Second || m.asked[2].Sub(m.asked[1]) != 5*time.Second {
			t.Errorf("asked at %v", m.asked)
		}
		if d := gone.Sub(m.since[0]); d < time.Minute || d > time.Minute+20*time.Second {
			t.Errorf("asked for what was written from %s before the gap on", d)
		}
		answers, refused, last := 0, 0, -1
		for _, h := range w.chat.take() {
			switch text := strings.Join(h.lines, " "); {
			case strings.Contains(text, "unfinished prompts, which is the most"):
				refused++
			case strings.Contains(text, "[done]") && strings.Contains(text, " number "):
				n := -1
				if _, err := fmt.Sscanf(text[strings.LastIndex(text, " number ")+1:], "number %d", &n); err != nil || n <= last {
					t.Errorf("after number %d: %q, %v", last, text, err)
				}
				answers, last = answers+1, n
			}
		}
		if answers < 20 || answers+refused != len(m.events) { // in order, and what is over the limit of a session is told
			t.Errorf("%d were answered in order, %d refused", answers, refused)
		}
		w.attends(m, 10*time.Second)
		if len(m.asked) != 3 {
			t.Errorf("asked again %s after it was all caught up", time.Since(back))
		}
		time.Sleep(10 * time.Minute)
		m.answers = []error{&core.SendError{Fault: core.FaultGone, Err: core.ErrRefused}}
		w.attends(m, 10*time.Second)
		if len(m.asked) != 4 {
			t.Errorf("asked %d times where nobody may look", len(m.asked)-3)
		}
	}, "rob is operator")
}
