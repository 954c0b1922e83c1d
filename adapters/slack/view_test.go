package slack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"paragents/adapters/slack"
	"paragents/adapters/slack/slacktest"
	"paragents/core"
)

// pressed puts a button into a channel's thread and presses it.
func pressed(t *testing.T, srv *slacktest.Server, a *slack.Adapter, r *reception) core.Inbound {
	t.Helper()
	place := core.Place{Platform: "slack", Space: slacktest.Team, Channel: srv.Channel(), Thread: "1700000000.000100"}
	id, err := a.Send(t.Context(), core.Message{Place: place, Plain: "may I?", Rows: [][]core.Button{{{Label: "Why", Token: "why"}}}})
	if err != nil {
		t.Fatal(err)
	}
	srv.Press(place.Channel, slacktest.Ann, id, "Why")
	return r.next(core.InPress)
}

// What is filled in comes once, with the token, from who was asked and from the place of the card.
func TestForm(t *testing.T) {
	srv := slacktest.New(t)
	a := newAdapter(t, srv, slack.Config{})
	r := listen(t, a, nil)
	press := pressed(t, srv, a, r)
	form := core.Form{Place: press.Place, Title: "Deny 5rt757", Label: "Why not?", Submit: "Deny", Max: 500, Token: strings.Repeat("x", 64)}
	if err := a.Ask(t.Context(), press.Callback, form); err != nil {
		t.Fatal(err)
	}
	shown := srv.Form(slacktest.Ann)
	if shown.Title != form.Title || !strings.Contains(shown.Shown(), form.Label) {
		t.Errorf("shown is %+v", shown)
	}
	srv.Fill(slacktest.Ann, "not on <Fridays> & never\nat night")
	e := r.next(core.InForm)
	if e.Token != form.Token || e.Text != "not on <Fridays> & never\nat night" || e.Place != press.Place || e.Person != press.Person || e.Bot {
		t.Errorf("filled in: %+v", e)
	}
	// A press shows one form, at once.
	if err := a.Ask(t.Context(), press.Callback, form); fault(err) != core.FaultRefused || !strings.Contains(err.Error(), "press again") {
		t.Errorf("the same press again: %v", err)
	}
	srv.Fail("views.open", slacktest.Failure{Error: "expired_trigger_id"})
	if err := a.Ask(t.Context(), pressed(t, srv, a, r).Callback, form); fault(err) != core.FaultRefused || !strings.Contains(err.Error(), "press again") {
		t.Errorf("an old press: %v", err)
	}
}

func TestFormsThatAreRefused(t *testing.T) {
	srv := slacktest.New(t)
	a := newAdapter(t, srv, slack.Config{})
	r := listen(t, a, nil)
	callback := pressed(t, srv, a, r).Callback
	good := core.Form{Title: "Deny", Label: "Why?", Submit: "Deny", Max: 500, Token: "t"}
	for name, change := range map[string]func(*core.Form){
		"title":    func(f *core.Form) { f.Title = strings.Repeat("x", 25) },
		"button":   func(f *core.Form) { f.Submit = "" },
		"label":    func(f *core.Form) { f.Label = strings.Repeat("x", 2001) },
		"no max":   func(f *core.Form) { f.Max = 0 },
		"max":      func(f *core.Form) { f.Max = 3001 },
		"no token": func(f *core.Form) { f.Token = "" },
		"token":    func(f *core.Form) { f.Token = strings.Repeat("x", 65) },
		"data":     func(f *core.Form) { f.Place.Channel = strings.Repeat("x", 3000) },
	} {
		f := good
		change(&f)
		if err := a.Ask(t.Context(), callback, f); fault(err) != core.FaultRefused {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, callback := range []string{"", "note", "note  ", "a b c d e"} {
		if err := a.Ask(t.Context(), callback, good); fault(err) != core.FaultRefused {
			t.Errorf("callback %q: %v", callback, err)
		}
	}
	if n := len(srv.Calls("views.open")); n != 0 {
		t.Errorf("the platform was asked %d times", n)
	}
}

// A person's own page: opened, shown, pressed. What does not fit is left out from the end, with its buttons.
func TestHome(t *testing.T) {
	srv := slacktest.New(t)
	a := newAdapter(t, srv, slack.Config{})
	r := listen(t, a, nil)
	srv.Connected(1, 1)
	srv.OpenHome(slacktest.Ann, "messages")
	srv.OpenHome(slacktest.Ann, "home")
	e := r.next(core.InHome)
	ann := core.Person("slack:" + slacktest.Team + "/" + slacktest.Ann.ID)
	if want := (core.Place{Platform: "slack", Space: slacktest.Team, Private: true}); e.Person != ann || e.Place != want {
		t.Errorf("opened: %+v", e)
	}
	button := func(token string) [][]core.Button {
		return [][]core.Button{{{Label: "Stop", Token: token}}, {{Label: "Deny", Token: token + "-no"}}}
	}
	var items []core.Item
	for i := range 60 {
		items = append(items, core.Item{Text: fmt.Sprintf("session %d <!channel> *x*", i), Rows: button(fmt.Sprint("t", i))})
	}
	if err := a.ShowHome(t.Context(), ann, items); err != nil {
		t.Fatal(err)
	}
	page := srv.Home(slacktest.Ann, func(v slacktest.View) bool { return len(v.Blocks) > 0 })
	if n := len(page.Blocks); n != 99 || page.Blocks[n-1].Type != "actions" || !strings.Contains(page.Shown(), "session 32 <!channel> *x*") || strings.Contains(page.Shown(), "session 33") {
		t.Errorf("%d blocks: %s", n, page.Shown())
	}
	srv.PressHome(slacktest.Ann, "session 1 ", "Deny")
	if e := r.next(core.InPress); e.Token != "t1-no" || e.Person != ann || e.Place.Channel != "" || !e.Place.Private {
		t.Errorf("pressed: %+v", e)
	}
	long := core.Item{Text: strings.Repeat("x ", 4000)}
	if err := a.ShowHome(t.Context(), ann, []core.Item{long}); err != nil {
		t.Fatal(err)
	}
	srv.Home(slacktest.Ann, func(v slacktest.View) bool { return len(v.Blocks) == 3 })
	for _, who := range []core.Person{"telegram:1", "slack:T1/"} {
		if err := a.ShowHome(t.Context(), who, items); fault(err) != core.FaultRefused {
			t.Errorf("the page of %s: %v", who, err)
		}
	}
	bad := []core.Item{{Text: "x", Rows: [][]core.Button{slices.Repeat([]core.Button{{Label: "x", Token: "t"}}, 6)}}}
	if err := a.ShowHome(t.Context(), ann, bad); fault(err) != core.FaultRefused {
		t.Errorf("six buttons in a row: %v", err)
	}
}
