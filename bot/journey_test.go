package bot_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paragents/core"
	"paragents/core/llm"
	"paragents/core/state"
	"paragents/store/local"
	"paragents/store/redis"
	"paragents/store/redis/redistest"
)

// TestJourneys plays the scripts on a virtual clock over a local store.
func TestJourneys(t *testing.T) {
	journeys(t, func(t *testing.T, path string, steps []step, tail []string) {
		if slices.ContainsFunc(steps, func(s step) bool { return s.text == onlyReal }) {
			t.Log("commands are real processes: on the real clock only")
			return
		}
		synctest.Test(t, func(t *testing.T) {
			st, err := local.Open(t.Context(), local.Config{Path: filepath.Join(t.TempDir(), "state.db"), NoSync: true, Private: true})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			play(t, newWorld(t, virtual{}, st), path, steps, tail, *update)
		})
	})
}

// TestJourneysOnRedis plays the same scripts in real time over Redis.
func TestJourneysOnRedis(t *testing.T) {
	server := redistest.Start(t)
	journeys(t, func(t *testing.T, path string, steps []step, tail []string) {
		if slices.ContainsFunc(steps, func(s step) bool { return s.text == onlyVirtual }) {
			t.Log("on the virtual clock only")
			return
		}
		st, err := redis.Open(t.Context(), redis.Config{URL: server.URL(), Prefix: strings.TrimSuffix(filepath.Base(path), ".chat")})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		alone := slices.ContainsFunc(steps, func(s step) bool { return s.text == onlyReal })
		clock := real{beat: 15 * time.Second}
		if slices.ContainsFunc(steps, func(s step) bool { return s.text == "crash" }) {
			clock.beat = 2 * time.Second // somebody has to wait for the end of it
		}
		play(t, newWorld(t, clock, st), path, steps, tail, *update && alone)
	})
}

// Scripts that one clock alone can play say so.
const (
	onlyVirtual = "only on the virtual clock"
	onlyReal    = "only on the real clock"
)

func journeys(t *testing.T, run func(t *testing.T, path string, steps []step, tail []string)) {
	paths, err := filepath.Glob("testdata/*.chat")
	if err != nil || len(paths) < 10 {
		t.Fatal("the journeys are not there:", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".chat"), func(t *testing.T) {
			t.Parallel()
			steps, tail, err := read(path)
			if err != nil {
				t.Fatal(err)
			}
			run(t, path, steps, tail)
		})
	}
}

// journey is a script being played.
type journey struct {
	*world
	names map[string]string // what is random in the bot's lines, to what the script calls it
	refs  map[string]string // and back
	count map[string]int
	ids   map[string]string // of the bot's messages, by place and number
	nums  map[string]string // and back
	here  core.Place
	last  core.Inbound
}

func play(t *testing.T, w *world, path string, steps []step, tail []string, rewrite bool) {
	j := &journey{world: w, names: map[string]string{}, refs: map[string]string{}, count: map[string]int{}, ids: map[string]string{}, nums: map[string]string{}}
	defer func() {
		if w.replica != nil {
			w.model.hold(false)
			w.replica.end(t)
		}
	}()
	for i := range steps {
		s := &steps[i]
		waits := i+1 < len(steps) && strings.HasPrefix(steps[i+1].text, "wait ")
		if err := j.do(s, waits); err != nil {
			t.Fatalf("%s:%d: %s: %v", path, s.line, s.text, err)
		}
		got := j.heard()
		if rewrite {
			s.expect = got
			continue
		}
		if !slices.Equal(got, s.expect) {
			t.Errorf("%s:%d: %s\ngot:\n%s\nwant:\n%s", path, s.line, s.text, strings.Join(got, "\n"), strings.Join(s.expect, "\n"))
			return
		}
	}
	if j.replica != nil {
		j.noButtonIsLeft()
	}
	if rewrite {
		if err := write(path, steps, tail); err != nil {
			t.Fatal(err)
		}
	}
}

// noButtonIsLeft: at the end of every journey, buttons decide only what is still open. (B027)
func (j *journey) noButtonIsLeft() {
	j.chat.mu.Lock()
	defer j.chat.mu.Unlock()
	for _, list := range j.chat.messages {
		for _, m := range list {
			for _, b := range slices.Concat(m.Rows...) {
				press, _, err := state.Get[struct {
					Do        string
					Approval  core.ApprovalID
					Approvals []core.ApprovalID
				}](context.Background(), j.store, state.ButtonKey(b.Token))
				if err != nil {
					j.t.Fatal(err)
				}
				if press.Value.Do == "ask-for" { // decides nothing
					continue
				}
				for _, id := range append(press.Value.Approvals, press.Value.Approval) {
					if id == "" {
						continue
					}
					a, err := j.replica.scheduler.Approval(context.Background(), id)
					if err != nil {
						j.t.Fatal(err)
					}
					if a.State != core.Pending {
						j.t.Errorf("%s is %s, and [%s] is left at %s under\n%s", a.Ref, a.State, b.Label, placeName(m.Place), m.Text)
					}
				}
			}
		}
	}
}

// do plays one line. With waits the next line says how long.
func (j *journey) do(s *step, waits bool) error {
	lines := 0 // of messages that are to come
	for _, l := range s.expect {
		if strings.HasPrefix(l, "bot") {
			lines++
		}
	}
	if given, ok := strings.CutPrefix(s.text, "given "); ok {
		return j.given(given)
	}
	if s.text == onlyReal || s.text == onlyVirtual {
		return nil
	}
	if j.replica == nil {
		j.replica = j.start()
		j.clock.wait(j.world, time.Second, 0) // until it looks for work
	}
	subject, rest, _ := strings.Cut(s.text, " ")
	switch {
	case subject == "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return err
		}
		j.clock.wait(j.world, d, lines)
		return nil
	case s.text == "crash":
		j.replica.crash(j.t)
		j.replica = j.start()
	case s.text == "forms come too late":
		j.chat.expired = true
	case s.text == "model holds":
		j.model.hold(true)
	case s.text == "model goes on":
		j.model.hold(false)
	case strings.HasPrefix(s.text, "model is away: "):
		j.model.fail(&llm.Error{Fault: llm.FaultAway, Text: strings.TrimPrefix(s.text, "model is away: ")})
	case strings.HasPrefix(s.text, "model has no credit: "):
		j.model.fail(&llm.Error{Fault: llm.FaultAccount, Text: strings.TrimPrefix(s.text, "model has no credit: ")})
	case strings.HasPrefix(s.text, "model was given at most "):
		var most int
		if _, err := fmt.Sscanf(s.text, "model was given at most %d characters", &most); err != nil {
			return err
		}
		if j.model.most > most {
			return fmt.Errorf("it was given %d", j.model.most)
		}
	case s.text == "model is back":
		j.model.fail(nil)
	case strings.HasPrefix(rest, "holds "), rest == "is missing", strings.HasPrefix(rest, "begins to hold "):
		return j.file(subject, rest)
	default:
		if err := j.person(s.text); err != nil {
			return err
		}
	}
	if waits {
		j.clock.wait(j.world, 0, lines)
		return nil
	}
	j.clock.settle(j.world, lines)
	return nil
}

// file checks what is in a file of the workspace.
func (j *journey) file(path, what string) error {
	look := func() string {
		raw, err := os.ReadFile(filepath.Join(j.dir, path))
		if os.IsNotExist(err) {
			return "is missing"
		}
		if err != nil {
			j.t.Fatal(err)
		}
		return "holds " + cmp.Or(strings.TrimSuffix(string(raw), "\n"), "nothing")
	}
	if want, ok := strings.CutPrefix(what, "begins to hold "); ok {
		eventually(j.t, path+" "+what, func() bool { return look() == "holds "+want })
		return nil
	}
	if got := look(); got != what {
		return fmt.Errorf("it %s", got)
	}
	return nil
}

var (
	personLine = regexp.MustCompile(`^(\w+)(?:@(#?[\w/]+))?(?: \((.*?)\))?: (.*)$`)
	pressLine  = regexp.MustCompile(`^\[(.*?)\](?: on (\w+))?(?: \((late)\))?$`)
	nameInText = regexp.MustCompile(`\b[SPAC]\d+\b`)
	unmention  = regexp.MustCompile(`^@(\w+) ?`)
)

// person plays what a person does.
func (j *journey) person(line string) error {
	m := personLine.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("this line cannot be read")
	}
	who, where, how, text := m[1], m[2], m[3], m[4]
	if where == "" {
		where = who
	}
	e := core.Inbound{ID: "chat:" + j.chat.id(), Kind: core.InMessage, Person: j.world.person(who), Name: strings.ToUpper(who[:1]) + who[1:], Place: j.chat.placeOf(where)}
	e.Message = "from-" + strings.TrimPrefix(e.ID, "chat:")
	e.Addressed = e.Place.Private
	text = nameInText.ReplaceAllStringFunc(text, func(s string) string {
		if ref, ok := j.refs[s]; ok {
			return ref
		}
		return s
	})
	if to := unmention.FindStringSubmatch(text); to != nil && !e.Place.Private {
		text = strings.TrimPrefix(text, to[0])
		e.Addressed, e.ToOther = to[1] == "bot", to[1] != "bot"
	}
	if j.chat.caps.Threads && !e.Place.Private && e.Place.Thread == "" && !pressLine.MatchString(text) {
		j.count["threads in "+where]++
		e.Place.Thread = fmt.Sprint(j.count["threads in "+where])
	}
	switch press := pressLine.FindStringSubmatch(text); {
	case press != nil:
		token, ok := j.chat.button(e.Place, press[1], press[2], press[3] != "")
		if where == "home" {
			token, ok = j.chat.onPage(e.Person, press[1])
		}
		if !ok {
			return fmt.Errorf("there is no such button")
		}
		e.Kind, e.Token, e.Callback = core.InPress, token, who+" "+placeName(e.Place)
	case text == "(opens)":
		e.Kind = core.InHome
	case strings.HasPrefix(text, "(fills in) "):
		if j.chat.form == nil {
			return fmt.Errorf("no form is shown")
		}
		e.Kind, e.Token, e.Text = core.InForm, j.chat.form.Token, strings.TrimPrefix(text, "(fills in) ")
	case strings.HasPrefix(text, j.chat.caps.Slash):
		e.Kind, e.Text = core.InCommand, strings.TrimPrefix(text, j.chat.caps.Slash)
	default:
		e.Text = strings.ReplaceAll(text, `\n`, "\n")
	}
	switch {
	case how == "again":
		e = j.last
	case strings.HasPrefix(how, "to "):
		e.ReplyTo = j.ids[placeName(e.Place)+" "+strings.TrimPrefix(how, "to ")]
	case strings.HasSuffix(how, " ago"):
		age, err := time.ParseDuration(strings.TrimSuffix(how, " ago"))
		if err != nil {
			return err
		}
		e.At = time.Now().Add(-age)
	case how == "a bot":
		e.Bot = true
	case how != "":
		return fmt.Errorf("nothing is known of (%s)", how)
	}
	j.here, j.last = e.Place, e
	return j.chat.post(e)
}
