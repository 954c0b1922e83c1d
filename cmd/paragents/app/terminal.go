package app

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"paragents/bot/phrase"
	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// seat is the document that says which process sits at a person's terminal.
type seat struct {
	PID int `json:"pid"`
}

// Seat is the place of this terminal: the person's own, or, while another process sits there, one beside it. What a terminal that was killed left is therefore found by
// the next one.
func Seat(ctx context.Context, st store.Store, me core.Person) (core.Place, error) {
	place := core.Place{Platform: me.Platform(), Channel: strings.TrimPrefix(string(me), me.Platform()+":"), Private: true}
	key := state.DutyKey(string(me))
	for range 8 {
		d, _, err := state.Get[seat](ctx, st, key)
		if err != nil {
			return place, err
		}
		if d.Exists() && d.Value.PID != os.Getpid() && lives(d.Value.PID) {
			place.Thread = fmt.Sprint(os.Getpid())
			return place, nil
		}
		b := &state.Batch{}
		b.Update(key, d.Version, seat{PID: os.Getpid()})
		if _, err := b.Commit(ctx, st); err == nil {
			return place, nil
		}
	}
	return place, fmt.Errorf("take a seat at the terminal: others are faster; try again")
}

// lives reports whether a process of this machine exists.
func lives(pid int) bool { return syscall.Kill(pid, 0) == nil }

// Admins: whoever can read the state file is an admin of what is in it. On a shared store the configuration says who is.
func Admins(path string, me core.Person) []core.Person {
	if path == "" {
		return nil
	}
	return []core.Person{me}
}

// Greeting is the first line of a terminal.
func (a *App) Greeting() string {
	return phrase.Greeting(a.Config.LLM.Provider == "demo", a.Config.Workspaces[0].Name)
}

// How long a script waits for the question that its next line answers, and for its work at the end.
const (
	awaitQuestion = 30 * time.Second
	awaitEnd      = 30 * time.Minute
)

// Await holds a script's next line back until it makes sense: an answer until there is a question, an order until its prompt runs, the end until the work is done. A
// person would have waited too.
func (a *App) Await(ctx context.Context, me core.Person, line string) error {
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimLeft(line, "/")), " ")
	switch word {
	case "quit", "exit", "q", "bye":
		if strings.HasPrefix(line, "/") {
			return a.Settle(ctx, me, awaitEnd)
		}
	case "approve", "deny", "approvals":
		until(ctx, awaitQuestion, func() bool {
			busy, err := a.Scheduler.Busy(ctx, me)
			return err == nil && !busy
		})
	case "stop", "pause", "steer", "cancel":
		until(ctx, awaitQuestion, func() bool {
			views, err := a.Scheduler.List(ctx, state.ByPerson(me), 1, false)
			if err != nil || len(views) == 0 {
				return err == nil
			}
			behind := len(views[0].Session.Queue) > 1
			return views[0].Prompt.State != core.Queued && !(behind && views[0].Prompt.State == core.Running)
		})
	}
	return nil
}

// until waits for something, at most limit.
func until(ctx context.Context, limit time.Duration, done func() bool) {
	end := time.After(limit)
	for !done() {
		select {
		case <-ctx.Done():
			return
		case <-end:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}
