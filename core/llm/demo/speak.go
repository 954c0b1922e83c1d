package demo

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"paragents/core/llm"
)

// speaker tells an answer word by word, and remembers it. After the first error, the context's, it does nothing more.
type speaker struct {
	ctx      context.Context
	progress llm.Progress
	text     strings.Builder
	err      error
}

// partsAtMost bounds how many parts a long text is told in.
const partsAtMost = 256

// say tells a paragraph.
func (s *speaker) say(text string) {
	if text == "" {
		return
	}
	if s.text.Len() > 0 {
		text = "\n\n" + text
	}
	part := ""
	for _, word := range strings.SplitAfter(text, " ") {
		if part += word; len(part) > len(text)/partsAtMost {
			s.tell(part)
			part = ""
		}
	}
	s.tell(part)
}

func (s *speaker) tell(part string) {
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err != nil || part == "" {
		return
	}
	s.text.WriteString(part)
	if s.progress.Text != nil {
		s.progress.Text(part)
	}
}

func (s *speaker) wait(d time.Duration) {
	if s.err != nil {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.ctx.Done():
		s.err = s.ctx.Err()
	case <-t.C:
	}
}

// Limits of what the demo does slowly, so that no request runs for ever.
const (
	countEvery = 100 * time.Millisecond
	countMost  = 600
	thinkMost  = 60 // seconds
)

func repeat(text string) func(*speaker) { return func(s *speaker) { s.say(text) } }

func count(n int) func(*speaker) {
	return func(s *speaker) {
		most := min(n, countMost)
		for i := 1; i <= most && s.err == nil; i++ {
			if i == 1 {
				s.say("1")
			} else {
				s.tell(fmt.Sprintf(" %d", i))
			}
			s.wait(countEvery)
		}
		if n > most {
			s.say(fmt.Sprintf("I stop here: the demo model counts to %d at most.", countMost))
		}
	}
}

func think(n int) func(*speaker) {
	return func(s *speaker) {
		most := min(n, thinkMost)
		s.say(fmt.Sprintf("Thinking for %d seconds …", most))
		s.wait(time.Duration(most) * time.Second)
		s.tell(" done.")
		if n > most {
			s.say(fmt.Sprintf("The demo model thinks for %d seconds at most.", thinkMost))
		}
	}
}

// failures are how the results begin of calls that did not run, or whose end is not known.
var failures = []string{"denied by ", "refused: ", "interrupted: ", "outcome unknown: ", "ended before it was finished", "this session is in plan mode",
	"there is no tool ", "the arguments "}

// failed reports whether a result says that the call did not work. Other complaints of tools it does not know: they are shown as they are.
func failed(result string) bool {
	result = strings.TrimSpace(result)
	for _, f := range failures {
		if len(result) >= len(f) && strings.EqualFold(result[:len(f)], f) {
			return true
		}
	}
	return strings.HasPrefix(result, "error: ") && !strings.Contains(result, "\n") // longer: a file that begins so
}

// report tells the results of the calls as they came.
func report(steps []step, got map[int][]string) string {
	var parts []string
	for i, st := range steps {
		for n, c := range st.calls {
			result := ""
			if n < len(got[i]) {
				result = got[i][n]
			}
			switch {
			case failed(result):
				parts = append(parts, c.title+" did not work:\n\n"+fence(result))
			case c.quiet: // the next step tells more
			default:
				parts = append(parts, c.title+":\n\n"+fence(result))
			}
		}
	}
	return strings.Join(parts, "\n\n")
}

// fence shows text as it is, in a block whose marks are longer than any in it.
func fence(text string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return "(nothing)"
	}
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + "\n" + text + "\n" + marks
}

func titles(steps []step) string {
	var out []string
	for _, st := range steps {
		if st.calls == nil {
			out = append(out, "- "+st.title)
		}
		for _, c := range st.calls {
			if !c.quiet {
				out = append(out, "- "+c.title)
			}
		}
	}
	return strings.Join(out, "\n")
}

// introduction says what this is. strange is the part of a request that was not understood.
func introduction(strange string) string {
	text := "I am the built-in demo model: I follow a few plain requests with real tools, and understand nothing else. For example:\n\n" +
		"- `list files`\n" +
		"- `read README.md and then search for TODO`\n" +
		"- `write hello to notes.txt and then run cat notes.txt`\n\n" +
		"To connect a real model, set `llm.base_url` and `llm.model` in the configuration and `OPENAI_API_KEY` in the environment; README.md shows how."
	if strange == "" {
		return text
	}
	return "I did not understand “" + shorten(strange) + "”.\n\n" + text
}

// quoteMost is how much of a foreign text is quoted, in bytes.
const quoteMost = 120

func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= quoteMost {
		return s
	}
	cut := quoteMost
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
