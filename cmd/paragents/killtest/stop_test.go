package killtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"paragents/core/audit"
	"paragents/core/state"
)

// A replica is stopped for longer than its lease, with a command under way and the model about to answer. Another one takes over, but not before the
// command has ended; and when the first one goes on, nothing of what it still holds counts.
func TestB050StoppedBeyondTheLease(t *testing.T) {
	w := newWorld(t, 2, 128, onRedis)
	works, thinks := w.people[0], w.people[1]
	a := w.start("A")
	ticking := works.post("tick")
	thinks.post("think")
	w.await("the command and the question to the model", func() bool {
		return w.size("ticks"+ticking) > 5 && len(w.model.Seen()) >= 2
	})
	b := w.start("B")
	w.await("the second process", func() bool { return b.said(`"msg":"serving"`, false) > 0 })
	a.pause()
	w.drain()
	a.resume()
	w.await("the first process to notice", func() bool { return a.said("lost the lease", false) > 0 })
	last := works.post("one")
	w.drain()
	w.quit()
	sum := w.judge()
	if sum.unknown != 1 || sum.copies != 0 {
		t.Errorf("%d outcomes unknown and %d answers twice, want 1 and none", sum.unknown, sum.copies)
	}
	if got := works.answers[len(works.answers)-1]; got != last {
		t.Errorf("the last answer is that to %s", got)
	}
	w.endedBefore(ticking)
}

// The process that holds the file is killed while the other one, which had used it through the socket, runs a command.
func TestB050HolderOfTheFileKilled(t *testing.T) {
	w := newWorld(t, 2, 1, onFile) // one run at a time: each process has one
	a := w.start("A")
	w.await("the first process", func() bool { return a.said(`"msg":"serving"`, false) > 0 })
	b := w.start("B")
	w.await("the second process", func() bool { return b.said(`"msg":"serving"`, false) > 0 })
	first, second := w.people[0].post("tick"), w.people[1].post("tick")
	w.await("two commands", func() bool { return w.size("ticks"+first) > 5 && w.size("ticks"+second) > 5 })
	a.kill()
	a.start()
	w.drain()
	w.quit()
	if sum := w.judge(); sum.unknown < 1 {
		t.Error("the killed process's command ended well")
	}
	w.endedBefore(first)
	w.endedBefore(second)
}

// endedBefore checks that a ticking command did its last thing before its prompt was taken over, if it was.
func (w *world) endedBefore(token string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	st, err := w.open(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	defer st.Close()
	info, err := os.Stat(filepath.Join(w.dir, "ticks"+token))
	if err != nil {
		w.t.Fatal(err)
	}
	named := map[string]string{}
	for _, e := range logOf[audit.Entry](ctx, w, st, state.Audit) {
		switch {
		case e.What == "accepted":
			if found := prompt.FindStringSubmatch(e.Show); found != nil {
				named[string(e.Prompt)] = found[1]
			}
		case e.What == "taken over" && named[string(e.Prompt)] == token:
			early := e.Time.Sub(info.ModTime())
			w.t.Logf("%s: the last tick came %s before the takeover", token, early.Round(time.Millisecond))
			if early < 0 {
				w.t.Errorf("%s was taken over %s before its command had ended", token, -early)
			}
		}
	}
}
