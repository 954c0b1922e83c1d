package command

import (
	"path"
	"slices"
	"strings"

	"paragents/core/policy/files"
	"paragents/core/policy/word"
)

// Env is a variable that a call sets for a command.
type Env struct {
	Name  string
	Value word.Word
}

// Part is one command of a call in canonical form.
type Part struct {
	Words  []word.Word // the name first; global options are taken out
	Path   string      // absolute path of the program if it was called by path
	Env    []Env
	Risks  []int    // indexes of words that an allow rule must name
	Opaque string   // why no allow rule covers the part; empty if one may
	Free   bool     // needs no allow rule; deny and ask rules hold
	Files  []string // clean paths of the files that it runs by name, in every form
	args   *args
}

// risky reports whether word j after the name carries a risk.
func (p *Part) risky(j int) bool {
	return slices.Contains(p.Risks, j)
}

// String returns the part as a person can read it.
func (p *Part) String() string {
	var b strings.Builder
	for _, e := range p.Env {
		b.WriteString(e.Name + "=" + e.Value.String() + " ")
	}
	b.WriteString(word.Join(p.Words))
	return b.String()
}

// Exact returns the part as a pattern that covers it and nothing else; false if it may not be offered.
func (p *Part) Exact() (string, bool) {
	if p.Opaque != "" || len(p.Risks) > 0 {
		return "", false
	}
	for _, e := range p.Env {
		if !Harmless(e.Name) {
			return "", false
		}
	}
	var out []string
	for _, w := range p.Words {
		if w.Kind != word.Known || strings.ContainsFunc(w.Text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", false
		}
		out = append(out, word.Quote(w.Text))
	}
	exact := strings.Join(out, " ")
	if p.Path != "" || assignment(p.Words[0].Text) || strings.HasSuffix(exact, ":*") {
		return "", false
	}
	return exact, true
}

// Prefix returns the program, with its sub-command, if a rule for all its arguments may be offered.
func (t *Table) Prefix(p *Part) string {
	r := p.args.row
	if !r.flags["prefix"] || p.args.hidden {
		return ""
	}
	words := 1
	if strings.Contains(r.name, " ") {
		words = 2
	}
	return word.Join(p.Words[:words])
}

// Effect is something that a command reads, writes or fetches.
type Effect struct {
	Kind    EffectKind
	Word    word.Word
	Extent  files.Extent // of a known word; a glob becomes Matching or Trees
	Links   bool         // what is written may be links
	Removes bool         // the files are removed with all below them
	Odd     bool         // a URL that the program expands itself
}

// EffectKind is what is done.
type EffectKind int

// Kinds of effects. A mention is a word that looks like a path and belongs to a program that the table does not hold.
const (
	Reads EffectKind = iota
	Writes
	Fetches
	Mentions
)

// Inner is a command or a script that another command runs.
type Inner struct {
	Words  []word.Word // a command; or else
	Script word.Word   // text for a shell
	Bash   bool        // the shell is bash; otherwise the text is read in both dialects
	Dir    word.Word   // the directory that it runs in, if not empty
	Env    []Env
}

// Look is what the table says about one command.
type Look struct {
	Part    *Part
	Effects []Effect
	Inner   []Inner
	Script  word.Word // a file that the command runs by name, if not empty
	Reads   bool      // runs what it reads from its standard input
	Shell   bool      // and that is a shell script
	Bash    bool      // for bash
}

func (l *Look) opaque(why string) {
	if l.Part.Opaque == "" {
		l.Part.Opaque = why
	}
}

func (l *Look) risk(i int) {
	if !slices.Contains(l.Part.Risks, i) {
		l.Part.Risks = append(l.Part.Risks, i)
	}
}

func (l *Look) effect(kind EffectKind, w word.Word, e files.Extent) {
	l.Effects = append(l.Effects, Effect{Kind: kind, Word: w, Extent: e})
}

// canonical is a command without its global options.
type canonical struct {
	args *args
	dir  word.Word // from options such as git -C
	odd  string    // why global options carry a risk that no word names
}

// canon brings a command into canonical form. isDir tells whether a word leads to a directory inside the workspace.
func (t *Table) canon(words []word.Word, inside func(word.Word) bool) canonical {
	name := strings.ToLower(path.Base(word.Fold(words[0].Text)))
	r := t.find(name, "")
	if name == "cargo" && len(words) > 1 && strings.HasPrefix(words[1].Text, "+") {
		words = append([]word.Word{words[0]}, words[2:]...)
	}
	c := canonical{}
	if !r.flags["subs"] {
		c.args = r.parse(words, 0)
		return c
	}
	// global options end at the first operand
	lone := *r
	lone.flags = map[string]bool{"stop": true, "single": r.flags["single"]}
	g := lone.parse(words, 0)
	at := len(words)
	for _, i := range g.operands {
		if g.class[i] == isOperand || g.class[i] == isHidden {
			at = i
			break
		}
	}
	for _, i := range g.operands {
		if i < at && g.class[i] == isEither {
			c.odd = "an unknown option stands before the sub-command"
		}
	}
	for _, u := range g.uses {
		if u.at >= at {
			break
		}
		switch {
		case u.option == nil && c.odd == "":
			c.odd = "the option " + u.name + " before the sub-command is not known"
		case u.option == nil:
		case u.value.Kind == word.Known && u.option.value == 'd' && u.has:
			c.dir = Under(c.dir, u.value)
			if !inside(c.dir) {
				c.odd = "it works in another directory"
			}
		case u.option.value == 'd':
			c.odd = "the directory it works in is not known"
		case u.risk:
			c.odd = "the option " + u.name + " can run code or change the target"
		}
	}
	if at == len(words) {
		c.args = r.parse(words, 0)
		return c
	}
	first := at
	for _, i := range g.operands {
		if i < at && g.class[i] == isEither {
			first = i
			break
		}
	}
	rest := append([]word.Word{words[0]}, words[first:]...)
	sub := ""
	if words[at].Kind == word.Known {
		sub = words[at].Text
	}
	c.args = t.find(name, sub).parse(rest, 1+at-first)
	for i := first; i < at; i++ {
		c.args.class[1+i-first] = isEither
	}
	for _, u := range g.uses {
		if u.at < at {
			c.args.globals = append(c.args.globals, u)
		}
	}
	return c
}

// Under returns w as seen from dir: w itself if it is absolute or dir is empty.
func Under(dir, w word.Word) word.Word {
	if dir.Text == "" && dir.Kind == word.Known || strings.HasPrefix(w.Text, "/") {
		return w
	}
	if dir.Kind != word.Known {
		return word.Word{Kind: word.Open}
	}
	w.Text = strings.TrimSuffix(dir.Text, "/") + "/" + w.Text
	return w
}

// harmless are variables that change nothing but language, colours and the like.
var harmless = map[string]bool{
	"LANG": true, "LANGUAGE": true, "TZ": true, "NO_COLOR": true, "FORCE_COLOR": true, "CLICOLOR": true, "TERM": true,
	"CI": true, "GOOS": true, "GOARCH": true, "CGO_ENABLED": true, "NODE_ENV": true, "RUST_BACKTRACE": true,
	"COLUMNS": true, "LINES": true, "DEBIAN_FRONTEND": true, "PYTHONUNBUFFERED": true, "PYTHONDONTWRITEBYTECODE": true,
	"GOMAXPROCS": true, "GOGC": true, "SOURCE_DATE_EPOCH": true,
}

// Harmless reports whether any call may set the variable.
func Harmless(name string) bool { return harmless[name] || strings.HasPrefix(name, "LC_") }
