package killtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"paragents/adapters/telegram/telegramtest"
	"paragents/core/llm"
	"paragents/core/llm/llmtest"
	"paragents/store"
	"paragents/store/local"
	"paragents/store/redis"
	"paragents/store/redis/redistest"
)

// lease is the shortest that the configuration takes.
const lease = 6 * time.Second

// world is everything around the program.
type world struct {
	t        *testing.T
	seed     uint64
	platform *telegramtest.Server
	model    *llmtest.Server
	open     func(ctx context.Context) (store.Store, error) // the store, when nobody works on it any more
	dir      string                                         // holds config, workspace and effects
	people   []*person
	replicas []*replica
	faults   []fault
}

// storage is where the state of a world is.
type storage struct {
	url         string
	minReplicas int
	open        func(ctx context.Context) (store.Store, error)
}

func onFile(_ *testing.T, dir string) storage {
	path := filepath.Join(dir, "state", "state.db")
	return storage{url: "file:" + path, open: func(ctx context.Context) (store.Store, error) { return local.Open(ctx, local.Config{Path: path}) }}
}

func onRedis(t *testing.T, _ string) storage { return inRedis(redistest.Start(t).URL()) }

func inRedis(url string) storage {
	return storage{url: url, open: func(ctx context.Context) (store.Store, error) { return redis.Open(ctx, redis.Config{URL: url}) }}
}

// scripts are the commands with side effects. One line in the file effects is one effect; ticks/TOKEN grows by a line every 100 ms.
var scripts = map[string]string{
	"append.sh": `printf '%s\n' "$1$2" >> effects`,
	"ask.sh":    `printf '%s\n' "$1$2" >> effects`,
	"slow.sh":   `printf '%s\n' "$1$2" >> effects; sleep 0.4; printf '%s\n' "$1$2 end" >> effects`,
	"tick.sh":   `trap "" TERM; i=0; while [ $i -lt 100 ]; do printf '%s\n' $i >> "ticks$1"; sleep 0.1; i=$((i+1)); done`,
}

func newWorld(t *testing.T, people, inFlight int, place func(*testing.T, string) storage) *world {
	w := &world{t: t, seed: uint64(number(t, "PARAGENTS_SEED", int(time.Now().UnixNano()&0xffffff))), dir: t.TempDir()}
	t.Logf("PARAGENTS_SEED=%d", w.seed)
	w.platform = telegramtest.New(t)
	pace := rand.New(rand.NewPCG(w.seed, 1))
	w.model = llmtest.NewServer(t).Answer(func(_ int, r llmtest.Seen) llmtest.Step { return reply(r.Messages, pace) })
	where := place(t, w.dir)
	w.open = where.open
	work := filepath.Join(w.dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, body := range scripts {
		if err := os.WriteFile(filepath.Join(work, name), []byte("#!/bin/sh\ncd "+w.dir+"\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var operators []string
	for i := range people {
		u := telegramtest.User{ID: int64(201 + i), FirstName: fmt.Sprint("P", i)}
		operators = append(operators, fmt.Sprintf("%q", fmt.Sprint("telegram:", u.ID)))
		w.people = append(w.people, newPerson(w, i, u))
	}
	conf := fmt.Sprintf(`llm: {base_url: %q, api_key: none, model: fake}
store: {url: %q, min_replicas: %d}
workspaces: [{name: default, path: %q, rules: {allow: ["Bash(./append.sh:*)", "Bash(./slow.sh:*)", "Bash(./tick.sh:*)"]}}]
telegram: {bot_token: %q, api_url: %q}
access: {operators: [%s]}
limits: {max_in_flight: %d, max_commands: 16}
lease: %s
shutdown_grace: 5s
listen: ""
`, w.model.URL, where.url, where.minReplicas, work, telegramtest.Token, w.platform.URL(), strings.Join(operators, ", "), inFlight, lease)
	if err := os.WriteFile(filepath.Join(w.dir, "paragents.yaml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// size is how many bytes a file of the commands has.
func (w *world) size(name string) int {
	info, err := os.Stat(filepath.Join(w.dir, name))
	if err != nil {
		return 0
	}
	return int(info.Size())
}

// Kinds of prompts: the commands of each turn of the model before it answers.
var kinds = map[string][][]string{
	"plain":  {},
	"think":  {}, // its answer takes seconds
	"one":    {{"append a"}},
	"two":    {{"append a", "append b"}},
	"rounds": {{"append a"}, {"slow b"}, {"append c"}},
	"slow":   {{"slow a"}},
	"ask":    {{"ask a"}},
	"askall": {{"ask a", "ask b"}, {"append c"}},
	"deny":   {{"ask a"}, {"append b"}},
	"tick":   {{"tick a"}},
}

// busy are those that people ask for at random.
var busy = []string{"plain", "one", "two", "rounds", "slow", "ask", "askall", "deny"}

var prompt = regexp.MustCompile(`^job (\d+-\d+) (\w+)$`)

// reply is the model: what it does next follows from the conversation alone.
func reply(messages []llm.Message, pace *rand.Rand) llmtest.Step {
	var token, kind string
	turn, results := 0, []string{}
	for _, m := range messages {
		switch m.Role {
		case llm.User:
			if found := prompt.FindStringSubmatch(m.Content); found != nil {
				token, kind, turn, results = found[1], found[2], 0, nil
			}
		case llm.Assistant:
			turn++
		case llm.ToolReply:
			results = append(results, outcome(m.Content))
		}
	}
	step := llmtest.Step{Pause: time.Duration(pace.IntN(15)) * time.Millisecond}
	if kind == "think" {
		step.Pause = 700 * time.Millisecond
	}
	if turns := kinds[kind]; turn < len(turns) {
		for _, c := range turns[turn] {
			script, letter, _ := strings.Cut(c, " ")
			step.Calls = append(step.Calls, llmtest.NewCall(callID(token, letter), "run_command", map[string]string{"command": "./" + script + ".sh " + token + " " + letter}))
		}
		return step
	}
	step.Text = []string{"answer ", token + ": ", strings.Join(results, " "), "."}
	return step
}

func outcome(result string) string {
	for _, word := range []string{"outcome unknown", "denied by a person", "exit status 0", "refused"} {
		if strings.Contains(result, word) {
			return word
		}
	}
	return "other (" + result + ")"
}
