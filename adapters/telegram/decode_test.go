package telegram_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"paragents/adapters/telegram"
	"paragents/adapters/telegram/telegramtest"
	"paragents/core"
)

func TestMessages(t *testing.T) {
	srv := telegramtest.New(t)
	private, group, forum := srv.Private(telegramtest.Ann), srv.Group("supergroup", "Ops"), srv.Group("forum", "Agents")
	topic := srv.Topic(forum, telegramtest.Ann, "pods")
	a := newAdapter(t, srv, telegram.Config{})
	in := arrivals(t, a, &inbox{})
	ours, err := a.Send(t.Context(), core.Message{Place: at(group), Text: "<b>it</b> is done"})
	if err != nil {
		t.Fatal(err)
	}
	hers := srv.Post(telegramtest.Post{Chat: group, From: telegramtest.Bob, Text: "root"})
	<-in
	opened, err := a.OpenThread(t.Context(), at(forum), "", "ours")
	if err != nil {
		t.Fatal(err)
	}
	photo := &telegramtest.Upload{Kind: "photo", Data: []byte("jpeg")}
	long := strings.Repeat("🙂", 40)
	ann := core.Inbound{Kind: core.InMessage, Person: "telegram:101", Name: "Ann"}

	tests := []struct {
		name string
		post telegramtest.Post
		want func(*core.Inbound)
	}{
		{"private", telegramtest.Post{Chat: private, Text: " hi "}, func(e *core.Inbound) { e.Text, e.Addressed, e.Place.Private = "hi", true, true }},
		{"B015 chatter", telegramtest.Post{Chat: group, Text: "good morning"}, func(e *core.Inbound) { e.Text = "good morning" }},
		{"mention", telegramtest.Post{Chat: group, Text: "@our_bot hello"}, func(e *core.Inbound) { e.Text, e.Addressed = "hello", true }},
		{"mention, other case", telegramtest.Post{Chat: group, Text: "hello @OUR_bot"}, func(e *core.Inbound) { e.Text, e.Addressed = "hello", true }},
		{"mention behind emoji", telegramtest.Post{Chat: group, Text: long + " @our_bot is it  so?"}, func(e *core.Inbound) { e.Text, e.Addressed = long+" is it  so?", true }},
		{"mention alone", telegramtest.Post{Chat: group, Text: "@our_bot"}, func(e *core.Inbound) { e.Addressed = true }},
		{"mention without user name", telegramtest.Post{Chat: group, Text: "Ours hello", Mentions: []telegramtest.User{{ID: telegramtest.BotID, FirstName: "Ours"}}}, func(e *core.Inbound) { e.Text, e.Addressed = "hello", true }},
		{"to somebody else", telegramtest.Post{Chat: group, Text: "@bob_ray look"}, func(e *core.Inbound) { e.Text, e.ToOther = "@bob_ray look", true }},
		{"to both", telegramtest.Post{Chat: group, Text: "@our_bot ask @bob_ray"}, func(e *core.Inbound) { e.Text, e.Addressed = "ask @bob_ray", true }},
		{"address of a mailbox", telegramtest.Post{Chat: group, Text: "x@our_bot.test"}, func(e *core.Inbound) { e.Text = "x@our_bot.test" }},
		{"command", telegramtest.Post{Chat: private, Text: "/new in:api <fix>"}, func(e *core.Inbound) {
			e.Kind, e.Text, e.Addressed, e.Place.Private = core.InCommand, "new in:api <fix>", true, true
		}},
		{"B015 command to us", telegramtest.Post{Chat: group, Text: "/ask@Our_bot hello"}, func(e *core.Inbound) { e.Kind, e.Text, e.Addressed = core.InCommand, "ask hello", true }},
		{"command alone", telegramtest.Post{Chat: group, Text: "/list@our_bot"}, func(e *core.Inbound) { e.Kind, e.Text, e.Addressed = core.InCommand, "list", true }},
		{"command on two lines", telegramtest.Post{Chat: private, Text: "/new\nfirst\nsecond"}, func(e *core.Inbound) {
			e.Kind, e.Text, e.Addressed, e.Place.Private = core.InCommand, "new\nfirst\nsecond", true, true
		}},
		{"path", telegramtest.Post{Chat: group, Text: "/etc/passwd is a path"}, func(e *core.Inbound) { e.Text = "/etc/passwd is a path" }},
		{"reply to us", telegramtest.Post{Chat: group, Text: "thanks", ReplyTo: number(ours)}, func(e *core.Inbound) {
			e.Text, e.Addressed, e.ReplyTo, e.Quote = "thanks", true, ours, "it is done"
		}},
		{"reply to somebody", telegramtest.Post{Chat: group, Text: "thanks", ReplyTo: hers}, func(e *core.Inbound) { e.Text, e.ReplyTo, e.Quote = "thanks", id(hers), "root" }},
		{"topic", telegramtest.Post{Chat: forum, Thread: topic, Text: "hi"}, func(e *core.Inbound) { e.Text, e.Place.Thread = "hi", id(topic) }},
		{"topic that we opened", telegramtest.Post{Chat: forum, Thread: number(opened.Thread), Text: "hi"}, func(e *core.Inbound) { e.Text, e.Place.Thread = "hi", opened.Thread }},
		{"B016 General", telegramtest.Post{Chat: forum, Text: "hi"}, func(e *core.Inbound) { e.Text = "hi" }},
		{"photo", telegramtest.Post{Chat: group, Text: "@our_bot what is this", Album: "al1", File: photo}, func(e *core.Inbound) {
			e.Text, e.Addressed, e.Group = "what is this", true, "al1"
			e.Files = []core.Attachment{{ID: "FILE0001", Name: "photo.jpg", Type: "image/jpeg", Size: 4}}
		}},
		{"voice", telegramtest.Post{Chat: group, File: &telegramtest.Upload{Kind: "voice", Type: "audio/ogg", Data: []byte("ogg")}}, func(e *core.Inbound) {
			e.Files = []core.Attachment{{ID: "FILE0002", Name: "voice.ogg", Type: "audio/ogg", Size: 3}}
		}},
		{"B012 bot", telegramtest.Post{Chat: group, From: telegramtest.Rob, Text: "@our_bot hello"}, func(e *core.Inbound) {
			e.Text, e.Addressed, e.Bot, e.Person, e.Name = "hello", true, true, "telegram:103", "Rob"
		}},
		{"B012 via bot", telegramtest.Post{Chat: group, ViaBot: &telegramtest.Rob, Text: "gif"}, func(e *core.Inbound) { e.Text, e.Bot = "gif", true }},
		{"B012 as the chat", telegramtest.Post{Chat: group, AsChat: true, Text: "notice"}, func(e *core.Inbound) {
			e.Text, e.Bot, e.Person, e.Name = "notice", true, "telegram:1087968824", "Group"
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.post.From.ID == 0 {
				tt.post.From = telegramtest.Ann
			}
			message := srv.Post(tt.post)
			got := <-in
			want := ann
			want.Place, want.Message = at(tt.post.Chat), id(message)
			want.ID = "telegram:4242/" + id(tt.post.Chat) + "/" + id(message)
			tt.want(&want)
			if time.Since(got.At).Abs() > time.Minute {
				t.Errorf("at %v", got.At)
			}
			got.At = want.At
			if !slices.Equal(got.Files, want.Files) {
				t.Errorf("files %+v, want %+v", got.Files, want.Files)
			}
			got.Files, want.Files = nil, nil
			if !same(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// same compares two events without files.
func same(a, b core.Inbound) bool {
	return a.ID == b.ID && a.Kind == b.Kind && a.Place == b.Place && a.Person == b.Person && a.Name == b.Name && a.Text == b.Text &&
		a.Message == b.Message && a.ReplyTo == b.ReplyTo && a.Quote == b.Quote && a.Group == b.Group && a.Token == b.Token &&
		a.Callback == b.Callback && a.MovedTo == b.MovedTo && a.Addressed == b.Addressed && a.ToOther == b.ToOther && a.Bot == b.Bot
}

func TestB009AlbumOverTwoPolls(t *testing.T) {
	srv := telegramtest.New(t)
	chat := srv.Private(telegramtest.Ann)
	in := arrivals(t, newAdapter(t, srv, telegram.Config{}), &inbox{})
	ids := map[string]bool{}
	for i := range 4 {
		p := telegramtest.Post{Chat: chat, From: telegramtest.Ann, Album: "13579", File: &telegramtest.Upload{Kind: "photo", Data: []byte("jpeg")}}
		if i == 0 {
			p.Text = "compare these"
		}
		srv.Post(p)
		e := <-in // so that each comes in a poll of its own
		if e.Group != "13579" || len(e.Files) != 1 || e.Text != p.Text || !e.Addressed {
			t.Errorf("member %d is %+v", i, e)
		}
		ids[e.ID] = true
	}
	if len(ids) != 4 {
		t.Errorf("%d ids for 4 members", len(ids))
	}
}

func TestB015Privacy(t *testing.T) {
	srv := telegramtest.New(t)
	srv.Privacy(true)
	group := srv.Group("supergroup", "Ops")
	a := newAdapter(t, srv, telegram.Config{})
	if notes := a.Notes(); len(notes) != 0 {
		t.Errorf("notes before anything is known: %q", notes)
	}
	in := arrivals(t, a, &inbox{})
	ours, err := a.Send(t.Context(), core.Message{Place: at(group), Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"@our_bot hello", "/ask@other_bot hello", "chatter"} {
		srv.Post(telegramtest.Post{Chat: group, From: telegramtest.Ann, Text: s})
	}
	srv.Post(telegramtest.Post{Chat: group, From: telegramtest.Ann, Text: "/ask@our_bot hello"})
	srv.Post(telegramtest.Post{Chat: group, From: telegramtest.Ann, Text: "and now?", ReplyTo: number(ours)})
	if e := <-in; e.Kind != core.InCommand || e.Text != "ask hello" {
		t.Errorf("first came %+v, want the command", e)
	}
	if e := <-in; e.Text != "and now?" || !e.Addressed {
		t.Errorf("then came %+v, want the reply", e)
	}
	if notes := a.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "privacy mode is on") || !strings.Contains(notes[0], "@our_bot") {
		t.Errorf("notes %q, want privacy mode", notes)
	}
	if err := a.Check(t.Context()); err != nil {
		t.Errorf("check: %v: privacy mode is not wrong", err)
	}
}

func TestMembership(t *testing.T) {
	srv := telegramtest.New(t)
	chat := srv.Private(telegramtest.Ann)
	in := arrivals(t, newAdapter(t, srv, telegram.Config{}), &inbox{})
	srv.SetMember(chat, telegramtest.Ann, "administrator") // a promotion means nothing
	srv.SetMember(chat, telegramtest.Ann, "kicked")
	srv.SetMember(chat, telegramtest.Ann, "member")
	for _, want := range []core.InboundKind{core.InLeft, core.InJoined} {
		if e := <-in; e.Kind != want || !e.Place.Private || e.Person != "telegram:101" || e.ID == "" || e.At.IsZero() {
			t.Errorf("event %+v, want %s", e, want)
		}
	}
}
