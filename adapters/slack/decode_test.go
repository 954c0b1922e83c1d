package slack

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"paragents/core"
)

func TestReadable(t *testing.T) {
	for _, c := range []struct {
		text, clean string
		mine, other bool
	}{
		{"hello", "hello", false, false},
		{"<@UBOT> list", "list", true, false},
		{"<@UBOT|bot>   list", "list", true, false},
		{"hey <@UBOT> list", "hey list", true, false},
		{"<@U2> are you there", "@U2 are you there", false, true},
		{"  <@U2|bob> hi", "@bob hi", false, true},
		{"<@UBOT> ask <@U2>", "ask @U2", true, false},
		{"<@UBOT> <@U2> hi", "@U2 hi", true, false},
		{"ask <@U2>", "ask @U2", false, false},
		{"<!subteam^S1|@ops> look", "@ops look", false, true},
		{"<!here> look", "@here look", false, false},
		{"<!date^1392734382^{date}|Feb 18> x", "Feb 18 x", false, false},
		{"in <#C1|general> and <#C2>", "in #general and #C2", false, false},
		{"see <https://x.test/?a=1&amp;b=2>", "see https://x.test/?a=1&b=2", false, false},
		{"see <https://x.test|x.test> and <https://x.test|here>", "see https://x.test and here (https://x.test)", false, false},
		{"<mailto:a@b.test|a@b.test>", "a@b.test", false, false},
		{"a &lt;b&gt; &amp;amp; c", "a <b> &amp; c", false, false},
		{"&lt;@UBOT&gt; x", "<@UBOT> x", false, false},
		{"open < and > alone", "open < and > alone", false, false},
	} {
		if clean, mine, other := readable(c.text, "UBOT"); clean != c.clean || mine != c.mine || other != c.other {
			t.Errorf("%q: %q %v %v, want %q %v %v", c.text, clean, mine, other, c.clean, c.mine, c.other)
		}
	}
}

func TestAt(t *testing.T) {
	for ts, want := range map[string]time.Time{
		"1700000000.000100": time.Unix(1700000000, 100_000).UTC(),
		"1700000000":        time.Unix(1700000000, 0).UTC(),
		"1700000000.x":      time.Unix(1700000000, 0).UTC(),
		"":                  {},
		"soon":              {},
		"-5.1":              {},
	} {
		if got := at(ts); !got.Equal(want) {
			t.Errorf("%q: %v, want %v", ts, got, want)
		}
	}
}

func newTestAdapter(t testing.TB) *Adapter {
	a, err := New(Config{BotToken: "xoxb-1", AppToken: "xapp-1"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestWhatMeansNothing(t *testing.T) {
	a, me := newTestAdapter(t), account{Team: "T1", User: "UBOT", Bot: "BBOT"}
	for _, event := range []string{
		`{"type":"message","subtype":"channel_join","channel":"C1","user":"U1","ts":"1.1"}`,
		`{"type":"message","channel":"C1","user":"UBOT","ts":"1.1","text":"mine"}`,
		`{"type":"message","channel":"C1","bot_id":"BBOT","ts":"1.1","text":"mine"}`,
		`{"type":"message","subtype":"message_changed","channel":"C1","message":{"user":"U1","ts":"1.1","text":"x"},"previous_message":{"user":"U1","ts":"1.1","text":"x"}}`,
		`{"type":"message","subtype":"message_changed","channel":"C1","message":{"bot_id":"BBOT","ts":"1.1","text":"x"}}`,
		`{"type":"message","subtype":"message_changed","channel":"C1"}`,
		`{"type":"message","subtype":"message_deleted","channel":"C1","deleted_ts":"1.1"}`,
		`{"type":"message","subtype":"message_deleted","channel":"C1","deleted_ts":"1.1","previous_message":{"user":"UBOT","ts":"1.1"}}`,
		`{"type":"member_joined_channel","user":"U1","channel":"C1"}`,
		`{"type":"reaction_added","user":"U1","item":{"type":"message"}}`,
		`{"type":"channel_rename","channel":{"id":"C1"}}`,
	} {
		got, err := a.inbound(typeEvent, []byte(`{"type":"event_callback","event":`+event+`}`), me)
		if err != nil || len(got) != 0 {
			t.Errorf("%s: %+v, %v", event, got, err)
		}
	}
	for _, payload := range []string{
		`{"type":"view_submission","user":{"id":"U1"}}`,
		`{"type":"block_actions","user":{"id":"U1"},"channel":{"id":"C1"},"actions":[{"action_id":"link","value":""}]}`,
		`{"type":"block_actions","user":{"id":"U1"},"actions":[{"action_id":"b0","value":"x"}]}`,
		`{"type":"shortcut","user":{"id":"U1"}}`,
	} {
		if got, err := a.inbound(typePress, []byte(payload), me); err != nil || len(got) != 0 {
			t.Errorf("%s: %+v, %v", payload, got, err)
		}
	}
	// The address of an answer is only believed where it is the platform's.
	for address, want := range map[string]string{
		"https://hooks.slack.com/actions/1":    "note  t https://hooks.slack.com/actions/1",
		"https://hooks.slack-gov.com/x":        "note  t https://hooks.slack-gov.com/x",
		"http://hooks.slack.com/x":             "note  t ",
		"https://slack.com.evil.test/x":        "note  t ",
		"https://evilslack.com/x":              "note  t ",
		"https://hooks.slack.com@evil.test/x":  "note  t ",
		"https://u@hooks.slack.com/actions/1":  "note  t ",
		"https://169.254.169.254/slack.com":    "note  t ",
		"//slack.com/x":                        "note  t ",
		"https://evil.test/?https://slack.com": "note  t ",
	} {
		got, err := a.inbound(typeCommand, []byte(`{"channel_id":"C1","user_id":"U1","trigger_id":"t","response_url":"`+address+`"}`), me)
		if err != nil || len(got) != 1 || got[0].Callback != want {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
}

// FuzzInbound: whatever comes, an event has an id, a place and a known kind.
func FuzzInbound(f *testing.F) {
	f.Add(typeEvent, `{"type":"event_callback","event":{"type":"app_mention","channel":"C1","user":"U1","ts":"1700000000.000100","text":"<@UBOT> x"}}`)
	f.Add(typeEvent, `{"type":"event_callback","event":{"type":"message","subtype":"message_changed","channel":"D1","message":{"user":"U1","ts":"1.1","text":"<a|b"}}}`)
	f.Add(typeEvent, `{"event":{"type":"channel_left","channel":"C1","event_ts":"1"}}`)
	f.Add(typePress, `{"type":"block_actions","user":{"id":"U1"},"channel":{"id":"C1"},"message":{"ts":"1.1"},"actions":[{"value":"x"},{"value":"y"}]}`)
	f.Add(typePress, `{"type":"message_action","user":{"id":"U1"},"channel":{"id":"C1"},"message":{"ts":"1.1","user":"U2","text":"x"}}`)
	f.Add(typePress, `{"type":"block_actions","user":{"id":"U1"},"trigger_id":"t","view":{"id":"V1","type":"home"},"actions":[{"value":"x"}]}`)
	f.Add(typePress, `{"type":"view_submission","user":{"id":"U1"},"view":{"id":"V1","callback_id":"form","private_metadata":"{\"token\":\"t\"}","state":{"values":{}}}}`)
	f.Add(typeEvent, `{"event":{"type":"app_home_opened","user":"U1","tab":"home","event_ts":"1.1"}}`)
	f.Add(typeCommand, `{"channel_id":"D1","user_id":"U1","trigger_id":"t","text":"&lt;x"}`)
	a := newTestAdapter(f)
	f.Fuzz(func(t *testing.T, kind, payload string) {
		list, err := a.inbound(kind, []byte(payload), account{Team: "T1", User: "UBOT", Bot: "BBOT"})
		if err != nil && len(list) > 0 {
			t.Errorf("events and an error: %v", err)
		}
		for _, e := range list {
			if !strings.HasPrefix(e.ID, "slack:T1/") || e.Place.Platform != "slack" || e.Place.Space != "T1" ||
				e.Place.Channel == "" && e.Kind != core.InHome && e.Kind != core.InForm && e.Kind != core.InPress {
				t.Errorf("event %+v", e)
			}
			if e.Kind == core.InPress && e.Token == "" || e.Kind == "" || e.Person != "" && e.Person.Platform() != "slack" {
				t.Errorf("event %+v", e)
			}
			if _, err := json.Marshal(e); err != nil {
				t.Error(err)
			}
		}
	})
}

// What is sent plain is within the limits and, put together, all there.
func TestPartsAndClip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("ab&<>\n 🙂ж"))).Draw(t, "s")
		n := rapid.IntRange(6, 40).Draw(t, "n")
		var seen strings.Builder
		for _, part := range parts(s, n) {
			if c := utf8.RuneCountInString(part); c > n || strings.TrimSpace(part) == "" {
				t.Fatalf("a part of %d characters: %q", c, part)
			}
			seen.WriteString(part)
		}
		if strings.Join(strings.Fields(seen.String()), "") != strings.Join(strings.Fields(s), "") {
			t.Fatalf("%q became %q", s, seen.String())
		}
		cut := clip(s, n)
		if c := utf8.RuneCountInString(escape(cut)); c > n || c < n && cut != s && c < n-6 {
			t.Fatalf("clip to %d gives %d: %q", n, c, cut)
		}
		if back := entities.Replace(escape(s)); back != s {
			t.Fatalf("%q became %q", s, back)
		}
	})
}

func TestLanes(t *testing.T) {
	var l lanes
	block, started := make(chan struct{}), make(chan struct{})
	if !l.add("a", func() { close(started); <-block }) {
		t.Fatal("the first job is refused")
	}
	<-started
	for range maxWaiting - 1 {
		if !l.add("a", func() {}) {
			t.Fatal("a job is refused below the bound")
		}
	}
	if l.add("b", func() {}) {
		t.Error("more jobs than the bound are taken")
	}
	close(block)
	for done := make(chan struct{}); !l.add("a", func() { close(done) }); {
		continue
	}
}
