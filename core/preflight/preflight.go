// Package preflight says before a prompt runs what it will write, and which prompts would write the same.
//
// Infer reads the prompt: the shell commands in it, and phrases in English and Chinese that name a file. A Claim is what a prompt reserves,
// an Index finds the overlaps with the claims of others. Everything here is a pure function of its arguments and does no I/O.
package preflight

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Guess is what a prompt will probably do. Its JSON is what `paragents preflight --json` prints.
type Guess struct {
	Capabilities []string `json:"capabilities"` // filesystem git github python shell web; sorted
	Actions      []string `json:"actions"`      // write_file, append, run_command, commit …; sorted
	// Writes are paths and globs relative to the workspace, sorted: all that were found, however unsure.
	Writes []string `json:"writes"`
	// Claims are what the prompt reserves before it runs, sorted: git's own things, and those of Writes that are sure enough (Blocks).
	Claims     []Claim  `json:"claims"`
	Confidence float64  `json:"confidence"` // of the surest finding, 0 to 1
	Notes      []string `json:"notes"`      // for people, in the order of the text
}

// Blocks is the confidence from which on a finding is claimed; what is less sure is only shown.
const Blocks = 0.8

// Confidence of findings.
const (
	certain = 0.9 // a command
	clear   = 0.8 // a request that names a path
	weak    = 0.5 // a description, a question, or something that may not be a path
	nothing = 0.3
)

// Bounds on what is looked at.
const (
	maxText     = 32 << 10 // bytes of a prompt
	maxLine     = 2 << 10  // bytes of a line
	maxCommands = 32
	maxCommand  = 4 << 10 // bytes of a command
	maxFindings = 500
)

// World is what Infer has to know. Only Root and Analyse must be set.
type World struct {
	Root   string // absolute path of the workspace
	Home   string // absolute path of the home directory, for ~/
	Remote string // where git pushes to unless told otherwise; default origin
	Branch string // the current branch; without it a push without a branch claims all branches of the remote
	// Analyse returns what a shell command writes, as absolute or relative paths: P, P/** with all below, a glob, or ? for one that is not
	// known. ok is false when there may be more than that.
	Analyse func(command string) (writes []string, ok bool)
}

// Infer guesses from its text what a prompt will write. It never fails: what it cannot tell it leaves out or notes.
func Infer(text string, w World) Guess {
	f := newFinder(w)
	if len(text) > maxText {
		f.note("only the first %d KiB of the text were looked at", maxText>>10)
		text = text[:maxText]
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD")
	commands, prose := extract(text)
	if len(commands) >= maxCommands {
		f.note("only the first %d commands were looked at", maxCommands)
	}
	for _, c := range commands[:min(len(commands), maxCommands)] {
		f.command(c.text, c.confidence)
	}
	for line := range strings.SplitSeq(prose, "\n") {
		f.phrases(line)
		toks := join(tokenize(line))
		f.english(toks)
		f.chinese(toks)
	}
	return f.guess()
}

// Command says what one shell command does.
func Command(command string, w World) Guess {
	f := newFinder(w)
	f.command(command, certain)
	return f.guess()
}

// With adds paths that somebody else expects to be written, by a confidence that is at most that of a command.
func (g Guess) With(writes []string, confidence float64, w World) Guess {
	f := newFinder(w)
	f.best = g.Confidence
	for _, p := range writes {
		if p != "" && !strings.ContainsRune(p, 0) {
			f.write(p, min(confidence, certain))
		}
	}
	more := f.guess()
	return Guess{
		Capabilities: union(g.Capabilities, more.Capabilities), Actions: g.Actions, Writes: union(g.Writes, more.Writes),
		Claims: union(g.Claims, more.Claims), Confidence: more.Confidence, Notes: append(slices.Clone(g.Notes), more.Notes...),
	}
}

// union is sorted.
func union[T cmp.Ordered](a, b []T) []T {
	out := append(append(make([]T, 0, len(a)+len(b)), a...), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

// finder collects a guess.
type finder struct {
	w          World
	caps, acts map[string]bool
	writes     map[string]bool
	claims     map[Claim]bool
	notes      []string
	best       float64
}

func newFinder(w World) *finder {
	w.Remote = cmp.Or(w.Remote, "origin")
	return &finder{w: w, caps: map[string]bool{}, acts: map[string]bool{}, writes: map[string]bool{}, claims: map[Claim]bool{}, best: nothing}
}

func (f *finder) guess() Guess {
	return Guess{
		Capabilities: sorted(f.caps), Actions: sorted(f.acts), Writes: sorted(f.writes), Claims: sorted(f.claims),
		Confidence: f.best, Notes: append([]string{}, f.notes...),
	}
}

// sorted is never nil: in JSON it is a list.
func sorted[T cmp.Ordered](set map[T]bool) []T {
	out := slices.AppendSeq(make([]T, 0, len(set)), maps.Keys(set))
	slices.Sort(out)
	return out
}

func (f *finder) can(capability string) { f.caps[capability] = true }

func (f *finder) does(action string, confidence float64) {
	f.acts[action] = true
	f.best = max(f.best, confidence)
}

func (f *finder) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(f.notes) < maxFindings && !slices.Contains(f.notes, text) {
		f.notes = append(f.notes, text)
	}
}

func (f *finder) claim(c Claim, confidence float64) {
	f.best = max(f.best, confidence)
	if confidence >= Blocks {
		f.claims[c] = true
	}
}

// write notes a path as it is written somewhere.
func (f *finder) write(p string, confidence float64) {
	if rest, ok := strings.CutPrefix(p, "~/"); ok && f.w.Home != "" {
		p = path.Join(f.w.Home, rest)
	}
	if strings.HasPrefix(p, "~") {
		f.note("outside the workspace, not claimed: %s", p)
		return
	}
	if strings.HasSuffix(p, "/") {
		p += "**"
	}
	c, err := Clean(f.w.Root, p)
	switch {
	case errors.Is(err, ErrOutside):
		f.note("outside the workspace, not claimed: %s", p)
		return
	case err != nil || c.git():
		return
	case len(f.writes) >= maxFindings:
		f.note("only the first %d paths were taken", maxFindings)
		return
	}
	f.can("filesystem")
	f.claim(c, confidence)
	f.writes[strings.TrimSuffix(string(c), "/**")] = true
}

// short cuts text for a note.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= 60 {
		return text
	}
	return string([]rune(text)[:59]) + "…"
}
