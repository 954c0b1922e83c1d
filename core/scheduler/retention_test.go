package scheduler_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"paragents/core"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
	"paragents/core/state"
	"paragents/store"
	"paragents/store/redis"
	"paragents/store/redis/redistest"
)

// After many finished prompts whose sessions were closed and forgotten, Redis is as small as before, but for what is kept by time: the audit log, and the events that
// duplicates are known by. PARAGENTS_RETENTION is how many prompts there are.
func TestB078MemoryAfterManyPrompts(t *testing.T) {
	n := 400
	if text := os.Getenv("PARAGENTS_RETENTION"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		must(t, err)
	}
	server := redistest.Start(t)
	server.Do(t, "config", "set", "appendonly", "no") // it is about memory
	st, err := redis.Open(t.Context(), redis.Config{URL: server.URL()})
	must(t, err)
	t.Cleanup(func() { _ = st.Close() })
	r := start(t, st, nil, config{Agent: schedtest.Agent(schedtest.Done)})
	work := func(from, to int) {
		const each = 10 // prompts of a session
		for i := from; i < to; i += each {
			subs := []scheduler.Submission{{Event: fmt.Sprint("e", i), New: &scheduler.NewSession{Workspace: "w", Join: true, Bind: true}, Author: author,
				Place: core.Place{Platform: place.Platform, Channel: fmt.Sprint("c", i)}, Text: strings.Repeat("text ", 20)}}
			for j := 1; j < each; j++ {
				again := subs[0]
				again.Event = fmt.Sprint("e", i+j)
				subs = append(subs, again)
			}
			out, err := r.Accept(t.Context(), subs, nil)
			must(t, err)
			wait(t, func() bool { return r.Read(t, out[each-1].Prompt.ID).State.Ended() })
			_, err = r.Close(t.Context(), out[0].Session.ID, author)
			must(t, err)
			var b state.Batch
			b.InsertNow(state.GC, string(out[0].Session.ID), 0) // 90 days later
			_, err = b.Commit(t.Context(), st)
			must(t, err)
		}
		must(t, r.Stop())
		r = start(t, st, nil, config{Agent: schedtest.Agent(schedtest.Done)}) // its janitor begins at once
		wait(t, func() bool {
			page, err := st.Scan(t.Context(), state.Sessions, store.Range{Limit: 1})
			must(t, err)
			return page.Total == 0
		})
	}
	used := func() (total, kept int) {
		for line := range strings.SplitSeq(fmt.Sprint(server.Do(t, "info", "memory")), "\r\n") {
			if text, ok := strings.CutPrefix(line, "used_memory_dataset:"); ok {
				total, err = strconv.Atoi(text)
				must(t, err)
			}
		}
		keys, _ := server.Do(t, "keys", "*").([]any)
		for _, k := range keys {
			name := strings.TrimPrefix(fmt.Sprint(k), "{paragents}:")
			switch {
			case strings.HasPrefix(name, "doc:event/"), strings.HasPrefix(name, "batch:"), name == "log:audit", name == "log:seals":
				bytes, _ := server.Do(t, "memory", "usage", k, "samples", 0).(int64)
				kept += int(bytes)
			case strings.HasPrefix(name, "doc:replica/"), strings.HasPrefix(name, "doc:terms/"), name == "counter", name == "index:replicas", name == "doc:seal":
			default:
				t.Errorf("left behind: %s", name)
			}
		}
		return total, kept
	}
	work(0, 100) // what grows once: tables, scripts, connections
	before, keptBefore := used()
	work(100, 100+n)
	after, kept := used()
	t.Logf("%d prompts: %d bytes before, %d of them kept by time; after %d, %d", n, before, keptBefore, after, kept)
	if rest, was := after-kept, before-keptBefore; float64(rest) > 1.1*float64(was)+float64(kept)/10 {
		t.Errorf("without what is kept by time there were %d bytes, and now there are %d", was, rest)
	}
}

// wait asks until something is so, at most a minute.
func wait(t *testing.T, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("waited a minute in vain")
		}
	}
}
