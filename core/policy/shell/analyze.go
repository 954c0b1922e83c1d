// Package shell takes command lines apart: what they run, read, write and fetch, and what about them cannot be known.
// It follows bash, and where the parser and bash part, it says so instead of guessing.
package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"paragents/core/policy/command"
	"paragents/core/policy/files"
	"paragents/core/policy/word"
)

// Analysis is what a command line is made of.
type Analysis struct {
	Parts    []*command.Part
	Reads    []files.Target
	Writes   []files.Target
	Removes  []files.Target // those of Writes that are removed with all below them
	Mentions []files.Target
	URLs     []URL
	Scripts  []string // absolute paths of files that are run by name
	Reasons  []string // why a person must be asked, whatever the rules say
	Tokens   []string // words of text that could not be parsed
	Refused  string   // why the line is denied, whatever the rules say

	steps    int // commands that were looked at
	commands int // of those, programs
	reread   int // bytes that were read in another way than the parser's
	have     map[listed]bool
	plain    map[placed]bool // paths of targets that are no new links
}

// URL is a URL that a command fetches; the end of Text may be missing.
type URL struct {
	Text  string
	Known bool
}

// listed is a target of one of the lists.
type listed struct {
	kind   command.EffectKind
	target files.Target
}

// placed is a path that a command touches.
type placed struct {
	path    string
	command int
}

// newLink is where a command may have made links.
type newLink struct {
	files.Target
	command int
}

// walker collects an analysis.
type walker struct {
	view  *files.View
	table *command.Table
	out   *Analysis

	volatile map[string]bool // variables that functions set: never known
	wild     bool            // functions may set any variable, or change the directory
	roams    bool            // functions change the directory
	changes  map[string]bool // names that the script sets anywhere
	moves    bool            // the script changes the directory anywhere
	links    []newLink       // where links may have been made that the world does not show
	current  int             // number of the command that is looked at
	seen     map[string]bool // texts that were read again
	depth    int             // of scripts within scripts
	posix    bool            // the script is read as sh reads it: no braces, fewer tildes
	said     map[string]bool // reasons
}

// maxScripts bounds scripts within scripts.
const maxScripts = 20

// Analyze takes text apart, as bash would run it in dir.
func Analyze(text, dir string, v *files.View, t *command.Table) *Analysis {
	w := &walker{
		view: v, table: t, out: &Analysis{have: map[listed]bool{}, plain: map[placed]bool{}},
		volatile: map[string]bool{}, changes: map[string]bool{}, seen: map[string]bool{}, said: map[string]bool{},
	}
	switch {
	case strings.ContainsRune(text, 0):
		w.out.Refused = "the command holds a NUL byte"
	case len(text) > maxBytes:
		w.out.Refused = "the command is longer than 64 KiB; write the text to a file with the write tool"
	case strings.TrimSpace(text) == "":
		w.out.Refused = "the command is empty"
	default:
		s := &state{vars: map[string]word.Word{}, dirs: []string{dir}, funcs: map[string]bool{}, exported: map[string]word.Word{}}
		if home := v.Home(); home != "" {
			s.vars["HOME"] = word.Lit(home)
		}
		w.script(s, text, syntax.LangBash)
		w.after()
	}
	return w.out
}

const tooMuch = "the command makes more work to judge than any honest one; write it to a file with the write tool"

// step counts a command and reports whether to look at it. Loops and wrappers multiply what short text makes the judge
// do; a line that goes beyond any honest use is refused, because an unseen part of it might be denied.
func (w *walker) step() bool {
	if w.out.steps++; w.out.steps > maxSteps {
		w.out.Refused = tooMuch
		return false
	}
	return true
}

func (w *walker) doubt(why string) {
	if !w.said[why] {
		w.said[why] = true
		w.out.Reasons = append(w.out.Reasons, why)
	}
}

// script walks a text as the shell would run it from s.
func (w *walker) script(s *state, text string, lang syntax.LangVariant) outcome {
	if w.depth++; w.depth > maxScripts {
		w.out.Refused = tooMuch
		w.depth--
		return same(s)
	}
	was := w.posix
	w.posix = lang == syntax.LangPOSIX
	defer func() { w.depth, w.posix = w.depth-1, was }()
	if tooDeep(text) {
		w.doubt("the command is nested too deep")
		w.unparsed(text)
		return same(s)
	}
	file, err := syntax.NewParser(syntax.KeepComments(true), syntax.Variant(lang)).Parse(strings.NewReader(text), "")
	if err != nil {
		w.doubt("the command does not parse as shell")
		w.unparsed(text)
		file = &syntax.File{Stmts: untilError(text, lang)}
		w.readings(s, text, []string{text}, lang)
	} else {
		if depth(file) > maxDepth {
			w.doubt("the command is nested too deep")
		}
		if why, spans := outside(text, file); why != "" {
			w.doubt(why)
			w.readings(s, text, spans, lang)
		}
	}
	w.prescan(file)
	return w.stmts(s, file.Stmts)
}

// untilError returns the statements in front of the first mistake: the shell may run them.
func untilError(text string, lang syntax.LangVariant) []*syntax.Stmt {
	var out []*syntax.Stmt
	parser := syntax.NewParser(syntax.Variant(lang))
	// the loop must not be left early: the parser does not expect it after an error
	for stmt, err := range parser.StmtsSeq(strings.NewReader(text)) {
		if err == nil {
			out = append(out, stmt)
		}
	}
	return out
}

// unparsed notes the words of text that cannot be parsed, and what looks like commands in it, for deny rules.
func (w *walker) unparsed(text string) {
	w.out.Tokens = append(w.out.Tokens, tokens(text)...)
	for _, fields := range segments(text) {
		w.out.Parts = append(w.out.Parts, w.table.Look(word.Lits(fields...), nowhere{}).Part)
	}
}

// nowhere is a place that nothing is known about.
type nowhere struct{}

func (nowhere) IsDir(word.Word) bool  { return false }
func (nowhere) IsFile(word.Word) bool { return false }
func (nowhere) IsLink(word.Word) bool { return false }
func (nowhere) Certain() bool         { return false }
func (nowhere) Inside(word.Word) bool { return false }

// readings walks the other ways in which a script outside the subset may be read, and what may be commands in spans of it. Each can only add to what is found.
func (w *walker) readings(s *state, text string, spans []string, lang syntax.LangVariant) {
	again := func(text string) {
		if w.out.reread += len(text); w.out.reread > maxReread {
			w.out.Refused = tooMuch
			return
		}
		if w.seen[text] {
			return
		}
		w.seen[text] = true
		w.script(s.clone(), text, lang)
	}
	w.seen[text] = true
	if joined := strings.ReplaceAll(text, "\\\n", ""); joined != text {
		again(joined)
	}
	if bare := uncommented(text); bare != text {
		again(bare)
	}
	if lines := strings.ReplaceAll(text, "\r", "\n"); lines != text {
		again(lines)
	}
	for _, span := range spans {
		for _, inner := range insides(span) {
			again(inner)
		}
	}
}

// uncommented returns text without what looks like a comment.
func uncommented(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		for at := range len(l) {
			if l[at] == '#' && (at == 0 || strings.IndexByte(" \t;&|()", l[at-1]) >= 0) {
				lines[i] = l[:at]
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}

// insides returns the texts that may be commands within other text: what follows $( and the like up to the bracket
// that closes it, and everything between backquotes. Quotes may hide the closing bracket, so where there are any the
// rest of the text is returned as well.
func insides(text string) []string {
	var out []string
	var open []int
	for i := range len(text) {
		switch text[i] {
		case '`':
			if end := strings.IndexByte(text[i+1:], '`'); end > 0 {
				out = append(out, text[i+1:i+1+end])
			}
		case '(':
			open = append(open, i)
		case ')':
			if n := len(open); n > 0 {
				out = appendInside(out, text, open[n-1], i)
				open = open[:n-1]
			}
		}
	}
	for _, at := range open {
		out = appendInside(out, text, at, len(text))
	}
	return out
}

func appendInside(out []string, text string, open, end int) []string {
	if open == 0 || strings.IndexByte("$<>!?*+@", text[open-1]) < 0 {
		return out
	}
	inside := text[open+1 : end]
	out = append(out, inside)
	if strings.ContainsAny(inside, `'"\\#`) && end < len(text) {
		out = append(out, text[open+1:])
	}
	return out
}
