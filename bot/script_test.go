package bot_test

import (
	"fmt"
	"os"
	"strings"
)

// A script is read line by line:
//
//	# a remark                         for the reader
//	given …                            what holds from the beginning; see (*world).given
//	rob: list files                    a person writes to the bot, alone with it
//	rob@#ops: @bot list files          … in a channel; without @bot it is not addressed to it
//	rob@#ops/1: yes                    … in the thread that began with the channel's first message
//	rob (20m ago): list files          … that comes late. Also: (again) the same event comes once more, (to 3) answering the bot's third message there
//	rob: [Approve once]                a person presses a button: the newest with that label; [Deny] on A1 narrows it, (late) takes one that is gone
//	rob: (fills in) because …          … and fills in the form that this shows; see also: forms come too late
//	rob@home: (opens)                  … opens the page that is theirs alone; rob@home: [Stop] presses a button there
//	wait 10m                           time passes, whatever goes on; after any other line the script waits until nothing does, but for a held model
//	crash                              all processes die without a word; a new one starts
//	model holds, model goes on         the model does not answer until then
//	model is away: …, model is back    the model fails for that reason
//	model was given at most 5000 characters
//	fridge.txt holds milk              what must be true now. Also: fridge.txt is missing
//	bot: …                             what people see of it, with its further lines indented; the buttons of a message stand last
//	bot!: …                            the same with a notification
//	bot edits 3: …                     the third message there has become this. Also: reacts, tells rob (a private note), whispers to rob
//
// A place stands behind a bot or a person as @place where it is not that of the last line. S1, P1, A1 and C1 are the refs of the first session, prompt and approval
// and the first pairing code.
type step struct {
	line   int
	prose  []string // blank lines and remarks before it
	text   string
	expect []string
}

// read takes a script apart. tail are the remarks behind the last step.
func read(path string) (steps []step, tail []string, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n") {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			tail = append(tail, line)
		case strings.HasPrefix(line, "bot") || strings.HasPrefix(line, " "):
			if len(steps) == 0 || len(tail) > 0 && strings.TrimSpace(strings.Join(tail, "")) != "" {
				return nil, nil, fmt.Errorf("%s:%d: a line of the bot without anything before it", path, i+1)
			}
			tail = nil
			s := &steps[len(steps)-1]
			s.expect = append(s.expect, line)
		default:
			steps = append(steps, step{line: i + 1, prose: tail, text: line})
			tail = nil
		}
	}
	return steps, tail, nil
}

// write puts a script together again with what was heard.
func write(path string, steps []step, tail []string) error {
	var b strings.Builder
	for _, s := range steps {
		for _, line := range append(append(s.prose, s.text), s.expect...) {
			b.WriteString(line + "\n")
		}
	}
	for _, line := range tail {
		b.WriteString(line + "\n")
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// format writes what was heard as the script has it.
func (h heard) format(here string) []string {
	head := "bot"
	if p := placeName(h.place); p != here {
		head += "@" + p
	}
	head += h.what
	if h.loud {
		head += "!"
	}
	out := []string{head + ":"}
	for i, line := range h.lines {
		if i == 0 {
			out[0] += " " + line
			continue
		}
		out = append(out, "    "+line)
	}
	return out
}
