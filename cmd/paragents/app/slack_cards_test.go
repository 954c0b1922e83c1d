package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paragents/adapters/slack/slacktest"
	"paragents/cmd/paragents/config"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/state"
)

// An approver is asked in their own conversation, with the same action; a press there decides, once, and all copies show it and have no buttons.
func TestApproverIsAskedAlone(t *testing.T) {
	w := withBob(t, func(c *config.Config) { c.Approvals.Notify = "dm" })
	channel := w.srv.Channel()
	thread, card := w.asks(channel, slacktest.Bob, "write milk to fridge.txt")
	w.until("a conversation with the approver", func() bool { return w.srv.DirectOf(slacktest.Ann) != "" })
	direct := w.srv.DirectOf(slacktest.Ann)
	copied := w.srv.Await(direct, "", question)
	if got, want := action(copied), action(card); got != want || !strings.Contains(got, "milk") {
		t.Errorf("the copy shows %q, and the card %q", got, want)
	}
	if got, want := copied.Buttons(), card.Buttons(); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the copy has %v, and the card %v", got, want)
	}
	for _, row := range copied.Buttons() {
		if slices.Contains(row, "Deny") && slices.Contains(row, "Approve once") {
			t.Errorf("yes and no stand in one row: %v", row)
		}
	}
	w.srv.Press(direct, slacktest.Ann, copied.TS, "Approve once")
	w.srv.Await(direct, "", decided("approved"))
	w.srv.Await(channel, thread, decided("approved"))
	w.srv.Await(channel, thread, func(m slacktest.Message) bool { return strings.Contains(m.Shown(), "wrote fridge.txt") })
	if n := len(w.entries("started")); n != 1 {
		t.Errorf("the tool was started %d times", n)
	}
}

// Whom the platform does not let the bot write to is noted, and nothing waits for them. Two that press at once decide once.
func TestCopyThatIsNotTaken(t *testing.T) {
	w := withBob(t, func(c *config.Config) {
		c.Approvals.Notify = "dm"
		c.Access.Approvers = []core.Person{id(slacktest.Eve), "slack:T0OTHER01/U0GONE0001"}
	})
	channel := w.srv.Channel()
	w.srv.Fail("conversations.open", slacktest.Failure{RetryAfter: 1}) // the first is asked again a second later
	thread, card := w.asks(channel, slacktest.Bob, "write milk to fridge.txt")
	w.until("conversations with both", func() bool { return w.srv.DirectOf(slacktest.Ann) != "" && w.srv.DirectOf(slacktest.Eve) != "" })
	direct := w.srv.DirectOf(slacktest.Eve)
	copied := w.srv.Await(direct, "", question)
	w.srv.Press(direct, slacktest.Eve, copied.TS, "Deny")
	w.srv.Press(channel, slacktest.Bob, card.TS, "Deny")
	w.srv.Await(channel, thread, decided("denied"))
	w.srv.Await(direct, "", decided("denied"))
	w.srv.Await(w.srv.DirectOf(slacktest.Ann), "", decided("denied"))
	if n := len(w.entries("decided")); n != 1 {
		t.Errorf("it was decided %d times", n)
	}
	lost := w.entries("not reached")
	if len(lost) != 1 || !strings.HasPrefix(lost[0].Why, "slack:T0OTHER01/U0GONE0001: ") {
		t.Errorf("noted as not reached: %+v", lost)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "fridge.txt")); err == nil {
		t.Error("the file was written")
	}
}

// With channel the card stands around the thread too, and is decided there.
func TestCardInTheChannel(t *testing.T) {
	w := withBob(t, func(c *config.Config) { c.Approvals.Notify = "channel" })
	channel := w.srv.Channel()
	thread, card := w.asks(channel, slacktest.Bob, "write milk to fridge.txt and write eggs to eggs.txt at once")
	copied := w.srv.Await(channel, "", func(m slacktest.Message) bool { return len(m.Buttons()) > 0 })
	if !slices.Contains(slices.Concat(copied.Buttons()...), "Approve all 2 shown") || !strings.Contains(copied.Shown(), "eggs.txt") {
		t.Errorf("in the channel stands %q %v, in the thread %q", copied.Shown(), copied.Buttons(), card.Shown())
	}
	w.srv.Press(channel, slacktest.Ann, copied.TS, "Approve all 2 shown")
	for _, at := range []string{"", thread} {
		w.srv.Await(channel, at, func(m slacktest.Message) bool {
			return len(m.Buttons()) == 0 && strings.Count(m.Shown(), "approved by") == 2
		})
	}
	w.srv.Await(channel, thread, func(m slacktest.Message) bool { return strings.Contains(m.Shown(), "wrote eggs.txt") })
}

// Deny with reason shows a form; what is filled in reaches the model and stands on the card, in every copy. Who has lost the right meanwhile decides nothing, and a press
// that comes too late is told how a reason is typed.
func TestDenyWithReason(t *testing.T) {
	w := withBob(t, func(c *config.Config) { c.Approvals.Notify = "channel" })
	channel := w.srv.Channel()
	thread, card := w.asks(channel, slacktest.Bob, "write milk to fridge.txt")
	w.srv.Press(channel, slacktest.Ann, card.TS, "Deny with reason")
	if form := w.srv.Form(slacktest.Ann); !strings.HasPrefix(form.Title, "Deny ") {
		t.Errorf("the form is %+v", form)
	}
	w.srv.Fill(slacktest.Ann, "we are out of money")
	for _, at := range []string{"", thread} {
		w.srv.Await(channel, at, decided("denied by Ann (U0ANN00001)"))
		w.srv.Await(channel, at, decided("(we are out of money)"))
	}
	w.srv.Await(channel, thread, func(m slacktest.Message) bool {
		return strings.Contains(m.Shown(), "denied by a person (we are out of money)")
	})

	thread, card = w.asks(channel, slacktest.Bob, "write eggs to eggs.txt")
	w.srv.Fail("views.open", slacktest.Failure{Error: "expired_trigger_id"})
	w.srv.Press(channel, slacktest.Bob, card.TS, "Deny with reason")
	w.srv.Await(channel, thread, func(m slacktest.Message) bool {
		return m.Only == slacktest.Bob.ID && strings.Contains(m.Shown(), "and the reason behind it") && strings.Contains(m.Shown(), "/paragents deny ")
	})
	w.srv.Press(channel, slacktest.Bob, card.TS, "Deny with reason")
	w.srv.Form(slacktest.Bob)
	if err := access.Set(t.Context(), w.store, id(slacktest.Eve), access.Approver, func(*state.Batch) {}); err != nil {
		t.Fatal(err)
	}
	w.srv.Press(channel, slacktest.Eve, card.TS, "Deny with reason")
	w.srv.Form(slacktest.Eve)
	if err := access.Set(t.Context(), w.store, id(slacktest.Eve), access.Viewer, func(*state.Batch) {}); err != nil {
		t.Fatal(err)
	}
	w.srv.Fill(slacktest.Eve, "I may not any more")
	w.srv.Await(channel, thread, func(m slacktest.Message) bool { return m.Only == slacktest.Eve.ID })
	if got := w.entries("refused press"); len(got) != 1 || got[0].Who != id(slacktest.Eve) {
		t.Errorf("refused: %+v", got)
	}
	w.srv.Fill(slacktest.Bob, "no eggs today")
	w.srv.Await(channel, thread, decided("(no eggs today)"))
	if n := len(w.entries("decided")); n != 2 {
		t.Errorf("it was decided %d times", n)
	}
}

// The page of one's own: what one may decide, with the buttons that the card has, and one's sessions with a way into their threads. It follows what is pressed on it.
func TestHomePage(t *testing.T) {
	w := withBob(t)
	channel := w.srv.Channel()
	thread, card := w.asks(channel, slacktest.Bob, "write milk to fridge.txt")
	w.srv.OpenHome(slacktest.Ann, "home")
	shows := func(text string) func(slacktest.View) bool {
		return func(v slacktest.View) bool { return strings.Contains(v.Shown(), text) }
	}
	page := w.srv.Home(slacktest.Ann, shows("Waiting for you: 1"))
	if shown := page.Shown(); !strings.Contains(shown, strings.TrimSpace(action(card))) || strings.Contains(shown, "[needs-you]") {
		t.Errorf("Ann's page shows %q; it has to show the action, and no session of Bob's", shown)
	}
	if got, want := page.Buttons(), card.Buttons(); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the page has the buttons %v, and the card %v", got, want)
	}
	w.srv.PressHome(slacktest.Ann, "write_file", "Deny with reason")
	w.srv.Form(slacktest.Ann)
	w.srv.Fill(slacktest.Ann, "not today")
	w.srv.Home(slacktest.Ann, shows("Waiting for you: 0"))
	w.srv.Await(channel, thread, decided("(not today)"))

	w.until("the end", func() bool { return len(w.entries("ended")) == 1 })
	w.srv.OpenHome(slacktest.Bob, "home")
	page = w.srv.Home(slacktest.Bob, shows("write milk to fridge.txt"))
	link := ""
	for _, b := range page.Blocks {
		for _, e := range b.Elements {
			if e.Text.Text == "Open" {
				link = e.URL
			}
		}
	}
	if want := "https://ours.slack.com/archives/" + channel + "/p" + strings.ReplaceAll(thread, ".", ""); link != want {
		t.Errorf("the session opens at %q, want %q", link, want)
	}
	w.srv.PressHome(slacktest.Bob, "write milk to fridge.txt", "Close")
	w.srv.Home(slacktest.Bob, func(v slacktest.View) bool { return !strings.Contains(v.Shown(), "write milk to fridge.txt") })
	// A second question, and what goes wrong, are said in one's own conversation.
	w.asks(channel, slacktest.Bob, "write eggs to eggs.txt")
	w.srv.OpenHome(slacktest.Bob, "home")
	w.srv.Home(slacktest.Bob, shows("Waiting for you: 1"))
	w.srv.PressHome(slacktest.Bob, "write_file", "Always here")
	w.until("a conversation", func() bool { return w.srv.DirectOf(slacktest.Bob) != "" })
	w.srv.Await(w.srv.DirectOf(slacktest.Bob), "", func(m slacktest.Message) bool { return strings.Contains(m.Shown(), "only an admin can store a rule") })
	w.srv.OpenHome(slacktest.Eve, "home")
	if page := w.srv.Home(slacktest.Eve, func(slacktest.View) bool { return true }); len(page.Buttons()) != 0 || strings.Contains(page.Shown(), "eggs") {
		t.Errorf("a stranger's page shows %q %v", page.Shown(), page.Buttons())
	}
}

// The list has pages, and buttons for those sessions that one may direct.
func TestListOnSlack(t *testing.T) {
	w := withBob(t)
	channel := w.srv.Channel()
	for range 9 {
		w.srv.Say(slacktest.Post{Channel: channel, By: slacktest.Bob, Mention: slacktest.Bot(), Text: "repeat after me: hello"})
	}
	direct := w.srv.Direct()
	w.srv.Say(slacktest.Post{Channel: direct, By: slacktest.Bob, Text: "repeat after me: a secret of Bob's"})
	w.until("all to have ended", func() bool { return len(w.entries("ended")) == 10 })
	w.srv.Command(channel, slacktest.Bob, "list")
	first := w.srv.Await(channel, "", func(m slacktest.Message) bool {
		return m.Only == slacktest.Bob.ID && strings.Contains(m.Shown(), "1 to 8 of 10")
	})
	if rows := first.Buttons(); len(rows) != 9 || !slices.Equal(rows[1], []string{"Open 2", "Close 2"}) || !slices.Equal(rows[8], []string{"Older →"}) {
		t.Errorf("the first page has %v", rows)
	}
	w.srv.Press(channel, slacktest.Bob, first.TS, "Older →")
	second := w.srv.Await(channel, "", func(m slacktest.Message) bool {
		return m.Only == slacktest.Bob.ID && strings.Contains(m.Shown(), "9 to 10 of 10")
	})
	w.srv.Press(channel, slacktest.Bob, second.TS, "Close 10")
	w.srv.Await(channel, "", func(m slacktest.Message) bool {
		return m.Only == slacktest.Bob.ID && strings.Contains(m.Shown(), "Closed ")
	})
	w.srv.Command(channel, slacktest.Ann, "list all")
	all := w.srv.Await(channel, "", func(m slacktest.Message) bool { return m.Only == slacktest.Ann.ID })
	if strings.Contains(all.Shown(), "a secret of Bob") || !strings.Contains(all.Shown(), "1. ") {
		t.Errorf("Ann is shown %q", all.Shown())
	}
}

// Who may not decide is told so alone, by name, and asks who may: they get the card in their own conversation.
func TestAskWhoMayDecide(t *testing.T) {
	w := withBob(t, func(c *config.Config) { c.Access.Viewers = []core.Person{id(slacktest.Eve)} })
	channel := w.srv.Channel()
	thread, card := w.asks(channel, slacktest.Bob, "write milk to fridge.txt")
	w.srv.Press(channel, slacktest.Eve, card.TS, "Approve once")
	note := w.srv.Await(channel, thread, func(m slacktest.Message) bool { return m.Only == slacktest.Eve.ID })
	if !strings.Contains(note.Shown(), "Bob") || strings.Contains(note.Shown(), "slack:") || !slices.Equal(note.Buttons()[0], []string{"Ask Bob (U0BOB00001)"}) {
		t.Errorf("Eve is told %q %v", note.Shown(), note.Buttons())
	}
	w.srv.Press(channel, slacktest.Eve, note.TS, "Ask Bob (U0BOB00001)")
	w.until("a conversation with Bob", func() bool { return w.srv.DirectOf(slacktest.Bob) != "" })
	direct := w.srv.DirectOf(slacktest.Bob)
	copied := w.srv.Await(direct, "", question)
	if !strings.Contains(copied.Shown(), "Eve") || action(copied) != action(card) {
		t.Errorf("Bob is shown %q", copied.Shown())
	}
	w.srv.Press(direct, slacktest.Bob, copied.TS, "Deny")
	w.srv.Await(direct, "", decided("denied by Bob"))
	w.srv.Await(channel, thread, decided("denied by Bob"))
}

// BenchmarkPress measures from the press of Deny to the card that shows it: through the store and the whole way out.
func BenchmarkPress(b *testing.B) {
	w := withBob(b)
	channel := w.srv.Channel()
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		thread, card := w.asks(channel, slacktest.Bob, fmt.Sprintf("write milk to %d.txt", len(took)))
		b.StartTimer()
		began := time.Now()
		w.srv.Press(channel, slacktest.Bob, card.TS, "Deny")
		w.srv.Await(channel, thread, decided("denied"))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
