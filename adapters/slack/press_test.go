package slack_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"paragents/adapters/slack"
	"paragents/adapters/slack/slacktest"
	"paragents/core"
)

func TestB030B036EachPressIsItsOwn(t *testing.T) {
	srv := slacktest.New(t)
	a := newAdapter(t, srv, slack.Config{})
	r := listen(t, a, nil)
	place := core.Place{Platform: "slack", Space: slacktest.Team, Channel: srv.Channel(), Thread: "1700000000.000100"}
	ids := map[string]bool{}
	var cards [2]string
	for i := range cards {
		id, err := a.Send(t.Context(), core.Message{Place: place, Plain: "may I?", Rows: [][]core.Button{
			{{Label: "Approve", Token: fmt.Sprint("yes-", i)}}, {{Label: "Deny", Token: fmt.Sprint("no-", i)}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		cards[i] = id
	}
	for _, c := range []struct {
		card         int
		label, token string
		by           slacktest.Person
	}{{0, "Approve", "yes-0", slacktest.Ann}, {1, "Deny", "no-1", slacktest.Ann}, {1, "Deny", "no-1", slacktest.Ann}, {0, "Deny", "no-0", slacktest.Bob}} {
		srv.Press(place.Channel, c.by, cards[c.card], c.label)
		e := r.next(core.InPress)
		if e.Token != c.token || e.Message != cards[c.card] || ids[e.ID] || e.Person != core.Person("slack:T0TEAM001/"+c.by.ID) || e.Place != place {
			t.Errorf("press of %s is %+v", c.token, e)
		}
		ids[e.ID] = true
	}
}

func TestB043PressesWaitForNobody(t *testing.T) {
	srv := slacktest.New(t)
	room := srv.Channel()
	a := newAdapter(t, srv, slack.Config{})
	release := make(chan struct{})
	var late atomic.Bool
	r := listen(t, a, func(ctx context.Context, e core.Inbound) error {
		if e.Kind == core.InMessage {
			select {
			case <-release:
			case <-ctx.Done():
				late.Store(true)
			}
		}
		return nil
	})
	place := core.Place{Platform: "slack", Space: slacktest.Team, Channel: room}
	id, err := a.Send(t.Context(), core.Message{Place: place, Plain: "may I?", Rows: [][]core.Button{{{Label: "Deny", Token: "no"}}}})
	if err != nil {
		t.Fatal(err)
	}
	srv.Connected(1, 1)
	srv.Say(slacktest.Post{Channel: room, By: slacktest.Ann, Text: "hello"})
	srv.Press(room, slacktest.Ann, id, "Deny")
	e := r.next(core.InPress)
	if late.Load() {
		t.Error("the press waited for a message")
	}
	close(release)
	// The little answer fails: that is all that fails.
	srv.Fail("answer", slacktest.Failure{Status: 404})
	if err := a.Answer(t.Context(), e.Callback, "noted"); fault(err) != core.FaultGone {
		t.Errorf("answer: %v", err)
	}
	if err := a.Answer(t.Context(), e.Callback, "noted"); err != nil {
		t.Errorf("answer: %v", err)
	}
	if m := srv.Await(room, "", func(m slacktest.Message) bool { return m.Only != "" }); m.Shown() != "noted" || m.Only != slacktest.Ann.ID {
		t.Errorf("shown is %+v", m)
	}
}

func TestB074PeopleOfOtherCompanies(t *testing.T) {
	srv := slacktest.New(t)
	room := srv.Channel()
	a := newAdapter(t, srv, slack.Config{})
	r := listen(t, a, nil)
	const eve, ann = "slack:T0OTHER01/U0EVE00001", "slack:T0TEAM001/U0ANN00001"
	srv.Say(slacktest.Post{Channel: room, By: slacktest.Eve, Text: "let me in"})
	if e := r.next(core.InMessage); e.Person != eve || e.Place.Space != slacktest.Team {
		t.Errorf("event %+v", e)
	}
	// A home user in a channel that the others host.
	srv.Raw(map[string]string{
		"type": "message", "channel": room, "user": "U0ANN00001", "team": slacktest.Team, "user_team": slacktest.Team, "source_team": slacktest.OtherTeam,
		"ts": "1700000000.000100", "text": "it is me",
	})
	if e := r.next(core.InMessage); e.Person != ann {
		t.Errorf("event %+v", e)
	}
	// Nothing but where it was written: never one of ours.
	srv.Raw(map[string]string{"type": "message", "channel": room, "user": "U0X", "source_team": slacktest.OtherTeam, "ts": "1700000000.000200", "text": "x"})
	if e := r.next(core.InMessage); e.Person != "slack:T0OTHER01/U0X" {
		t.Errorf("event %+v", e)
	}
	id, err := a.Send(t.Context(), core.Message{Place: core.Place{Platform: "slack", Channel: room}, Plain: "may I?", Rows: [][]core.Button{{{Label: "Yes", Token: "y"}}}})
	if err != nil {
		t.Fatal(err)
	}
	srv.Press(room, slacktest.Eve, id, "Yes")
	if e := r.next(core.InPress); e.Person != eve {
		t.Errorf("press %+v", e)
	}
	srv.Command(room, slacktest.Eve, "list")
	if e := r.next(core.InCommand); e.Person != eve {
		t.Errorf("command %+v", e)
	}
}

func TestShortcut(t *testing.T) {
	srv := slacktest.New(t)
	room := srv.Channel()
	r := listen(t, newAdapter(t, srv, slack.Config{}), nil)
	ts := srv.Say(slacktest.Post{Channel: room, By: slacktest.Bob, Text: "why does it fail?"})
	r.next(core.InMessage)
	srv.Shortcut(room, slacktest.Ann, ts)
	e := r.next(core.InAbout)
	if e.Person != "slack:T0TEAM001/U0ANN00001" || e.Name != "Ann" || !e.Addressed || e.Bot || e.Text != "" || e.Message != ts || e.Place.Thread != ts || e.Callback == "" {
		t.Errorf("shortcut is %+v", e)
	}
	if m := e.About; m == nil || m.Text != "why does it fail?" || m.Person != "slack:T0TEAM001/U0BOB00001" || m.Name != "Bob" || m.Message != ts {
		t.Errorf("shortcut is about %+v", m)
	}
}
