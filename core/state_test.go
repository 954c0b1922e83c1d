package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"paragents/core"
)

// The design's diagrams, as they are written there.
const (
	promptDiagram = `
queued  → running, blocked, paused, cancelled, failed
running → done, failed, cancelled, waiting, blocked, paused, queued
waiting → queued, paused, cancelled
blocked → queued, cancelled
paused  → queued, cancelled`
	approvalDiagram = `pending → approved, denied, expired, withdrawn`
)

// diagram reads lines of "state → state, state".
func diagram(text string) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), "→")
		out[strings.TrimSpace(from)] = strings.Split(strings.ReplaceAll(to, " ", ""), ",")
	}
	return out
}

var (
	promptStates   = []core.PromptState{core.Queued, core.Running, core.Waiting, core.Blocked, core.Paused, core.Done, core.Failed, core.Cancelled}
	approvalStates = []core.ApprovalState{core.Pending, core.Approved, core.Denied, core.Expired, core.Withdrawn}
)

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func TestPromptTakesTheTransitionsOfTheDiagramAndNoOther(t *testing.T) {
	allowed := diagram(promptDiagram)
	if len(core.PromptStates) != len(promptStates) {
		t.Errorf("%d states, the diagram has %d", len(core.PromptStates), len(promptStates))
	}
	for _, from := range promptStates {
		for _, to := range promptStates {
			p := core.Prompt{Ref: "k3m9p2", State: from, Reason: "before"}
			err := p.To(to, "after")
			switch {
			case contains(allowed[string(from)], string(to)):
				if err != nil || p.State != to || p.Reason != "after" {
					t.Errorf("%s → %s: %v, now %s (%s)", from, to, err, p.State, p.Reason)
				}
			case !errors.Is(err, core.ErrRefused) || p.State != from || p.Reason != "before":
				t.Errorf("%s → %s: %v, now %s (%s)", from, to, err, p.State, p.Reason)
			}
		}
		if _, goesOn := allowed[string(from)]; from.Ended() == goesOn {
			t.Errorf("%s: ended is %v", from, from.Ended())
		}
	}
}

func TestPromptEndsOnceAndStaysSo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := core.Prompt{State: core.Queued}
		ended := core.PromptState("")
		for i, to := range rapid.SliceOfN(rapid.SampledFrom(promptStates), 1, 40).Draw(t, "wishes") {
			_ = p.To(to, fmt.Sprint(i))
			if ended != "" && p.State != ended {
				t.Fatalf("it was %s and became %s", ended, p.State)
			}
			if p.State.Ended() {
				ended = p.State
			}
		}
	})
}

func TestApprovalTakesTheTransitionsOfTheDiagramAndNoOther(t *testing.T) {
	allowed := diagram(approvalDiagram)
	at := time.Date(2030, 1, 2, 10, 2, 0, 0, time.UTC)
	for from, to := range core.ApprovalStates {
		if len(to) != len(allowed[string(from)]) {
			t.Errorf("%s: the table has %v", from, to)
		}
	}
	for _, from := range approvalStates {
		for _, to := range approvalStates {
			a := core.Approval{Ref: "k3m9p2", State: from}
			if from != core.Pending {
				a.By, a.Decided = "test:ann", at
			}
			before := a.State
			err := a.To(to, "test:bob", "because", at.Add(time.Minute))
			switch {
			case contains(allowed[string(from)], string(to)):
				if err != nil || a.State != to || a.By != "test:bob" || a.Reason != "because" || !a.Decided.Equal(at.Add(time.Minute)) {
					t.Errorf("%s → %s: %v, %+v", from, to, err, a)
				}
			case from == core.Pending: // to itself
				if err == nil || a.State != core.Pending || a.By != "" {
					t.Errorf("%s → %s: %v, %+v", from, to, err, a)
				}
			default:
				if !errors.Is(err, core.ErrDecided) || a.State != before || a.By != "test:ann" || !a.Decided.Equal(at) {
					t.Errorf("%s → %s: %v, %+v", from, to, err, a)
				}
				if err != nil && (!strings.Contains(err.Error(), "by ann at") || !strings.Contains(err.Error(), "10:02")) {
					t.Errorf("the loser reads %q, which does not say who and when", err)
				}
			}
		}
	}
}

func TestApprovalIsDecidedByTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := core.Approval{State: core.Pending}
		wishes := rapid.SliceOfN(rapid.SampledFrom(approvalStates[1:]), 1, 10).Draw(t, "wishes")
		for i, to := range wishes {
			err := a.To(to, core.Person(fmt.Sprint("test:", i)), "", time.Time{})
			if (err == nil) != (i == 0) {
				t.Fatalf("wish %d: %v", i, err)
			}
		}
		if a.State != wishes[0] || a.By != "test:0" {
			t.Fatalf("%s by %s", a.State, a.By)
		}
	})
}

// Whatever of an action changes, its digest does, and only then.
func TestDigestCoversTheWholeAction(t *testing.T) {
	action := func() core.Action {
		return core.Action{Tool: "run_command", Input: []byte(`{"command":"make"}`), Show: "make", Dir: "/w", Scripts: map[string]string{"/w/a": "1", "/w/b": "2"}}
	}
	base := action().Digest()
	if again := action().Digest(); again != base {
		t.Error("the same action has two digests")
	}
	for name, change := range map[string]func(*core.Action){
		"tool":            func(a *core.Action) { a.Tool = "other" },
		"input":           func(a *core.Action) { a.Input = []byte(`{"command":"make "}`) },
		"input no JSON":   func(a *core.Action) { a.Input = []byte(`{"command":`) },
		"show":            func(a *core.Action) { a.Show = "make all" },
		"directory":       func(a *core.Action) { a.Dir = "/w/sub" },
		"script content":  func(a *core.Action) { a.Scripts["/w/a"] = "9" },
		"script added":    func(a *core.Action) { a.Scripts["/w/c"] = "3" },
		"script removed":  func(a *core.Action) { delete(a.Scripts, "/w/b") },
		"scripts swapped": func(a *core.Action) { a.Scripts["/w/a"], a.Scripts["/w/b"] = "2", "1" },
	} {
		a := action()
		change(&a)
		if a.Digest() == base {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	broken := core.Action{Input: []byte(`{"a`), Show: "x"}
	other := core.Action{Input: []byte(`{"b`), Show: "x"}
	if broken.Digest() == other.Digest() {
		t.Error("two inputs that are no JSON have one digest")
	}
}

func TestPlaceKeysAreDistinct(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("a/%2F")), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) core.Place {
			return core.Place{Platform: rapid.SampledFrom([]string{"slack", "test"}).Draw(t, name), Space: text.Draw(t, name), Channel: text.Draw(t, name), Thread: text.Draw(t, name)}
		}
		a, b := draw("a"), draw("b")
		if (a == b) != (a.Key() == b.Key()) {
			t.Fatalf("%+v and %+v have the keys %s and %s", a, b, a.Key(), b.Key())
		}
		a.Private = true
		if a.Key() != (core.Place{Platform: a.Platform, Space: a.Space, Channel: a.Channel, Thread: a.Thread}).Key() {
			t.Fatal("private is part of the key")
		}
	})
}

func TestRefs(t *testing.T) {
	seen := map[core.Ref]bool{}
	for range 1000 {
		r := core.NewRef()
		if len(r) != core.RefLen || !core.LooksLikeRef(string(r)) {
			t.Fatalf("%q", r)
		}
		seen[r] = true
	}
	if len(seen) < 990 { // two of a thousand may be alike by chance
		t.Errorf("of 1000 refs %d are different", len(seen))
	}
	for s, want := range map[string]bool{"": false, "k": true, "k3m9p2": true, "k3m9p2k": false, "k3m9pa": false, "K3": false} {
		if core.LooksLikeRef(s) != want {
			t.Errorf("%q looks like a ref: %v", s, !want)
		}
	}
}
