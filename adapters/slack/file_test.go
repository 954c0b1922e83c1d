package slack_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"paragents/adapters/slack"
	"paragents/adapters/slack/slacktest"
	"paragents/core"
)

func TestB013SignInPageIsNoFile(t *testing.T) {
	srv := slacktest.New(t)
	a := newAdapter(t, srv, slack.Config{})
	r := listen(t, a, nil)
	direct := srv.Direct()
	get := func(f slacktest.File, spoil func(id string)) (string, error) {
		srv.Say(slacktest.Post{Channel: direct, By: slacktest.Ann, File: &f})
		e := r.next(core.InMessage)
		if spoil != nil {
			spoil(e.Files[0].ID)
		}
		body, err := a.Fetch(t.Context(), e.Place, e.Files[0])
		if err != nil {
			return "", err
		}
		defer body.Close() //nolint:errcheck // it was read
		got, err := io.ReadAll(body)
		return string(got), err
	}
	if _, err := get(slacktest.File{Name: "a.png", Type: "image/png", Data: []byte("png")}, srv.Unreadable); err == nil || !strings.Contains(err.Error(), "files:read") {
		t.Errorf("a page in place of a picture: %v", err)
	}
	if _, err := get(slacktest.File{Name: "a.png", Type: "image/png", Data: []byte("\n<!DOCTYPE html><html>")}, nil); err == nil {
		t.Error("a page with another type is taken for a picture")
	}
	const page = "<!doctype html><p>mine</p>"
	if got, err := get(slacktest.File{Name: "a.html", Type: "text/html", Data: []byte(page)}, nil); err != nil || got != page {
		t.Errorf("a page that is one: %q, %v", got, err)
	}
	foreign := func(id string) { srv.Foreign(id, "https://slack.com.evil.test/x") }
	if _, err := get(slacktest.File{Name: "a.png", Type: "image/png", Data: []byte("x")}, foreign); err == nil || !strings.Contains(err.Error(), "does not lie with Slack") {
		t.Errorf("a file elsewhere: %v", err)
	}
	huge := func(id string) { srv.Huge(id, 200<<20) }
	if _, err := get(slacktest.File{Name: "a.png", Type: "image/png", Data: []byte("x")}, huge); !errors.Is(err, core.ErrRefused) {
		t.Errorf("a huge file: %v", err)
	}
}

// A file for one person goes to them, and nobody else sees it.
func TestPrivateFile(t *testing.T) {
	srv, a, place := desk(t)
	m := core.Message{Place: place, File: &core.File{Name: "a.txt", Data: []byte("secret")}, Only: "slack:T0TEAM001/U0ANN00001"}
	for range 2 {
		if id, err := a.Send(t.Context(), m); err != nil || id != "" {
			t.Fatalf("%q, %v", id, err)
		}
	}
	if n := len(srv.Messages(place.Channel, place.Thread)); n != 0 {
		t.Errorf("%d messages in the thread", n)
	}
	if got := srv.Messages(srv.DirectOf(slacktest.Ann), ""); len(got) != 2 || string(got[1].File.Data) != "secret" {
		t.Errorf("in their conversation %+v", got)
	}
	m.Only = "slack:T0TEAM001/U0NOBODY01"
	if _, err := a.Send(t.Context(), m); fault(err) != core.FaultGone {
		t.Errorf("to nobody: %v", err)
	}
}

func TestB029FileWhoseAnswerWasLost(t *testing.T) {
	srv, a, place := desk(t)
	m := core.Message{Place: place, File: &core.File{Name: "a.diff", Data: []byte("x")}, Marker: "m-0123456789"}
	srv.Fail("files.completeUploadExternal", slacktest.Failure{Cut: true, Done: true})
	if _, err := a.Send(t.Context(), m); fault(err) != core.FaultUnclear {
		t.Errorf("send: %v", err)
	}
	list := srv.Messages(place.Channel, place.Thread)
	if id, ok, err := a.Find(t.Context(), place, m.Marker); err != nil || !ok || len(list) != 1 || id != list[0].TS {
		t.Errorf("find gives %q %v %v in %+v", id, ok, err, list)
	}
	// Before the last step nothing is to be seen, whatever was lost.
	srv.Fail("files.getUploadURLExternal", slacktest.Failure{Cut: true, Done: true})
	if _, err := a.Send(t.Context(), m); fault(err) != core.FaultRetry {
		t.Errorf("send: %v", err)
	}
}
