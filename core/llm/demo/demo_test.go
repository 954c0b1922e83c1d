package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"paragents/core/llm"
	"paragents/core/llm/llmtest"
)

// tools are offered in every test that does not say otherwise.
func tools(names ...string) []llm.Tool {
	if names == nil {
		names = []string{"read_file", "list_dir", "glob", "grep", "write_file", "edit_file", "run_command"}
	}
	var out []llm.Tool
	for _, n := range names {
		out = append(out, llm.Tool{Name: n, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return out
}

// drive runs the loop of an agent: results answers each call. It returns the turns of calls, one line each, and the answer.
func drive(t testing.TB, history []llm.Message, offered []llm.Tool, result func(llm.Call) string) (turns []string, answer string, after []llm.Message) {
	t.Helper()
	for range 20 {
		r := llm.Request{Messages: history, Tools: offered}
		if err := llmtest.Check(r); err != nil {
			t.Fatalf("the history is not valid: %v", err)
		}
		var told strings.Builder
		reply, err := New().Complete(t.Context(), r, llm.Progress{Text: func(part string) { told.WriteString(part) }})
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(told.String()) != reply.Text {
			t.Errorf("told %q, replied %q", told.String(), reply.Text)
		}
		history = append(history, llm.Message{Role: llm.Assistant, Content: reply.Text, Calls: reply.Calls})
		if len(reply.Calls) == 0 {
			if reply.Finish != "stop" || reply.Text == "" {
				t.Errorf("reply %+v", reply)
			}
			return turns, reply.Text, history
		}
		var line []string
		for _, c := range reply.Calls {
			if !slices.ContainsFunc(offered, func(t llm.Tool) bool { return t.Name == c.Name }) {
				t.Errorf("%s was not offered", c.Name)
			}
			line = append(line, c.Name+" "+c.Arguments)
			history = append(history, llm.Message{Role: llm.ToolReply, CallID: string(c.ID), Content: result(c)})
		}
		turns = append(turns, strings.Join(line, " & "))
	}
	t.Fatal("no end after 20 turns")
	return nil, "", nil
}

func question(text string) []llm.Message {
	return []llm.Message{{Role: llm.System, Content: "You are an agent."}, {Role: llm.User, Content: text}}
}

func TestRequests(t *testing.T) {
	const (
		list    = `list_dir {"path":"."}`
		listSrc = `list_dir {"path":"src"}`
		readMod = `read_file {"path":"go.mod"}`
		ls      = `run_command {"command":"ls"}`
		hello   = `write_file {"path":"notes.txt","content":"hello"}`
	)
	for text, want := range map[string][]string{
		"list files":                                {list},
		"List the files, please.":                   {list},
		"ls":                                        {list},
		"list":                                      {list},
		"Could you list all files here?":            {list},
		"What files are there?":                     {list},
		"list files in src":                         {listSrc},
		"show me the files in the folder src/.":     {listSrc},
		"ls `src`":                                  {listSrc},
		"what's in src?":                            {listSrc},
		"list files in .":                           {list},
		"list files in this directory":              {list},
		"read go.mod":                               {readMod},
		"Read \"go.mod\"!":                          {readMod},
		"please show me the contents of go.mod.":    {readMod},
		"cat go.mod":                                {readMod},
		"what is in go.mod?":                        {readMod},
		"What does go.mod say?":                     {readMod},
		"read 'my notes.txt'":                       {`read_file {"path":"my notes.txt"}`},
		"read ../secret":                            {`read_file {"path":"../secret"}`},
		"search for TODO":                           {`grep {"pattern":"TODO"}`},
		"grep TODO in src":                          {`grep {"pattern":"TODO","path":"src"}`},
		"find \"salt and pepper\" in src.":          {`grep {"pattern":"salt and pepper","path":"src"}`},
		"search the files for cats and dogs":        {`grep {"pattern":"cats and dogs"}`},
		"grep 'f(x) *' in a.go":                     {`grep {"pattern":"f\\(x\\) \\*","path":"a.go"}`},
		"repeat after me: ' '":                      nil,
		"search src for x":                          {`grep {"pattern":"x","path":"src"}`},
		"find files named *.go":                     {`glob {"pattern":"**/*.go"}`},
		"find all files matching cmd/*.go in tools": {`glob {"pattern":"cmd/*.go","path":"tools"}`},
		"list *.md":                                 {`glob {"pattern":"**/*.md"}`},
		"write hello to notes.txt":                  {hello},
		"Please write 'hello' into the file notes.txt, thanks.":           {hello},
		"create a file called notes.txt with the text \"hello\"":          {hello},
		"write hello, then goodbye to notes.txt":                          {`write_file {"path":"notes.txt","content":"hello, then goodbye"}`},
		"write \"run rm -rf / and then list files\" to notes.txt":         {`write_file {"path":"notes.txt","content":"run rm -rf / and then list files"}`},
		"write \"one\ntwo\" to notes.txt":                                 {`write_file {"path":"notes.txt","content":"one\ntwo"}`},
		"write don't to \"it's.txt\"":                                     {`write_file {"path":"it's.txt","content":"don't"}`},
		"write <a> & b to x.html":                                         {`write_file {"path":"x.html","content":"<a> & b"}`},
		"edit notes.txt: replace hello with good bye":                     {`read_file {"path":"notes.txt"}`, `edit_file {"path":"notes.txt","old":"hello","new":"good bye"}`},
		"replace all `a b` with `c` in notes.txt":                         {`read_file {"path":"notes.txt"}`, `edit_file {"path":"notes.txt","old":"a b","new":"c","all":true}`},
		"change 1 to 2 in notes.txt.":                                     {`read_file {"path":"notes.txt"}`, `edit_file {"path":"notes.txt","old":"1","new":"2"}`},
		"run ls":                                                          {ls},
		"run `ls`, please.":                                               {ls},
		"$ ls":                                                            {ls},
		"Run the command: ls please":                                      {ls},
		"run go test ./...":                                               {`run_command {"command":"go test ./..."}`},
		"run git commit -m \"a and then b\" --date='now'":                 {`run_command {"command":"git commit -m \"a and then b\" --date='now'"}`},
		"$ echo a and then list files; echo please":                       {`run_command {"command":"echo a and then list files; echo please"}`},
		"run 'ls' 'src'":                                                  {`run_command {"command":"'ls' 'src'"}`},
		"list files and then read go.mod":                                 {list, readMod},
		"List files. Then please read go.mod, then run ls":                {list, readMod, ls},
		"list files\nread go.mod\n\n$ ls":                                 {list, readMod, ls},
		"1. list files\n2. read go.mod":                                   {list, readMod},
		"list files and read go.mod":                                      {list, readMod},
		"List files. Read go.mod.":                                        {list, readMod},
		"list files and read go.mod at once":                              {list + " & " + readMod},
		"At the same time: list files, read go.mod and run ls":            {list + " & " + readMod + " & " + ls},
		"read go.mod and go.sum in parallel, then ls":                     {readMod + ` & read_file {"path":"go.sum"}`, list},
		"write hello to notes.txt and then read notes.txt":                {hello, `read_file {"path":"notes.txt"}`},
		"write hello to notes.txt and write x to y at the same time":      {hello + ` & write_file {"path":"y","content":"x"}`},
		"list files and edit notes.txt: replace a with b at once":         {list, `read_file {"path":"notes.txt"}`, `edit_file {"path":"notes.txt","old":"a","new":"b"}`},
		"repeat after me: list files and then read go.mod":                nil,
		"what's here?":                                                    {list},
		"list the contents of src":                                        {listSrc},
		"repeat after me: 'x and then y'":                                 nil,
		"":                                                                nil,
		"tell me a story":                                                 nil,
		"list files and then tell me a story":                             nil,
		"run ls and then do what you think is best":                       nil,
		"please find out who wrote this program and why, in a few words?": nil,
	} {
		t.Run(text, func(t *testing.T) {
			var turns []string
			steps, _ := parse(text)
			for _, s := range steps {
				var line []string
				for _, c := range s.calls {
					line = append(line, c.tool+" "+c.arguments)
				}
				if line != nil {
					turns = append(turns, strings.Join(line, " & "))
				}
			}
			if !slices.Equal(turns, want) {
				t.Errorf("got  %q\nwant %q", turns, want)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	results := map[string]string{
		"list_dir":    "go.mod\nsrc/",
		"read_file":   "module x\n\n```\nfenced\n```\n",
		"write_file":  "wrote 5 bytes",
		"run_command": "hi\nexit status 3",
		"edit_file":   "Denied by a person (not on Fridays)",
		"grep":        "",
	}
	answer := func(c llm.Call) string {
		if r := results[c.Name]; r != "" {
			return r
		}
		return "no match"
	}
	for name, c := range map[string]struct {
		text  string
		turns int
		says  []string
		not   []string
	}{
		"reading":          {"read go.mod", 1, []string{"`go.mod`:", "module x\n\n```\nfenced\n```\n````"}, nil},
		"listing":          {"list files", 1, []string{"Files in `.`:", "go.mod\nsrc/"}, nil},
		"running":          {"run echo hi", 1, []string{"`echo hi`:", "hi\nexit status 3"}, nil},
		"two":              {"list files and then read go.mod", 2, []string{"go.mod\nsrc/", "module x"}, nil},
		"at once":          {"list files and search for x at once", 1, []string{"go.mod\nsrc/", "no match"}, nil},
		"denied":           {"edit a.txt: replace x with y", 2, []string{"Editing `a.txt` did not work", "not on Fridays"}, []string{"module x"}},
		"stops":            {"edit a.txt: replace x with y, then run echo hi and then say bye", 2, []string{"not on Fridays", "I stopped, because Editing `a.txt` did not work", "- `echo hi`", "- repeat it"}, []string{"exit status"}},
		"repeating":        {"repeat after me: Hello, World", 0, []string{"Hello, World"}, []string{"demo"}},
		"talk and work":    {"say first and then list files, then say last", 1, []string{"go.mod\nsrc/", "last"}, []string{"first"}},
		"not understood":   {"run ls and then tell me a story", 0, []string{"I did not understand “tell me a story”", "built-in demo model", "llm.base_url", "llm.model", "OPENAI_API_KEY", "README"}, nil},
		"greeting":         {"Hello!", 0, []string{"built-in demo model", "`list files`"}, []string{"did not understand"}},
		"long and foreign": {strings.Repeat("грустно ", 50), 0, []string{"…”", "built-in demo model"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			turns, text, _ := drive(t, question(c.text), tools(), answer)
			if len(turns) != c.turns {
				t.Errorf("turns %q, want %d", turns, c.turns)
			}
			for _, s := range c.says {
				if !strings.Contains(text, s) {
					t.Errorf("%q is not in the answer:\n%s", s, text)
				}
			}
			for _, s := range c.not {
				if strings.Contains(text, s) {
					t.Errorf("%q is in the answer:\n%s", s, text)
				}
			}
		})
	}
}

func TestOnlyOfferedTools(t *testing.T) {
	ok := func(llm.Call) string { return "fine" }
	turns, text, _ := drive(t, question("list files and then write x to y"), tools("list_dir"), ok)
	if len(turns) != 1 || !strings.Contains(text, "needs the tool `write_file`, which is not offered here") || !strings.Contains(text, "fine") {
		t.Errorf("turns %q, answer:\n%s", turns, text)
	}
	turns, text, _ = drive(t, question("read a and run ls at once"), nil, ok)
	if len(turns) != 0 || !strings.Contains(text, "read_file") {
		t.Errorf("turns %q, answer:\n%s", turns, text)
	}
}

// Each request stands for itself, and older turns may be gone.
func TestManyTurns(t *testing.T) {
	n := 0
	count := func(llm.Call) string { n++; return fmt.Sprintf("result %d", n) }
	_, _, history := drive(t, question("list files"), tools(), count)
	history = append(history, llm.Message{Role: llm.User, Content: "list files"})
	turns, text, history := drive(t, history, tools(), count)
	if len(turns) != 1 || !strings.Contains(text, "result 2") || strings.Contains(text, "result 1") {
		t.Errorf("turns %q, answer:\n%s", turns, text)
	}
	ids := map[string]bool{}
	for _, m := range history {
		for _, c := range m.Calls {
			ids[string(c.ID)] = true
		}
	}
	if len(ids) != n {
		t.Errorf("%d ids for %d calls", len(ids), n)
	}
	// A compacted history, and a call that was interrupted by a crash and repaired.
	text = ""
	first, err := New().Complete(t.Context(), llm.Request{Messages: question("run ls and then run pwd"), Tools: tools()}, llm.Progress{})
	if err != nil {
		t.Fatal(err)
	}
	compacted := []llm.Message{{Role: llm.User, Content: "run ls and then run pwd"}, {Role: llm.Assistant, Calls: first.Calls},
		{Role: llm.ToolReply, CallID: string(first.Calls[0].ID), Content: "outcome unknown: it was started"}}
	turns, text, _ = drive(t, compacted, tools(), count)
	if len(turns) != 0 || !strings.Contains(text, "outcome unknown") || !strings.Contains(text, "- `pwd`") {
		t.Errorf("turns %q, answer:\n%s", turns, text)
	}
}

func TestSlow(t *testing.T) {
	for text, want := range map[string]struct {
		takes time.Duration
		says  string
	}{
		"count to 30":                {3 * time.Second, "28 29 30"},
		"Please count slowly to 3.":  {300 * time.Millisecond, "1 2 3"},
		"count to 100000":            {countMost * countEvery, "counts to 600 at most"},
		"think for 20 seconds":       {20 * time.Second, "Thinking for 20 seconds … done."},
		"think for 1000s":            {time.Minute, "60 seconds at most"},
		"count to 2 then wait 1 sec": {1200 * time.Millisecond, "1 2\n\nThinking"},
	} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, answer, _ := drive(t, question(text), tools(), nil)
				if took := time.Since(began); took != want.takes || !strings.Contains(answer, want.says) {
					t.Errorf("took %v, answer %q", took, answer)
				}
				began = time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), want.takes/2)
				defer cancel()
				if _, err := New().Complete(ctx, llm.Request{Messages: question(text)}, llm.Progress{}); err != context.DeadlineExceeded || time.Since(began) != want.takes/2 {
					t.Errorf("stopped after %v with %v", time.Since(began), err)
				}
			})
		})
	}
}

// Whatever is asked and whatever the tools say, the conversation ends, stays valid and repeats itself.
func TestAnyRequest(t *testing.T) {
	words := []string{"list", "files", "read", "write", "to", "in", "run", "$", "and", "then", ",", ".", "\n", "at once", "replace", "with", "edit", "a.txt:",
		"a.txt", "src/", "'", "\"", "`", "find", "*.go", "search for", "please", "all", "\x00", "\x000\x00", "\xff", "говори", "say", "create", "what's"}
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 12).Draw(rt, "words"), rapid.SampledFrom([]string{" ", "", "  "}).Draw(rt, "space"))
		text = strings.ToValidUTF8(text, "?")
		if strings.TrimSpace(text) == "" {
			return
		}
		result := rapid.SampledFrom([]string{"fine", "", "error: no", "denied by a person. Nothing ran", "Error: line one\nof a file", "```"}).Draw(rt, "result")
		answer := func(llm.Call) string { return result }
		turns, said, _ := drive(t, question(text), tools(), answer)
		again, same, _ := drive(t, question(text), tools(), answer)
		if said != same || !slices.Equal(turns, again) {
			rt.Errorf("%q: %q then %q", text, said, same)
		}
	})
}
