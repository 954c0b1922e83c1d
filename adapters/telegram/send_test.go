package telegram_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"paragents/adapters/telegram"
	"paragents/adapters/telegram/telegramtest"
	"paragents/core"
)

func at(chat int64) core.Place { return core.Place{Platform: "telegram", Channel: id(chat)} }

func last(t *testing.T, srv *telegramtest.Server, chat int64) telegramtest.Message {
	t.Helper()
	all := srv.Messages(chat)
	if len(all) == 0 {
		t.Fatal("nothing is shown")
	}
	return all[len(all)-1]
}

func fault(t *testing.T, err error) *core.SendError {
	t.Helper()
	var f *core.SendError
	if !errors.As(err, &f) {
		t.Fatalf("error %v, want a *core.SendError", err)
	}
	return f
}

func TestSendHTML(t *testing.T) {
	srv := telegramtest.New(t)
	a := newAdapter(t, srv, telegram.Config{})
	chat := srv.Private(telegramtest.Ann)
	_, err := a.Send(t.Context(), core.Message{Place: at(chat), Text: `<b>done</b>: 1 &lt; 2, <a href="https://x.test/?a=1&amp;b=2">log</a>`, Plain: "-"})
	if err != nil {
		t.Fatal(err)
	}
	m := last(t, srv, chat)
	want := []telegramtest.Entity{
		{Type: "bold", Offset: 0, Length: 4},
		{Type: "text_link", Offset: 13, Length: 3, URL: "https://x.test/?a=1&b=2"},
	}
	if m.Text != "done: 1 < 2, log" || !slices.Equal(m.Entities, want) || m.Preview || m.Silent {
		t.Errorf("shown is %+v", m)
	}
}

func TestB022RefusedMarkupIsSentFromTheSource(t *testing.T) {
	srv := telegramtest.New(t)
	a := newAdapter(t, srv, telegram.Config{})
	chat := srv.Private(telegramtest.Ann)
	m := core.Message{Place: at(chat), Text: "Ann <ann@example.test> <b>a_b_c*", Plain: "Ann <ann@example.test> a_b_c* ** Step 1 - done!"}
	_, err := a.Send(t.Context(), m)
	if f := fault(t, err); f.Fault != core.FaultMarkup {
		t.Fatalf("fault %q (%v), want markup", f.Fault, err)
	}
	m.Text = ""
	sent, err := a.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if got := last(t, srv, chat); got.Text != m.Plain || len(got.Entities) != 0 {
		t.Errorf("shown is %+v, want the source", got)
	}
	m.Plain, m.Text = "", "<i>a</b>"
	if f := fault(t, a.Edit(t.Context(), sent, m)); f.Fault != core.FaultMarkup {
		t.Errorf("edit: fault %q, want markup", f.Fault)
	}
}

// TestB019B020Limits: what Capabilities allow is taken, counted as seen and as sent, also with the mark of a repeat.
func TestB019B020Limits(t *testing.T) {
	for _, raw := range []bool{false, true} {
		srv := telegramtest.New(t)
		srv.CountRaw(raw)
		a := newAdapter(t, srv, telegram.Config{})
		chat := srv.Private(telegramtest.Ann)
		limit := a.Capabilities().Max
		texts := map[string]string{
			"ascii":     strings.Repeat("x", limit),
			"surrogate": strings.Repeat("🙂", limit/2),
			"markup":    "<b>" + strings.Repeat("y", limit-7) + "</b>",
			"escapes":   strings.Repeat("&amp;", limit/5),
		}
		for name, s := range texts {
			for _, repeat := range []bool{false, true} {
				if _, err := a.Send(t.Context(), core.Message{Place: at(chat), Text: s, Repeat: repeat}); err != nil {
					t.Errorf("raw %v, %s, repeat %v: %v", raw, name, repeat, err)
					continue
				}
				m := last(t, srv, chat)
				if marked := strings.HasSuffix(m.Text, "(may be repeated)"); marked != repeat {
					t.Errorf("raw %v, %s: marked %v, want %v", raw, name, marked, repeat)
				}
				if n := len(utf16.Encode([]rune(m.Text))); n > 4096 {
					t.Errorf("raw %v, %s: %d units", raw, name, n)
				}
			}
		}
		for _, m := range []core.Message{
			{Text: strings.Repeat("x", 4097)},
			{Plain: strings.Repeat("🙂", 2049)},
			{Plain: strings.Repeat("x", 1025), File: &core.File{Name: "a", Data: []byte("a")}},
			{Text: strings.Repeat("x", 1025), File: &core.File{Name: "a", Data: []byte("a")}},
			{Plain: "empty file", File: &core.File{Name: "a"}},
			{},
		} {
			m.Place = at(chat)
			_, err := a.Send(t.Context(), m)
			if f := fault(t, err); f.Fault != core.FaultRefused {
				t.Errorf("raw %v: fault %q (%v), want refused", raw, f.Fault, err)
			}
		}
	}
}

func TestB016GeneralTopic(t *testing.T) {
	srv := telegramtest.New(t)
	a := newAdapter(t, srv, telegram.Config{})
	forum := srv.Group("forum", "Agents")
	var got inbox
	r := arrivals(t, a, &got)
	srv.Post(telegramtest.Post{Chat: forum, From: telegramtest.Ann, Text: "hello, General"})
	e := <-r
	if e.Place.Thread != "" {
		t.Fatalf("General is thread %q, want none", e.Place.Thread)
	}
	general := at(forum)
	general.Thread = "1" // as somebody may have stored it
	for _, p := range []core.Place{e.Place, general} {
		sent, err := a.Send(t.Context(), core.Message{Place: p, Text: "hello, Ann", Reply: e.Message})
		if err != nil {
			t.Fatal(err)
		}
		if m := last(t, srv, forum); m.Thread != 0 || id(m.ReplyTo) != e.Message {
			t.Errorf("shown is %+v, want it in General", m)
		}
		if err := a.Edit(t.Context(), sent, core.Message{Place: p, Text: "hello again"}); err != nil {
			t.Error(err)
		}
		if err := a.Typing(t.Context(), p); err != nil {
			t.Error(err)
		}
		if _, err := a.Send(t.Context(), core.Message{Place: p, Plain: "f", File: &core.File{Name: "f", Data: []byte("f")}}); err != nil {
			t.Error(err)
		}
	}
	// A topic that is gone is an error, and nothing goes elsewhere.
	topic := srv.Topic(forum, telegramtest.Ann, "pods")
	srv.DropTopic(forum, topic)
	before := len(srv.Messages(forum))
	p := at(forum)
	p.Thread = id(topic)
	_, err := a.Send(t.Context(), core.Message{Place: p, Text: "lost"})
	if f := fault(t, err); f.Fault != core.FaultGone {
		t.Errorf("deleted topic: fault %q (%v), want gone", f.Fault, err)
	}
	if n := len(srv.Messages(forum)); n != before {
		t.Error("the message went elsewhere")
	}
}

// TestFaults: what each answer means, for a send and for an edit.
func TestFaults(t *testing.T) {
	no := func(code int, text string) telegramtest.Failure { return telegramtest.Failure{Code: code, Text: text} }
	tests := []struct {
		name       string
		fail       telegramtest.Failure
		send, edit core.SendFault
	}{
		{"flood", telegramtest.Failure{Code: 429, Text: "Too Many Requests: retry after 7", RetryAfter: 7}, core.FaultRate, core.FaultRate},
		{"markup", no(400, "Bad Request: can't parse entities: Unclosed start tag at byte offset 3"), core.FaultMarkup, core.FaultMarkup},
		{"blocked", no(403, "Forbidden: bot was blocked by the user"), core.FaultGone, core.FaultGone},
		{"kicked", no(403, "Forbidden: bot was kicked from the supergroup chat"), core.FaultGone, core.FaultGone},
		{"no chat", no(400, "Bad Request: chat not found"), core.FaultGone, core.FaultGone},
		{"no topic", no(400, "Bad Request: message thread not found"), core.FaultGone, core.FaultGone},
		{"deleted topic", no(400, "Bad Request: TOPIC_DELETED"), core.FaultGone, core.FaultGone},
		{"too long", no(400, "Bad Request: message is too long"), core.FaultRefused, core.FaultRefused},
		{"buttons", no(400, "Bad Request: BUTTON_DATA_INVALID"), core.FaultRefused, core.FaultRefused},
		{"no right", no(400, "Bad Request: not enough rights to send text messages to the chat"), core.FaultRefused, core.FaultRefused},
		{"B026 deleted message", no(400, "Bad Request: message to edit not found"), core.FaultGone, core.FaultGone},
		{"token", no(401, "Unauthorized"), core.FaultRetry, core.FaultRetry},
		{"their fault", no(500, "Internal Server Error"), core.FaultRetry, core.FaultRetry},
		{"gateway", telegramtest.Failure{Page: 502}, core.FaultUnclear, core.FaultRetry},
		{"cut", telegramtest.Failure{Cut: true}, core.FaultUnclear, core.FaultRetry},
		{"B029 cut after storing", telegramtest.Failure{Cut: true, Done: true}, core.FaultUnclear, core.FaultRetry},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := telegramtest.New(t)
			a := newAdapter(t, srv, telegram.Config{})
			m := core.Message{Place: at(srv.Private(telegramtest.Ann)), Text: "hello"}
			sent, err := a.Send(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			for _, method := range []string{"sendMessage", "sendDocument", "editMessageText"} {
				srv.Fail(method, tt.fail)
			}
			_, err = a.Send(t.Context(), m)
			f := fault(t, err)
			if f.Fault != tt.send || f.Fault == core.FaultRate && f.After != 7*time.Second {
				t.Errorf("send: fault %q after %v (%v), want %q", f.Fault, f.After, err, tt.send)
			}
			m.Text = "changed"
			if f := fault(t, a.Edit(t.Context(), sent, m)); f.Fault != tt.edit {
				t.Errorf("edit: fault %q (%v), want %q", f.Fault, f, tt.edit)
			}
			m.File = &core.File{Name: "a.txt", Data: []byte("a")}
			if _, err := a.Send(t.Context(), m); fault(t, err).Fault != tt.send {
				t.Errorf("file: %v, want fault %q", err, tt.send)
			}
		})
	}
}

func TestB025RepeatedEditWhoseAnswerWasLost(t *testing.T) {
	srv := telegramtest.New(t)
	a := newAdapter(t, srv, telegram.Config{})
	chat := srv.Private(telegramtest.Ann)
	sent, err := a.Send(t.Context(), core.Message{Place: at(chat), Text: "working"})
	if err != nil {
		t.Fatal(err)
	}
	srv.Fail("editMessageText", telegramtest.Failure{Cut: true, Done: true})
	m := core.Message{Place: at(chat), Text: "<b>done</b>"}
	if f := fault(t, a.Edit(t.Context(), sent, m)); f.Fault != core.FaultRetry {
		t.Fatalf("fault %q, want retry", f.Fault)
	}
	if err := a.Edit(t.Context(), sent, m); err != nil {
		t.Errorf("the same again: %v, want success", err)
	}
	if all := srv.Messages(chat); len(all) != 1 || all[0].Text != "done" {
		t.Errorf("shown is %+v", all)
	}
}

func TestMigratedGroup(t *testing.T) {
	srv := telegramtest.New(t)
	a := newAdapter(t, srv, telegram.Config{})
	group := srv.Group("group", "Ops")
	r := arrivals(t, a, &inbox{})
	next := srv.Migrate(group, telegramtest.Ann)
	if e := <-r; e.Kind != core.InMoved || e.Place != at(group) || e.MovedTo != at(next) {
		t.Errorf("event %+v, want the move to %d", e, next)
	}
	_, err := a.Send(t.Context(), core.Message{Place: at(group), Text: "hello"})
	if f := fault(t, err); f.Fault != core.FaultGone || f.MovedTo != at(next) {
		t.Errorf("fault %q to %+v, want gone to %d", f.Fault, f.MovedTo, next)
	}
}

func TestEditUnderAFile(t *testing.T) {
	srv := telegramtest.New(t)
	a := newAdapter(t, srv, telegram.Config{})
	chat := srv.Private(telegramtest.Ann)
	m := core.Message{Place: at(chat), Text: "<b>diff</b>", File: &core.File{Name: "a.diff", Data: []byte("-a\n+b\n")}}
	sent, err := a.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	m.Text = "diff, undone"
	if err := a.Edit(t.Context(), sent, m); err != nil {
		t.Fatal(err)
	}
	if got := last(t, srv, chat); got.Text != "diff, undone" || got.File == nil {
		t.Errorf("shown is %+v", got)
	}
}

func TestB014FileTooBig(t *testing.T) {
	srv := telegramtest.New(t)
	a := newAdapter(t, srv, telegram.Config{})
	r := arrivals(t, a, &inbox{})
	srv.Post(telegramtest.Post{
		Chat: srv.Private(telegramtest.Ann), From: telegramtest.Ann, File: &telegramtest.Upload{Name: "film.mp4", Type: "video/mp4", Kind: "video", Size: 60 << 20},
	})
	e := <-r
	if len(e.Files) != 1 || e.Files[0].Size != 60<<20 || e.Text != "" {
		t.Fatalf("event %+v, want one file with its size", e)
	}
	_, err := a.Fetch(t.Context(), e.Place, e.Files[0])
	if !errors.Is(err, core.ErrRefused) || !strings.Contains(err.Error(), "20 MB") {
		t.Errorf("fetch: %v, want the limit", err)
	}
	if n := len(srv.Calls("getFile")); n != 0 {
		t.Errorf("the platform was asked %d times for what is known to be too big", n)
	}
	e.Files[0].Size = 0 // the platform did not say
	_, err = a.Fetch(t.Context(), e.Place, e.Files[0])
	if !errors.Is(err, core.ErrRefused) {
		t.Errorf("fetch of unknown size: %v, want the limit", err)
	}
}

func TestSetMenu(t *testing.T) {
	srv := telegramtest.New(t)
	a := newAdapter(t, srv, telegram.Config{})
	menu := [][2]string{{"new", "open a session"}, {"list", "sessions & approvals"}}
	for place, scope := range map[core.Place]string{
		{}:              `{"type":"default"}`,
		{Private: true}: `{"type":"all_private_chats"}`,
		{Platform: "telegram", Channel: "-100123"}: `{"type":"chat","chat_id":-100123}`,
	} {
		if err := a.SetMenu(t.Context(), place, menu); err != nil {
			t.Fatal(err)
		}
		want := `[{"command":"new","description":"open a session"},{"command":"list","description":"sessions \u0026 approvals"}]`
		if got := string(srv.Menu(scope)); got != want {
			t.Errorf("menu of %s is %s", scope, got)
		}
	}
	if err := a.SetMenu(t.Context(), core.Place{}, [][2]string{{"No Such", "x"}}); err == nil {
		t.Error("a wrong name is no error")
	}
}

func TestReactionsAndTopics(t *testing.T) {
	srv := telegramtest.New(t)
	a := newAdapter(t, srv, telegram.Config{})
	chat := srv.Private(telegramtest.Ann)
	message := srv.Post(telegramtest.Post{Chat: chat, From: telegramtest.Ann, Text: "hello"})
	for _, mark := range []string{"seen", "queued", "done"} {
		if err := a.React(t.Context(), at(chat), id(message), mark); err != nil {
			t.Errorf("react %s: %v", mark, err)
		}
	}
	if got := last(t, srv, chat).Reaction; got != "👌" {
		t.Errorf("reaction %q", got)
	}
	if err := a.React(t.Context(), at(chat), id(message), "love"); err == nil {
		t.Error("an unknown mark is no error")
	}
	if _, err := a.OpenThread(t.Context(), at(chat), "", "x"); fault(t, err).Fault != core.FaultRefused {
		t.Errorf("topic where there are none: %v", err)
	}
	place, err := a.OpenThread(t.Context(), at(srv.Group("forum", "Agents")), "", strings.Repeat("ж", 200))
	if err != nil || place.Thread == "" {
		t.Errorf("topic with a long title: %+v, %v", place, err)
	}
}
