package slack_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"paragents/adapters/slack"
	"paragents/adapters/slack/slacktest"
	"paragents/core"
)

func fault(err error) core.SendFault {
	var f *core.SendError
	if !errors.As(err, &f) {
		return ""
	}
	return f.Fault
}

// desk is a fake with an adapter and a thread to send to.
func desk(t *testing.T) (*slacktest.Server, *slack.Adapter, core.Place) {
	srv := slacktest.New(t)
	place := core.Place{Platform: "slack", Space: slacktest.Team, Channel: srv.Channel()}
	place.Thread = srv.Say(slacktest.Post{Channel: place.Channel, By: slacktest.Ann, Text: "root"})
	return srv, newAdapter(t, srv, slack.Config{}), place
}

func deny() [][]core.Button {
	return [][]core.Button{{{Label: "Approve once", Token: "t-yes", Style: "primary"}}, {{Label: "Deny", Token: "t-no", Style: "danger"}}}
}

func TestB018EverythingCarriesItsThread(t *testing.T) {
	srv, a, place := desk(t)
	ctx := t.Context()
	card := core.Message{Place: place, Text: "**May I?**", Plain: "May I?", Rows: deny()}
	file := core.Message{Place: place, File: &core.File{Name: "a.diff", Data: []byte("x")}}
	only := core.Message{Place: place, Plain: "for you", Only: "slack:T0TEAM001/U0ANN00001"}
	for _, m := range []core.Message{card, file, only, {Place: place, Plain: "plain"}} {
		if _, err := a.Send(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	for _, method := range []string{"chat.postMessage", "chat.postEphemeral", "files.completeUploadExternal"} {
		for _, c := range srv.Calls(method) {
			if c.Args["thread_ts"] != place.Thread || c.Args["channel"]+c.Args["channel_id"] != place.Channel {
				t.Errorf("%s with %v", method, c.Args)
			}
		}
	}
	for _, c := range srv.Calls("chat.postMessage") {
		if c.Args["unfurl_links"] != "false" || c.Args["unfurl_media"] != "false" {
			t.Errorf("links unfold: %v", c.Args)
		}
	}
	if n := len(srv.Messages(place.Channel, place.Thread)); n != 4 {
		t.Errorf("%d messages in the thread, want 4", n)
	}
}

func TestB023PlainContentPingsNobody(t *testing.T) {
	srv, a, place := desk(t)
	content := "<!channel> see <@U0BOB00001> & <https://x.test|y> &amp; :tada:"
	long := content + strings.Repeat(" word", 1000) // needs sections
	for _, plain := range []string{content, long} {
		for _, m := range []core.Message{
			{Place: place, Plain: plain},
			{Place: place, Plain: plain, Rows: deny()},
			{Place: place, Text: "&lt;!channel&gt;", Plain: plain},
			{Place: place, Plain: plain, Only: "slack:T0TEAM001/U0ANN00001"},
			{Place: place, Plain: plain, File: &core.File{Name: "<!here>.txt", Data: []byte("x")}},
		} {
			if _, err := a.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			list := srv.Messages(place.Channel, place.Thread)
			got := list[len(list)-1]
			if got.Pings() {
				t.Errorf("somebody is notified by %+v", got)
			}
			if m.Text == "" && strings.ReplaceAll(got.Shown(), "\n", "") != plain {
				t.Errorf("shown is %.80q…, want %.80q…", got.Shown(), plain)
			}
		}
	}
	id, err := a.Send(t.Context(), core.Message{Place: place, Plain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Edit(t.Context(), id, core.Message{Place: place, Plain: content}); err != nil {
		t.Fatal(err)
	}
	list := srv.Messages(place.Channel, place.Thread)
	if got := list[len(list)-1]; got.Pings() || got.Shown() != content {
		t.Errorf("after the edit %+v", got)
	}
}

func TestB027Limits(t *testing.T) {
	srv, a, place := desk(t)
	ctx := t.Context()
	last := func() slacktest.Message {
		list := srv.Messages(place.Channel, place.Thread)
		return list[len(list)-1]
	}
	for _, n := range []int{3999, 4000, 4001, 9000, 12000} {
		plain := strings.Repeat("x", n)
		for _, m := range []core.Message{{Place: place, Text: plain, Plain: plain, Rows: deny()}, {Place: place, Plain: plain}, {Place: place, Plain: plain, Rows: deny()}} {
			id, err := a.Send(ctx, m)
			if err != nil {
				t.Fatalf("%d characters: %v", n, err)
			}
			if got := strings.ReplaceAll(last().Shown(), "\n", ""); got != plain {
				t.Errorf("%d characters are shown, want %d", len(got), n)
			}
			m.Rows = nil
			if err := a.Edit(ctx, id, m); err != nil {
				t.Errorf("edit to %d characters: %v", n, err)
			}
			if len(last().Buttons()) != 0 {
				t.Error("buttons are left")
			}
		}
	}
	command := "grep '<x>' && " + strings.Repeat("y", 3186) + " && echo done"
	id, err := a.Send(ctx, core.Message{Place: place, Text: "```\n" + command + "\n```", Plain: command, Rows: deny()})
	if err != nil {
		t.Fatal(err)
	}
	if got := last(); !strings.Contains(got.Shown(), command) || len(got.Buttons()) != 2 {
		t.Errorf("the command is not shown whole: %+v", got)
	}
	// The platform takes neither form of what was decided.
	for _, code := range []string{"msg_too_long", "invalid_blocks"} {
		decided := core.Message{Place: place, Text: "approved", Plain: "approved " + strings.Repeat("&", 2000)}
		srv.Fail("chat.update", slacktest.Failure{Error: code}, slacktest.Failure{Error: code})
		if err := a.Edit(ctx, id, decided); fault(err) != core.FaultMarkup {
			t.Errorf("edit: %v", err)
		}
		decided.Text = ""
		if err := a.Edit(ctx, id, decided); err != nil {
			t.Errorf("plain edit: %v", err)
		}
		if got := last(); len(got.Buttons()) != 0 || !strings.HasPrefix(got.Shown(), "approved &") || !strings.HasSuffix(got.Shown(), "…") {
			t.Errorf("shown is %+v", got)
		}
	}
	before := len(srv.Messages(place.Channel, place.Thread))
	for what, m := range map[string]core.Message{
		"markdown":      {Place: place, Text: strings.Repeat("x", 12001), Plain: "x"},
		"plain":         {Place: place, Plain: strings.Repeat("x", 12001)},
		"six in a row":  {Place: place, Plain: "x", Rows: [][]core.Button{slices.Repeat([]core.Button{{Label: "a", Token: "t"}}, 6)}},
		"fifty rows":    {Place: place, Plain: "x", Rows: slices.Repeat([][]core.Button{{{Label: "a", Token: "t"}}}, 50)},
		"a long label":  {Place: place, Plain: "x", Rows: [][]core.Button{{{Label: strings.Repeat("ж", 76), Token: "t"}}}},
		"no label":      {Place: place, Plain: "x", Rows: [][]core.Button{{{Token: "t"}}}},
		"another style": {Place: place, Plain: "x", Rows: [][]core.Button{{{Label: "a", Token: "t", Style: "loud"}}}},
		"nothing":       {Place: place, Text: "", Plain: " \n"},
		"no UTF-8":      {Place: place, Plain: "a\xff"},
		"empty file":    {Place: place, File: &core.File{Name: "a"}},
		"nobody":        {Place: place, Plain: "x", Only: "telegram:5"},
	} {
		if _, err := a.Send(ctx, m); fault(err) != core.FaultRefused {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := len(srv.Messages(place.Channel, place.Thread)); n != before {
		t.Errorf("%d refused messages are shown", n-before)
	}
}

func TestFindInLongThreads(t *testing.T) {
	srv, a, place := desk(t)
	for range 450 {
		srv.Say(slacktest.Post{Channel: place.Channel, Thread: place.Thread, By: slacktest.Ann, Text: "chatter"})
	}
	id, err := a.Send(t.Context(), core.Message{Place: place, Plain: "x", Marker: "m-here"})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok, err := a.Find(t.Context(), place, "m-here"); err != nil || !ok || got != id {
		t.Errorf("find gives %q %v %v, want %q", got, ok, err, id)
	}
	top := place
	top.Thread = ""
	if _, ok, err := a.Find(t.Context(), top, "m-here"); err != nil || ok {
		t.Errorf("found at the top: %v %v", ok, err)
	}
	// What is gone holds nothing, and that is no reason to ask for ever.
	srv.Lose(place.Channel)
	if _, ok, err := a.Find(t.Context(), place, "m-here"); err != nil || ok {
		t.Errorf("found where the bot is not: %v %v", ok, err)
	}
	srv.Fail("conversations.replies", slacktest.Failure{Status: 503})
	if _, ok, err := a.Find(t.Context(), place, "m-here"); err == nil || ok {
		t.Errorf("found while the platform fails: %v", ok)
	}
}

// TestRefusals: what the platform says becomes what it means for the message, and a sentence that says what to do.
func TestRefusals(t *testing.T) {
	srv, a, place := desk(t)
	for _, c := range []struct {
		code  string
		fault core.SendFault
		says  string
	}{
		{"channel_not_found", core.FaultGone, "/invite"},
		{"not_in_channel", core.FaultGone, "/invite"},
		{"is_archived", core.FaultGone, "unarchive"},
		{"message_not_found", core.FaultGone, "deleted"},
		{"msg_too_long", core.FaultMarkup, "form"},
		{"invalid_blocks", core.FaultMarkup, "/blocks/0"},
		{"ratelimited", core.FaultRate, "too many"},
		{"missing_scope", core.FaultRefused, "chat:write"},
		{"invalid_auth", core.FaultRetry, "slack.bot_token"},
		{"restricted_action", core.FaultRefused, "administrator"},
		{"trigger_expired", core.FaultRefused, "press again"},
		{"user_not_found", core.FaultGone, "not there any more"},
		{"user_not_visible", core.FaultGone, "another workspace"},
		{"internal_error", core.FaultUnclear, "Slack failed"},
		{"something_new", core.FaultRefused, "something_new"},
	} {
		f := slacktest.Failure{Error: c.code, Needed: "chat:write", Messages: []string{"wrong [json-pointer:/blocks/0/text]"}}
		srv.Fail("chat.postMessage", f)
		_, err := a.Send(t.Context(), core.Message{Place: place, Text: "**x**", Plain: "x"})
		if fault(err) != c.fault || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), place.Channel) {
			t.Errorf("%s: %v; want %s with %q", c.code, err, c.fault, c.says)
		}
	}
	srv.Fail("chat.postMessage", slacktest.Failure{Error: "invalid_blocks"}, slacktest.Failure{Status: 500}, slacktest.Failure{Status: 403})
	for _, want := range []core.SendFault{core.FaultRefused, core.FaultUnclear, core.FaultRefused} {
		if _, err := a.Send(t.Context(), core.Message{Place: place, Plain: "x"}); fault(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	srv.Archive(place.Channel)
	if _, err := a.Send(t.Context(), core.Message{Place: place, Plain: "x"}); fault(err) != core.FaultGone {
		t.Errorf("archived: %v", err)
	}
}

func TestB024EditMustWait(t *testing.T) {
	srv, a, place := desk(t)
	id, err := a.Send(t.Context(), core.Message{Place: place, Plain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	srv.Fail("chat.update", slacktest.Failure{RetryAfter: 33})
	err = a.Edit(t.Context(), id, core.Message{Place: place, Plain: "y"})
	var f *core.SendError
	if !errors.As(err, &f) || f.Fault != core.FaultRate || f.After != 33*time.Second {
		t.Errorf("edit: %v", err)
	}
	if n := len(srv.Calls("chat.update")); n != 1 {
		t.Errorf("%d calls, want one and no retry", n)
	}
}

// Slack takes an equal text as a change: an edit that is repeated, because its answer was lost, is success and leaves one message.
func TestB025RepeatedEdit(t *testing.T) {
	srv, a, place := desk(t)
	id, err := a.Send(t.Context(), core.Message{Place: place, Plain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	srv.Fail("chat.update", slacktest.Failure{Cut: true, Done: true})
	if err := a.Edit(t.Context(), id, core.Message{Place: place, Plain: "y"}); fault(err) != core.FaultRetry {
		t.Errorf("an edit whose answer was lost: %v", err)
	}
	for range 2 {
		if err := a.Edit(t.Context(), id, core.Message{Place: place, Plain: "y"}); err != nil {
			t.Error(err)
		}
	}
	if list := srv.Messages(place.Channel, place.Thread); len(list) != 1 || list[0].Shown() != "y" {
		t.Errorf("shown %+v", list)
	}
}

func TestPrivateAnswers(t *testing.T) {
	srv := slacktest.New(t)
	a := newAdapter(t, srv, slack.Config{})
	r := listen(t, a, nil)
	room := srv.Channel()
	srv.Command(room, slacktest.Ann, "list")
	e := r.next(core.InCommand)
	m := core.Message{Place: e.Place, Text: "**nothing**", Plain: "nothing", Only: e.Person, Callback: e.Callback, Rows: deny()}
	// The address takes five answers; then the same goes another way.
	for i := range 7 {
		if id, err := a.Send(t.Context(), m); err != nil || id != "" {
			t.Fatalf("answer %d: %q, %v", i, id, err)
		}
	}
	list := srv.Messages(room, "")
	for _, got := range list {
		if got.Only != slacktest.Ann.ID || got.Shown() != "**nothing**" || len(got.Buttons()) != 2 {
			t.Errorf("shown is %+v", got)
		}
	}
	if len(list) != 7 || len(srv.Calls("chat.postEphemeral")) != 2 {
		t.Errorf("%d messages, %d by the other way", len(list), len(srv.Calls("chat.postEphemeral")))
	}
	// The answer to a press on a message that one person sees takes its place.
	srv.Press(room, slacktest.Ann, list[0].TS, "Deny")
	if err := a.Answer(t.Context(), r.next(core.InPress).Callback, "denied <!here>"); err != nil {
		t.Fatal(err)
	}
	list = srv.Messages(room, "")
	if got := list[len(list)-1]; len(list) != 7 || got.Shown() != "denied <!here>" || got.Pings() || len(got.Buttons()) != 0 {
		t.Errorf("shown is %+v", list)
	}
	for _, callback := range []string{"", "note  http://127.0.0.1:1/x", "note  https://hooks.slack.com.evil.test/x", "https://hooks.slack.com/x"} {
		if err := a.Answer(t.Context(), callback, "x"); fault(err) != core.FaultRefused {
			t.Errorf("answer to %q: %v", callback, err)
		}
	}
	// In a conversation of theirs any message is seen by them alone.
	direct := core.Place{Platform: "slack", Space: slacktest.Team, Channel: srv.Direct(), Private: true}
	if id, err := a.Send(t.Context(), core.Message{Place: direct, Plain: "x", Only: e.Person}); err != nil || id == "" {
		t.Errorf("in private: %q, %v", id, err)
	}
}

// timeOf reads a time stamp of the platform.
func timeOf(t *testing.T, ts string) time.Time {
	t.Helper()
	var seconds, micros int64
	if _, err := fmt.Sscanf(ts, "%d.%d", &seconds, &micros); err != nil {
		t.Fatal(err)
	}
	return time.Unix(seconds, micros*1000)
}

func TestCatchUp(t *testing.T) {
	srv, a, place := desk(t)
	say := func(by slacktest.Person, text string) string {
		return srv.Say(slacktest.Post{Channel: place.Channel, Thread: place.Thread, By: by, Text: text})
	}
	after := say(slacktest.Ann, "known")
	missed := say(slacktest.Ann, "missed & <found>")
	if _, err := a.Send(t.Context(), core.Message{Place: place, Plain: "mine"}); err != nil {
		t.Fatal(err)
	}
	say(slacktest.Rob, "beep")
	list, err := a.CatchUp(t.Context(), place, timeOf(t, after))
	if err != nil || len(list) != 2 {
		t.Fatalf("caught up %+v, %v", list, err)
	}
	first := list[0]
	if first.Text != "missed & <found>" || first.Message != missed || first.Place != place || first.Name != "Ann" || first.Bot || !list[1].Bot {
		t.Errorf("caught up %+v", list)
	}
	// The same as its delivery, and the whole thread when nothing is known.
	r := listen(t, a, nil)
	for {
		if e := r.next(core.InMessage); e.Message == missed {
			if e.ID != first.ID {
				t.Errorf("ids %q and %q", e.ID, first.ID)
			}
			break
		}
	}
	if list, err = a.CatchUp(t.Context(), place, time.Time{}); err != nil || len(list) != 4 || list[0].Text != "root" {
		t.Errorf("the whole thread is %+v, %v", list, err)
	}
	direct := core.Place{Platform: "slack", Space: slacktest.Team, Channel: srv.Direct(), Private: true}
	for _, text := range []string{"one", "two", "three"} {
		srv.Say(slacktest.Post{Channel: direct.Channel, By: slacktest.Ann, Text: text})
	}
	if list, err = a.CatchUp(t.Context(), direct, time.Time{}); err != nil || len(list) != 3 || list[0].Text != "one" || list[2].Text != "three" || list[0].Place != direct {
		t.Errorf("the conversation is %+v, %v", list, err)
	}
	srv.Fail("conversations.replies", slacktest.Failure{RetryAfter: 60})
	if _, err := a.CatchUp(t.Context(), place, timeOf(t, after)); fault(err) != core.FaultRate {
		t.Errorf("catch up: %v", err)
	}
}

func TestThreadsAtTheTop(t *testing.T) {
	srv, a, place := desk(t)
	top := place
	top.Thread = ""
	opened, err := a.OpenThread(context.Background(), top, "", strings.Repeat("ж", 300))
	if err != nil {
		t.Fatal(err)
	}
	list := srv.Messages(place.Channel, "")
	if got := list[len(list)-1]; got.TS != opened.Thread || got.Shown() != strings.Repeat("ж", 250) {
		t.Errorf("thread %+v under %+v", opened, got)
	}
	if same, err := a.OpenThread(context.Background(), place, "", "x"); err != nil || same != place {
		t.Errorf("a thread in a thread: %+v, %v", same, err)
	}
}
