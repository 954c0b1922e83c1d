package killtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"paragents/adapters/telegram/telegramtest"
	"paragents/core"
	"paragents/core/state"
	"paragents/store"
)

// person sends prompts in a chat of their own, a few at a time, and answers what is asked there.
type person struct {
	w      *world
	number int
	user   telegramtest.User
	chat   int64
	choice *rand.Rand

	posted    []string             // tokens, in order
	kind      map[string]string    // of a token
	ended     map[string]bool      // prompts of which an answer or a failure was seen, by ref
	answers   []string             // tokens, in the order in which their answers appeared
	decisions map[string]*decision // by the approval's ref
}

func newPerson(w *world, n int, u telegramtest.User) *person {
	return &person{w: w, number: n, user: u, chat: w.platform.Private(u), choice: rand.New(rand.NewPCG(w.seed, uint64(100+n))),
		kind: map[string]string{}, ended: map[string]bool{}, decisions: map[string]*decision{}}
}

func callID(token, letter string) core.CallID { return core.CallID("call-" + token + letter) }

// What a person recognises messages by.
var (
	answered  = regexp.MustCompile(`^\[S:\w+\]\[P:(\w+)\]\[done\][^\n]*\n\nanswer (\d+-\d+):`)
	gaveUp    = regexp.MustCompile(`^\[S:\w+\]\[P:(\w+)\]\[(?:failed|cancelled)\]`)
	question  = regexp.MustCompile(`May (?:this|these \d+) run\?`)
	asked     = regexp.MustCompile(`(\w{6}) · run_command\s+\./\w+\.sh (\d+-\d+)`)
	uncertain = regexp.MustCompile(`Outcome unknown: run \./\w+\.sh (\d+-\d+) (\w)`)
)

// post sends a prompt of a kind.
func (p *person) post(kind string) string {
	token := fmt.Sprintf("%d-%d", p.number+1, len(p.posted)+1)
	p.posted = append(p.posted, token)
	p.kind[token] = kind
	p.w.platform.Post(telegramtest.Post{Chat: p.chat, From: p.user, Text: "job " + token + " " + kind})
	return token
}

// look reads the chat, and answers what is due.
func (p *person) look() {
	p.answers = p.answers[:0]
	now := time.Now()
	for _, m := range p.w.platform.Messages(p.chat) {
		if !m.FromBot {
			continue
		}
		if found := answered.FindStringSubmatch(m.Text); found != nil {
			p.ended[found[1]] = true
			p.answers = append(p.answers, found[2])
		} else if found := gaveUp.FindStringSubmatch(m.Text); found != nil {
			p.ended[found[1]] = true
		} else if question.MatchString(m.Text) && len(m.Keyboard) > 0 {
			p.decide(m, now)
		}
	}
}

// decide answers a card, all of it at once, when the person has thought long enough. Of several copies the first to be due is answered.
func (p *person) decide(m telegramtest.Message, now time.Time) {
	all := asked.FindAllStringSubmatch(m.Text, -1)
	if len(all) == 0 {
		p.w.t.Fatalf("a card that cannot be read: %q", m.Text)
	}
	d := p.decisions[all[0][1]]
	if d == nil {
		d = &decision{at: now.Add(time.Duration(p.choice.IntN(1500)) * time.Millisecond), faults: len(p.w.faults)}
		for _, found := range all {
			p.decisions[found[1]] = d
		}
	}
	if d.made || now.Before(d.at) {
		return
	}
	words := []string{"Approve once", "Approve all"}
	if p.kind[all[0][2]] == "deny" {
		words = []string{"Deny"}
	}
	for _, row := range m.Keyboard {
		for _, b := range row {
			if !d.made && slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(b.Text, word) }) {
				p.w.platform.Press(p.user, p.chat, m.ID, b.Text)
				d.made, d.across = true, len(p.w.faults) > d.faults
			}
		}
	}
}

// decision is a person's answer to a question.
type decision struct {
	at     time.Time // when it is to be given
	faults int       // that there had been when the question was seen
	made   bool
	across bool // there was a fault between the question and the answer
}

// idle reports whether everything that was asked for has ended, as far as the person sees.
func (p *person) idle() bool { return len(p.ended) >= len(p.posted) }

// outstanding is how many prompts a person has under way at most.
const outstanding = 3

// live passes some time in which everybody looks and asks for more.
func (w *world) live(d time.Duration) {
	over := time.After(d)
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, p := range w.people {
			p.look()
			for len(p.posted)-len(p.ended) < outstanding {
				p.post(busy[p.choice.IntN(len(busy))])
			}
		}
		select {
		case <-over:
			return
		case <-tick.C:
		}
	}
}

// drain lets people look until everything has ended. It fails the test when that takes too long.
func (w *world) drain() {
	w.t.Helper()
	w.await("everything to end", func() bool {
		idle := true
		for _, p := range w.people {
			p.look()
			idle = idle && p.idle()
		}
		return idle && w.platform.Pending() == 0
	})
}

// await asks until something is so.
func (w *world) await(what string, so func() bool) {
	w.t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		if w.t.Failed() {
			w.t.FailNow() // a process ended by itself
		}
		select {
		case <-tick.C:
		case <-limit:
			w.t.Fatalf("waited %s in vain for %s\n%s%s", patience, what, w.unfinished(), w.tails())
		}
	}
}

// unfinished says who waits for what.
func (w *world) unfinished() string {
	out := ""
	for _, p := range w.people {
		if !p.idle() {
			seen := map[string]bool{}
			for _, token := range p.answers {
				seen[token] = true
			}
			for _, token := range p.posted {
				if !seen[token] {
					out += fmt.Sprintf("no answer to %s (%s)\n", token, p.kind[token])
				}
			}
			ms := w.platform.Messages(p.chat)
			for _, m := range ms[max(0, len(ms)-6):] {
				out += fmt.Sprintf("  %d bot=%v %q %v\n", m.ID, m.FromBot, m.Text, m.Keyboard)
			}
		}
	}
	return out + w.stored()
}

// stored says what the store knows of sessions that have something to do.
func (w *world) stored() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	st, err := w.open(ctx)
	if err != nil {
		return fmt.Sprintf("the store: %v\n", err)
	}
	defer st.Close()
	out := ""
	all, err := st.Scan(ctx, state.Sessions, store.Range{})
	ready, err2 := st.Scan(ctx, state.Ready, store.Range{})
	if err = errors.Join(err, err2); err != nil {
		return fmt.Sprintf("the store: %v\n", err)
	}
	for _, e := range all.Entries {
		id := core.SessionID(e.Member)
		sess, _, err := state.Get[core.Session](ctx, st, state.SessionKey(id))
		if err != nil || len(sess.Value.Queue) == 0 {
			continue
		}
		snap, err := st.Get(ctx, state.ClaimKey(id), state.PromptKey(sess.Value.Queue[0]), state.DoubtKey(id))
		lane, err2 := st.Read(ctx, state.Lane(id), 0, 0)
		out += fmt.Sprintf("session %s: ready %v, %d letters, %v\n", sess.Value.Ref, slices.ContainsFunc(ready.Entries, func(r store.Entry) bool { return r.Member == e.Member }), len(lane), errors.Join(err, err2))
		for _, d := range snap.Docs {
			out += fmt.Sprintf("  %d %s\n", d.Version, d.Value)
		}
	}
	return out
}
