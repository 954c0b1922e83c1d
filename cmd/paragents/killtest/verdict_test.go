package killtest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"paragents/core"
	"paragents/core/audit"
	"paragents/core/state"
	"paragents/store"
)

// slack is how far apart two clocks' readings of the same moment may lie: a request that a killed process had sent is handled a little later.
const slack = time.Second

// verdict is one reading of everything that was left.
type verdict struct {
	w     *world
	st    store.Store
	sum   tally
	audit []audit.Entry
	token map[core.Ref]string // of a prompt, by ref
	state map[string]string   // of a token: how its prompt ended
	fate  map[string]core.Ending
	shown map[string]bool // calls whose outcome was said to be unknown
}

// judge reads the store and the chats after all processes have ended, fails the test for everything that must not be, and adds to the total.
func (w *world) judge() tally {
	t := w.t
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	st, err := w.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	v := &verdict{w: w, st: st, token: map[core.Ref]string{}, state: map[string]string{}, fate: map[string]core.Ending{}, shown: map[string]bool{}}
	v.audit = logOf[audit.Entry](ctx, w, st, state.Audit)
	v.prompts()
	v.approvals()
	v.said()
	v.sessions(ctx)
	v.effects()
	for _, r := range w.model.Seen() {
		if r.Refused != nil {
			t.Errorf("the model was asked something invalid: %v", r.Refused)
		}
	}
	for _, f := range w.faults {
		if f.what == "kill" {
			v.sum.kills++
		} else {
			v.sum.stops++
		}
	}
	total.add(v.sum)
	t.Log(v.sum)
	return v.sum
}

func logOf[T any](ctx context.Context, w *world, st store.Store, log store.Log) (out []T) {
	w.t.Helper()
	for from := int64(0); ; {
		page, err := st.Read(ctx, log, from, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range page {
			var v T
			if err := json.Unmarshal(r.Value, &v); err != nil {
				w.t.Fatal(err)
			}
			out = append(out, v)
			from = r.Position + 1
		}
		if len(page) < store.MaxScan {
			return out
		}
	}
}

// prompts checks that each was accepted once and ended once, in the order in which its person wrote them.
func (v *verdict) prompts() {
	t := v.w.t
	accepted, ended := map[string]int{}, map[string]int{}
	var order []string
	for _, e := range v.audit {
		switch e.What {
		case "accepted":
			found := prompt.FindStringSubmatch(e.Show)
			if found == nil {
				t.Errorf("accepted %q, which nobody wrote", e.Show)
				continue
			}
			v.token[e.Prompt] = found[1]
			accepted[found[1]]++
		case "ended":
			token := v.token[e.Prompt]
			ended[token]++
			v.state[token] = e.Outcome
			order = append(order, token)
			if e.Outcome != string(core.Done) {
				v.sum.failed++
				t.Logf("%s ended as %s: %s", token, e.Outcome, e.Why)
				if !strings.Contains(e.Why, "replicas died or hung") {
					t.Errorf("%s ended as %s: %s", token, e.Outcome, e.Why)
				}
			}
		}
	}
	for _, p := range v.w.people {
		v.sum.prompts += len(p.posted)
		for _, token := range p.posted {
			if accepted[token] != 1 || ended[token] != 1 {
				v.sum.lost++
				t.Errorf("lost: %s (%s) was accepted %d times and ended %d times", token, p.kind[token], accepted[token], ended[token])
			}
		}
		mine := slices.DeleteFunc(slices.Clone(order), func(token string) bool { return !slices.Contains(p.posted, token) })
		if !slices.Equal(mine, p.posted) {
			t.Errorf("order: written %v, ended %v", p.posted, mine)
		}
	}
}

// approvals checks that each question was decided once, by its person, and used at most once.
func (v *verdict) approvals() {
	t := v.w.t
	decided, started := map[core.Ref]int{}, map[core.Ref]int{}
	var asked []audit.Entry
	outcome := map[core.Ref]string{}
	for _, e := range v.audit {
		switch e.What {
		case "asked":
			asked = append(asked, e)
		case "decided":
			decided[e.Request]++
			outcome[e.Request] = e.Outcome
			if !strings.HasPrefix(string(e.Who), "telegram:") {
				t.Errorf("approval %s %s by %q, who is nobody", e.Request, e.Outcome, e.Who)
			}
		case "started":
			started[e.Request]++
		}
	}
	answers := map[string]*decision{}
	for _, p := range v.w.people {
		for ref, d := range p.decisions {
			answers[ref] = d
			if d.across {
				v.sum.across++
			}
		}
	}
	for _, e := range asked {
		want := 1
		if !strings.HasPrefix(outcome[e.Request], string(core.Approved)) || v.state[v.token[e.Prompt]] != string(core.Done) {
			want = 0
		}
		d := answers[string(e.Request)]
		if d == nil || !d.made || decided[e.Request] != 1 {
			t.Errorf("approval %s of %s was decided %d times: %s", e.Request, v.token[e.Prompt], decided[e.Request], outcome[e.Request])
		}
		if n := started[e.Request]; n > 1 || n < want {
			t.Errorf("approval %s of %s, %s, was used %d times", e.Request, v.token[e.Prompt], outcome[e.Request], n)
		}
	}
}

var (
	sentAnswer = regexp.MustCompile(`\[done\][^\n]*\n\nanswer (\d+-\d+):`)
	sentEnd    = regexp.MustCompile(`\[P:(\w+)\]\[(?:failed|cancelled)\]`)
)

// said checks what people were told: an answer to everything, in order, and a copy only where a process was killed or stopped between.
func (v *verdict) said() {
	t := v.w.t
	at, marked := map[string][]time.Time{}, map[string]int{}
	for _, c := range v.w.platform.Calls("sendMessage") {
		if found := sentAnswer.FindStringSubmatch(c.Params["text"]); found != nil {
			at[found[1]] = append(at[found[1]], c.At)
			if strings.HasSuffix(c.Params["text"], "(may be repeated)") {
				marked[found[1]]++
			}
		}
	}
	for token, times := range at {
		if n := len(times) - 1; n > marked[token] {
			t.Errorf("the answer to %s was sent %d times, and %d copies say so", token, n+1, marked[token])
		}
		for i := 1; i < len(times); i++ {
			v.sum.copies++
			from, to := times[i-1].Add(-slack), times[i]
			if !slices.ContainsFunc(v.w.faults, func(f fault) bool { return f.to.After(from) && f.from.Before(to) }) {
				t.Errorf("the answer to %s was sent again after %s, though no process was killed or stopped meanwhile", token, times[i].Sub(times[i-1]))
			}
		}
	}
	for _, p := range v.w.people {
		p.look()
		failed := map[string]bool{}
		for _, m := range v.w.platform.Messages(p.chat) {
			if found := sentEnd.FindStringSubmatch(m.Text); m.FromBot && found != nil {
				failed[v.token[core.Ref(found[1])]] = true
			}
			if found := uncertain.FindStringSubmatch(m.Text); m.FromBot && found != nil {
				v.shown[found[1]+found[2]] = true
			}
		}
		var first []string
		for _, token := range p.answers {
			if !slices.Contains(first, token) {
				first = append(first, token)
			}
		}
		want := slices.DeleteFunc(slices.Clone(p.posted), func(token string) bool { return failed[token] })
		if !slices.Equal(first, want) {
			v.sum.lost++
			t.Errorf("lost or out of order: written %v, answered %v", want, first)
		}
	}
}

// sessions checks the transcripts, and that nothing was left lying.
func (v *verdict) sessions(ctx context.Context) {
	t := v.w.t
	page, err := v.st.Scan(ctx, state.Sessions, store.Range{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Entries) != len(v.w.people) {
		t.Errorf("%d sessions for %d people", len(page.Entries), len(v.w.people))
	}
	for _, e := range page.Entries {
		id := core.SessionID(e.Member)
		sess, _, err := state.Get[core.Session](ctx, v.st, state.SessionKey(id))
		if err != nil {
			t.Fatal(err)
		}
		if len(sess.Value.Queue) > 0 {
			t.Errorf("session %s has still %v to do", sess.Value.Ref, sess.Value.Queue)
		}
		if left := logOf[core.Letter](ctx, v.w, v.st, state.Lane(id)); len(left) > 0 {
			t.Errorf("session %s has still %d letters to send, the first %+v", sess.Value.Ref, len(left), left[0])
		}
		v.transcript(logOf[core.Record](ctx, v.w, v.st, state.Transcript(id)))
	}
	for _, index := range []store.Index{state.Running, state.Pending} {
		page, err := v.st.Scan(ctx, index, store.Range{})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Entries) > 0 {
			t.Errorf("index %s has still %v", index, page.Entries)
		}
	}
}

// transcript checks one session's: prompts in order and never mixed, each call intended at most once and with one result.
func (v *verdict) transcript(records []core.Record) {
	t := v.w.t
	var order []core.PromptID
	intents, results := map[core.CallID]int{}, map[core.CallID]int{}
	for _, r := range records {
		// Of a prompt that was given up in the middle of a call, the next one's run writes down what became of the call.
		late := r.Kind == core.RecordResult && (r.Ending == core.EndInterrupted || r.Ending == core.EndUnknown) && slices.Contains(order, r.Prompt)
		if !late && (len(order) == 0 || order[len(order)-1] != r.Prompt) {
			if slices.Contains(order, r.Prompt) {
				t.Errorf("records of a prompt, %+v, behind those of the next one", r)
			}
			order = append(order, r.Prompt)
		}
		switch r.Kind {
		case core.RecordIntent:
			if intents[r.Call]++; intents[r.Call] > 1 {
				v.sum.doubled++
				t.Errorf("doubled: %s was begun %d times", r.Call, intents[r.Call])
			}
		case core.RecordResult:
			results[r.Call]++
			call := strings.TrimPrefix(string(r.Call), "call-")
			v.fate[call] = r.Ending
			if results[r.Call] > 1 {
				t.Errorf("%s has %d results", r.Call, results[r.Call])
			}
			if r.Ending == core.EndUnknown {
				v.sum.unknown++
				if !v.shown[call] {
					t.Errorf("nobody was told that the outcome of %s is unknown", call)
				}
			}
		}
	}
	for _, r := range records {
		for _, c := range r.Calls {
			if results[c.ID] != 1 {
				t.Errorf("%s has %d results", c.ID, results[c.ID])
			}
		}
	}
	for call := range intents {
		if results[call] == 0 {
			t.Errorf("%s was begun and has no result", call)
		}
	}
}

// effects checks what the commands did: nothing twice, nothing that was not begun, and everything that is said to have gone well.
func (v *verdict) effects() {
	t := v.w.t
	raw, err := os.ReadFile(filepath.Join(v.w.dir, "effects"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		if count[line]++; count[line] > 1 {
			v.sum.doubled++
			t.Errorf("doubled: %q happened %d times", line, count[line])
		}
		call, _, _ := strings.Cut(line, " ")
		switch end := v.fate[call]; end {
		case core.EndOK, core.EndUnknown, core.EndInterrupted, core.EndError:
		default:
			t.Errorf("%q happened, and its result is %q", line, end)
		}
	}
	for call, end := range v.fate {
		token := call[:len(call)-1]
		if end == core.EndOK && count[call] == 0 && !v.ticks(token) {
			t.Errorf("%s is said to have gone well, and did not happen", call)
		}
	}
}

// ticks reports whether a prompt is one whose effect is not in the file effects.
func (v *verdict) ticks(token string) bool {
	return slices.ContainsFunc(v.w.people, func(p *person) bool { return p.kind[token] == "tick" })
}
