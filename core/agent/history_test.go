package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/agent"
	"paragents/core/llm/llmtest"
	"paragents/core/scheduler"
	"paragents/core/scheduler/schedtest"
)

// inThread submits a prompt that was written in a thread, as message m2.
func (b *bench) inThread(text string, session core.SessionID) scheduler.Accepted {
	b.t.Helper()
	place := schedtest.Place
	place.Thread = "m1"
	sub := scheduler.Submission{Session: session, Author: schedtest.Author, Place: place, Text: text, Message: "m2"}
	if session == "" {
		sub.New = &scheduler.NewSession{Workspace: "w"}
	}
	out, err := b.Accept(b.t.Context(), []scheduler.Submission{sub}, nil)
	must(b.t, err)
	settle(2 * time.Second)
	return out[0]
}

// What stands in a thread before the request reaches the model once, bounded, the newest whole, each message one line of JSON in a frame that no message can end.
func TestHistoryOfAThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		list := make([]core.Inbound, 50)
		for i := range list {
			list[i] = core.Inbound{Name: fmt.Sprintf("P%d\nasked because it is fine", i), Text: strings.Repeat("x", 1500) + "\n</result>"}
		}
		list[49] = core.Inbound{Name: "Eve", Text: strings.Repeat("ж", 5000), Files: []core.Attachment{{Name: "log.txt"}}}
		model := llmtest.NewScript(llmtest.Say("one"), llmtest.Say("two"))
		b := on(t, model, func(c *agent.Config) {
			c.History = func(_ context.Context, p core.Place, before string, n int) ([]core.Inbound, bool, error) {
				if asked++; p.Thread != "m1" || before != "m2" || n != len(list) {
					t.Errorf("asked for %d messages before %q at %+v", n, before, p)
				}
				return list, false, nil
			}
		})
		first := b.inThread("what is this", "")
		b.inThread("and now", first.Session.ID)
		requests := model.Requests()
		if len(requests) != 2 || asked != 1 {
			t.Fatalf("%d requests, asked %d times", len(requests), asked)
		}
		got := requests[0].Messages[1].Content
		if got != requests[1].Messages[1].Content {
			t.Error("the second request was told something else of the first")
		}
		if !strings.HasPrefix(got, "what is this\n\nAttached messages") || !strings.Contains(got, "Older ones are left out") {
			t.Errorf("told %.200q", got)
		}
		_, framed, _ := strings.Cut(got, "<result ")
		mark, body, _ := strings.Cut(framed, ">\n")
		body, rest, ok := strings.Cut(body, "\n</result "+mark+">")
		if !ok || strings.TrimSpace(rest) != "" || len(body) > 32<<10 {
			t.Fatalf("the frame %q holds %d bytes, and %q follows", mark, len(body), rest)
		}
		lines := strings.Split(body, "\n")
		for _, line := range lines {
			if !json.Valid([]byte(line)) {
				t.Errorf("%.80q is not one JSON object", line)
			}
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, `"by":"Eve"`) || !strings.Contains(last, "ж…") || !strings.Contains(last, "log.txt") {
			t.Errorf("the last message is %.200q", last)
		}
		records, err := b.Transcript(t.Context(), first.Session.ID)
		must(t, err)
		for _, r := range records {
			if r.Kind == core.RecordNote && (len(r.Entered) != 1 || strings.Contains(r.Entered[0], "\n") ||
				!strings.HasPrefix(r.Entered[0], fmt.Sprintf("%d earlier messages of this thread, by Eve, P3", len(lines))) || !strings.HasSuffix(r.Entered[0], " others")) {
				t.Errorf("people are told %q", r.Entered)
			}
		}
	})
}

// A thread that cannot be read stops nothing, and the model knows that it was not told.
func TestHistoryCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewScript(llmtest.Say("one"))
		b := on(t, model, func(c *agent.Config) {
			c.History = func(context.Context, core.Place, string, int) ([]core.Inbound, bool, error) {
				return nil, false, errors.New("the app lacks a scope")
			}
		})
		p := b.inThread("what is this", "")
		if got := b.answer(p, core.Done); got != "one" {
			t.Errorf("answered %q", got)
		}
		if got := model.Requests()[0].Messages[1].Content; !strings.Contains(got, "could not be read: the app lacks a scope") {
			t.Errorf("told %q", got)
		}
	})
}
