package bot_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/access"
	"paragents/core/reader"
	"paragents/core/state"
	"paragents/store/local"
)

// bubble runs a test on a virtual clock over a local store, with one process at work.
func bubble(t *testing.T, test func(t *testing.T, w *world), given ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st, err := local.Open(t.Context(), local.Config{Path: filepath.Join(t.TempDir(), "state.db"), NoSync: true, Private: true})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		w := newWorld(t, virtual{}, st)
		for _, g := range given {
			if err := w.given(g); err != nil {
				t.Fatal(err)
			}
		}
		w.replica = w.start()
		defer func() {
			w.model.hold(false)
			w.replica.end(t)
		}()
		test(t, w)
	})
}

// event is what a person does at a place, as the platform tells it.
func (w *world) event(who, where, text string) core.Inbound {
	id := w.chat.id()
	e := core.Inbound{ID: "chat:" + id, Message: "from-" + id, Kind: core.InMessage, Person: w.person(who), Name: who, Place: w.chat.placeOf(where), Text: text, Addressed: true}
	if command, ok := strings.CutPrefix(text, "/"); ok {
		e.Kind, e.Text = core.InCommand, command
	}
	return e
}

// does lets a person do something in their own conversation, waits until nothing goes on, and returns what the bot said there.
func (w *world) does(who, text string) string {
	w.t.Helper()
	return w.at(who, who, text)
}

func (w *world) at(who, where, text string) string {
	w.t.Helper()
	w.chat.take()
	if err := w.chat.post(w.event(who, where, text)); err != nil {
		w.t.Fatal(err)
	}
	w.clock.settle(w, 0)
	return said(w.chat.take())
}

// press presses the newest button with a label that somebody was shown, wherever that was.
func (w *world) press(who, where, label string) string {
	w.t.Helper()
	e := w.event(who, where, "")
	token, ok := w.chat.button(e.Place, label, "", true)
	if !ok {
		w.t.Fatalf("there has been no button %q", label)
	}
	e.Kind, e.Token, e.Callback = core.InPress, token, who+" "+where
	w.chat.take()
	if err := w.chat.post(e); err != nil {
		w.t.Fatal(err)
	}
	w.clock.settle(w, 0)
	return said(w.chat.take())
}

func said(list []heard) string {
	var out []string
	for _, h := range list {
		out = append(out, strings.Join(h.lines, "\n"))
	}
	return strings.Join(out, "\n")
}

// sessions are all there are, the oldest first.
func (w *world) sessions() []reader.View {
	w.t.Helper()
	views, err := w.replica.scheduler.List(context.Background(), state.Sessions, 1000, true)
	if err != nil {
		w.t.Fatal(err)
	}
	slices.SortFunc(views, func(a, b reader.View) int { return a.Session.Created.Compare(b.Session.Created) })
	return views
}

// TestB031WhoMayPress: the role at the place, and whose prompt it is, decide who may answer, for each person and each button.
func TestB031WhoMayPress(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.grants.Places = map[string]access.Roles{
			access.PlaceKey(w.chat.placeOf("#ops")):   {w.person("ann"): access.Approver},
			access.PlaceKey(w.chat.placeOf("#other")): {w.person("oda"): access.Approver},
		}
		for i, c := range []struct {
			who    string
			label  string
			own    bool // operators approve their own
			passes bool
		}{
			{"rob", "Approve once", true, true},
			{"rob", "Deny", true, true},
			{"rob", "Approve once", false, false},
			{"rob", "For this session", true, true},
			{"rob", "Always here", true, false},
			{"eve", "Approve once", true, false}, // an operator like rob, but it is not hers
			{"eve", "Deny", true, false},
			{"eve", "For this session", true, false},
			{"vic", "Approve once", true, false},
			{"sam", "Approve once", true, false}, // nobody knows sam
			{"sam", "Deny", true, false},
			{"oda", "Approve once", true, false}, // an approver elsewhere
			{"ann", "Approve once", false, true},
			{"ann", "Deny", true, true},
			{"ann", "Always here", true, false},
			{"ada", "Approve once", false, true},
			{"ada", "Always here", true, true},
		} {
			w.replica.end(t)
			w.own = c.own
			w.replica = w.start()
			w.at("rob", "#ops", fmt.Sprintf("/new write milk to %d.txt", i))
			open, err := w.replica.scheduler.Waiting(t.Context(), 10)
			if err != nil || len(open) != 1 {
				t.Fatalf("%d questions: %v", len(open), err)
			}
			answer := w.press(c.who, "#ops", c.label)
			asksMore := strings.Contains(answer, "[Approve and store]")
			after, err := w.replica.scheduler.Approval(t.Context(), open[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			if passed := after.State != core.Pending || asksMore; passed != c.passes {
				t.Errorf("%s presses %s, own %v: it is %s, and the bot says:\n%s", c.who, c.label, c.own, after.State, answer)
			}
			if !c.passes && (answer == "" || strings.Contains(answer, "wrote")) {
				t.Errorf("%s presses %s and is told %q", c.who, c.label, answer)
			}
			w.does("ada", "/deny "+string(open[0].Ref))
		}
	}, "rob is operator", "eve is operator", "oda is operator", "vic is viewer", "ada is admin")
}

// TestSecondPressIsTheirs: the question that a wider yes asks is for who pressed; another person's press of it does nothing.
func TestSecondPressIsTheirs(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.at("rob", "#ops", "/new write milk to fridge.txt")
		w.press("ann", "#ops", "For this session")
		if got := w.press("rob", "#ops", "Approve and store"); !strings.Contains(got, "somebody else") {
			t.Errorf("rob presses what ann was asked: %s", got)
		}
		if got := w.press("ann", "#ops", "Approve and store"); !strings.Contains(got, "wrote fridge.txt") {
			t.Errorf("ann presses it: %s", got)
		}
	}, "rob is operator", "ann is approver")
}

// TestTarget: a command's ref can be written in every way in which it is shown.
func TestTarget(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.does("rob", "/new say one")
		w.does("rob", "/new say two")
		one := w.sessions()[0].Session.Ref
		first := w.sessions()[0].Prompt.Ref
		w.does("rob", "/list")
		for _, c := range []struct{ written, want string }{
			{string(one), "say one"},
			{strings.ToUpper(string(one)), "say one"},
			{"[S:" + string(one) + "]", "say one"},
			{"S:" + string(one), "say one"},
			{"`" + string(one) + "`", "say one"},
			{string(first), "say one"}, // a prompt leads to its session
			{"#2", "say one"},
			{"#1", "say two"},
			{"#3", "no #3"},
			{"#0", "no #0"},
			{"#x", "nothing called"},
			{"zzzzzz", "nothing called"},
			{"zzzzzzz", "nothing called"},
			{"-", "nothing called"},
		} {
			if got := w.does("rob", "/status "+c.written); !strings.Contains(got, c.want) {
				t.Errorf("/status %s: %s", c.written, got)
			}
		}
		if got := w.does("ann", "/status #1"); !strings.Contains(got, "no #1") {
			t.Errorf("the list that rob saw counts for ann: %s", got)
		}
	}, "rob is operator", "ann is operator")
}

// TestTargetByBeginning: the beginning of a ref is enough where it is unique, and where it is not, all that begin so are named.
func TestTargetByBeginning(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		begins := map[string][]string{}
		twice := ""
		for i := 0; twice == ""; i++ { // at the latest with one more than there are letters
			w.does("rob", fmt.Sprintf("/submit say %d", i))
			views := w.sessions()
			ref := string(views[len(views)-1].Session.Ref)
			if begins[ref[:1]] = append(begins[ref[:1]], ref); len(begins[ref[:1]]) == 2 {
				twice = ref[:1]
			}
		}
		got := w.does("rob", "/switch "+twice)
		for _, ref := range begins[twice] {
			if !strings.Contains(got, ref) {
				t.Errorf("/switch %s does not name %s: %s", twice, ref, got)
			}
		}
		a, b := begins[twice][0], begins[twice][1]
		n := 1
		for a[:n] == b[:n] {
			n++
		}
		if got := w.does("rob", "/switch "+b[:n]); !strings.Contains(got, "Now writing to "+b) {
			t.Errorf("/switch %s: %s", b[:n], got)
		}
	}, "rob is operator")
}

// TestSeveralFit: where several fit, they are offered as buttons, which only who asked may press.
func TestSeveralFit(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.at("rob", "#ops", "/new write one to a.txt")
		w.at("rob", "#ops", "/new write two to b.txt")
		got := w.at("rob", "#ops", "/deny")
		if !strings.Contains(got, "Which one?") {
			t.Fatalf("/deny with two questions: %s", got)
		}
		open, err := w.replica.scheduler.Waiting(t.Context(), 10)
		if err != nil || len(open) != 2 {
			t.Fatalf("%d are open: %v", len(open), err)
		}
		label := string(open[1].Ref) + " write_file"
		if got := w.press("ann", "#ops", label); !strings.Contains(got, "somebody else") {
			t.Errorf("ann presses rob's button: %s", got)
		}
		w.press("rob", "#ops", label)
		left, err := w.replica.scheduler.Waiting(t.Context(), 10)
		if err != nil || len(left) != 1 || left[0].ID != open[0].ID {
			t.Errorf("left are %+v: %v", left, err)
		}
	}, "rob is operator", "ann is admin")
}

// TestPrivacy: what somebody does alone with the bot is nobody else's to see, by no command and under no name.
func TestPrivacy(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.does("rob", "/new write confidential to secret.txt")
		w.at("rob", "#ops", "/new say public")
		private := w.sessions()[0]
		open, err := w.replica.scheduler.Waiting(t.Context(), 10)
		if err != nil || len(open) != 1 {
			t.Fatalf("%d are open: %v", len(open), err)
		}
		for _, ref := range []core.Ref{private.Session.Ref, private.Prompt.Ref, open[0].Ref} {
			for _, name := range []string{"status", "log", "usage", "switch", "pause", "resume", "cancel", "retry", "stop", "steer", "close", "rename", "run-held", "drop-held", "approve",
				"deny", "diff", "undo", "wait", "override", "verify"} {
				if got := w.does("eve", "/"+name+" "+string(ref)); strings.Contains(got, "confidential") || strings.Contains(got, "secret.txt") {
					t.Errorf("eve's /%s %s shows:\n%s", name, ref, got)
				}
			}
		}
		for _, command := range []string{"/list", "/list all", "/approvals", "/status", "/permissions", "/approve", "/deny"} {
			if got := w.does("eve", command); strings.Contains(got, "confidential") || strings.Contains(got, "secret.txt") {
				t.Errorf("eve's %s shows:\n%s", command, got)
			}
		}
		if got := w.does("eve", "/list all"); !strings.Contains(got, "say public") {
			t.Errorf("eve's /list all does not show what is public:\n%s", got)
		}
		after := w.sessions()[0]
		if after.Session.Closed || after.Prompt.State != core.Waiting || after.Session.Title != private.Session.Title {
			t.Errorf("eve changed rob's session: %+v", after)
		}
		for _, h := range w.chat.messages[w.chat.placeOf("eve").Key()] {
			if h.Place.Channel != "eve" {
				t.Errorf("somebody else was answered: %+v", h)
			}
		}
	}, "rob is operator", "eve is operator")
}

// TestAnswersGoToWhoAsked: every answer goes to the place of who asked, and only to them where others could see it.
func TestAnswersGoToWhoAsked(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.chat.take()
		for _, where := range []string{"rob", "#ops", "#ops/1"} {
			for _, text := range []string{"/list", "/frobnicate", "/help", "/audit", "/status zzzzzz"} {
				if err := w.chat.post(w.event("rob", where, text)); err != nil {
					t.Fatal(err)
				}
				w.clock.settle(w, 0)
				got := w.chat.take()
				if len(got) == 0 || len(got) > 2 {
					t.Errorf("%s at %s: %d answers", text, where, len(got))
				}
				for _, h := range got {
					if placeName(h.place) != where || !h.desk || !h.place.Private && h.what != " whispers to rob" {
						t.Errorf("%s at %s was answered %q at %s", text, where, h.what, placeName(h.place))
					}
				}
			}
		}
	}, "rob is operator")
}

// TestB024StatusCardsArePaced: however much there is to show, a chat sees a change of a card at most every edit rate, over all its cards.
func TestB024StatusCardsArePaced(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		begin := time.Now()
		long := "/submit " + strings.TrimSuffix(strings.Repeat("think for 1 seconds then read a.txt then ", 12), " then ")
		for range 3 {
			if err := w.chat.post(w.event("rob", "rob", long)); err != nil {
				t.Fatal(err)
			}
		}
		w.clock.settle(w, 0)
		var last time.Time
		shown := 0
		for _, h := range w.chat.take() {
			if !strings.Contains(h.lines[0], "[running]") {
				continue
			}
			shown++
			if gap := h.at.Sub(last); gap < w.chat.caps.EditRate {
				t.Errorf("at %s a card changed, %s after the one before", h.at.Sub(begin), gap)
			}
			last = h.at
		}
		if shown < 4 {
			t.Errorf("only %d changes were shown in %s", shown, time.Since(begin))
		}
	}, "rob is operator", "progress", "a.txt holds apples")
}

// A chat that takes its time holds up no other.
func TestStatusCardsDoNotWaitForEachOther(t *testing.T) {
	others := []string{"ann", "ben", "cid", "dan", "eve", "fay", "gus", "hal"}
	given := []string{"rob is operator", "progress"}
	for _, who := range others {
		given = append(given, who+" is operator")
	}
	bubble(t, func(t *testing.T, w *world) {
		w.chat.stuck, w.chat.freed = w.chat.placeOf("rob"), make(chan struct{})
		for _, who := range append(others, "rob") {
			if err := w.chat.post(w.event(who, who, "/submit think for 10 seconds")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		shown := map[string]bool{}
		for _, h := range w.chat.take() {
			if strings.Contains(h.lines[0], "[running]") {
				shown[placeName(h.place)] = true
			}
		}
		if shown["rob"] || len(shown) != len(others) {
			t.Errorf("cards were shown to %v, and only rob's is stuck", shown)
		}
		close(w.chat.freed)
		w.clock.settle(w, 0)
	}, given...)
}
