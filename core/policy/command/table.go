// Package command is what the judge knows about programs: which options take values, which run code, what a call reads
// and writes, and what it runs on behalf of another.
package command

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"paragents/core/policy/word"
)

//go:embed table.txt
var text string

// Table is the table of tools. It is never changed after it was read.
type Table struct {
	rows map[string]*row // by name, or name and sub-command
}

// load reads the embedded table once.
var load = sync.OnceValues(func() (*Table, error) { return parseTable(text) })

// Load returns the table. The error says which line of it is wrong.
func Load() (*Table, error) { return load() }

// row is what is known about one tool or sub-command.
type row struct {
	name     string
	known    bool // stands in the table
	flags    map[string]bool
	operands string
	options  map[string]*option
	longs    []string // all spellings with two dashes, for abbreviations
}

// option is one option of a tool.
type option struct {
	name  string // first spelling, by which rules compare
	value byte   // what the value is, 0 if it takes none: see table.txt
	glued bool   // the value stands only within the word
	risk  bool
	tree  bool
	link  bool // operands are taken through links
	first bool // takes the place of the first operand
}

// unknown is the row of programs that the table does not hold.
var unknown = &row{flags: map[string]bool{}, operands: "m", options: map[string]*option{}}

func parseTable(text string) (*Table, error) {
	t := &Table{rows: map[string]*row{}}
	for n, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "# ") || line == "#" {
			continue
		}
		fields := strings.SplitN(line, "|", 3)
		if len(fields) != 3 {
			return nil, fmt.Errorf("read table of tools: line %d: want three fields", n+1)
		}
		head, flags, _ := strings.Cut(fields[0], ":")
		r := &row{known: true, flags: map[string]bool{}, options: map[string]*option{}}
		for _, f := range strings.Fields(flags) {
			r.flags[f] = true
		}
		if r.operands = strings.TrimSpace(fields[1]); r.operands == "" {
			r.operands = "m"
		}
		for _, f := range strings.Fields(fields[2]) {
			if err := r.addOption(f); err != nil {
				return nil, fmt.Errorf("read table of tools: line %d: %w", n+1, err)
			}
		}
		names, subs, _ := strings.Cut(strings.TrimSpace(head), " ")
		for _, name := range strings.Split(names, ",") {
			for _, sub := range strings.Split(strings.TrimSpace(subs), ",") {
				key, one := strings.TrimSpace(name+" "+sub), *r
				if t.rows[key] != nil {
					return nil, fmt.Errorf("read table of tools: line %d: %s stands twice", n+1, key)
				}
				one.name = key
				t.rows[key] = &one
			}
		}
	}
	return t, nil
}

func (r *row) addOption(text string) error {
	end := strings.IndexAny(text, "=:!%^>")
	if end < 0 {
		end = len(text)
	}
	names, rest := strings.Split(text[:end], ","), text[end:]
	o := &option{name: names[0]}
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		o.glued, o.value = rest[0] == ':', '.'
		rest = rest[1:]
		if rest != "" && strings.IndexByte("rwRWum.dxc", rest[0]) >= 0 {
			o.value, rest = rest[0], rest[1:]
		}
	}
	for _, c := range rest {
		switch c {
		case '!':
			o.risk = true
		case '%':
			o.tree = true
		case '^':
			o.first = true
		case '>':
			o.tree, o.link = true, true
		default:
			return fmt.Errorf("option %s: unknown mark %q", text, c)
		}
	}
	for _, n := range names {
		if !strings.HasPrefix(n, "-") || r.options[n] != nil {
			return fmt.Errorf("option %s: bad or repeated spelling %q", text, n)
		}
		r.options[n] = o
		if strings.HasPrefix(n, "--") {
			r.longs = append(r.longs, n)
		}
	}
	return nil
}

// find returns the row of a program and sub-command; sub may be empty.
func (t *Table) find(name, sub string) *row {
	if t == nil || strings.Contains(name, " ") {
		return unknown
	}
	if r := t.rows[name+" "+sub]; r != nil && sub != "" {
		return r
	}
	if r := t.rows[name]; r != nil {
		return r
	}
	// python3.12, gcc-13 and the like
	if short := strings.TrimRight(name, "0123456789.-"); short != name && short != "" {
		if r := t.rows[short]; r != nil && (r.flags["code"] || r.flags["shell"]) {
			return r
		}
	}
	return unknown
}

// lookup returns the options that a spelling without its value can mean: none if it is unknown, several if it is an
// abbreviation of several.
func (r *row) lookup(name string) []*option {
	if r.flags["single"] && strings.HasPrefix(name, "--") && r.options[name] == nil {
		name = name[1:]
	}
	if r.name == "go test" {
		// the flags of the test program are those of go test under longer names
		name = strings.Replace(name, "-test.", "-", 1)
	}
	if o := r.options[name]; o != nil {
		return []*option{o}
	}
	var out []*option
	if strings.HasPrefix(name, "--") && len(name) > 2 {
		for _, long := range r.longs {
			if strings.HasPrefix(long, name) {
				out = append(out, r.options[long])
			}
		}
	}
	return out
}

// class is the part that a word of a command plays.
type class byte

const (
	isName    class = iota
	isOption        // begins with a dash, before --
	isValue         // the value of the option before it
	isOperand       // anything else
	isEither        // an operand, or the value of the unknown option before it
	isHidden        // not known; may be an option, or several words
)

// use is one option as it occurs in a call.
type use struct {
	*option           // nil if the table does not hold it
	name    string    // as compared by rules: first spelling if known
	at      int       // index of its word
	value   word.Word // valid if has
	has     bool
	valueAt int // index of the word that holds the value
}

// args is a command taken apart by its row.
type args struct {
	row      *row
	words    []word.Word
	class    []class
	uses     []use
	globals  []use // options in front of the sub-command, which words no longer holds
	operands []int
	hidden   bool // a word may be an option that is not known
}

// parse takes the words of a command apart. words[0] is the name; skip words after it are operands as they stand (a
// sub-command).
func (r *row) parse(words []word.Word, skip int) *args {
	a := &args{row: r, words: words, class: make([]class, len(words))}
	ended, lone := false, r.flags["stop"]
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case i <= skip:
			a.operand(i, isOperand)
		case ended:
			a.operand(i, isOperand)
		case w.Is("--"):
			ended = true
			a.class[i] = isOption
		case w.Option():
			a.class[i] = isOption
			a.hidden = a.hidden || w.Kind == word.Many
			i = a.option(i)
		case w.MayBeOption():
			a.hidden = true
			a.operand(i, isHidden)
		default:
			c := isOperand
			if a.class[i-1] == isOption && a.dangling(i-1) {
				c = isEither
			}
			a.operand(i, c)
			ended = ended || lone && c == isOperand
		}
	}
	return a
}

func (a *args) operand(i int, c class) {
	if a.row.name == "git push" && strings.HasPrefix(a.words[i].Text, "+") {
		// +branch forces as --force does
		a.uses = append(a.uses, use{option: a.row.options["--force"], name: a.row.options["--force"].name, at: i})
	}
	a.class[i] = c
	a.operands = append(a.operands, i)
}

// dangling reports whether the word before an operand is an unknown option that may take it as a value.
func (a *args) dangling(i int) bool {
	for _, u := range a.uses {
		if u.at == i {
			return u.option == nil && !u.has && !strings.Contains(a.words[i].Text, "=")
		}
	}
	return false
}

// option reads the option at i and returns the index of the last word that belongs to it.
func (a *args) option(i int) int {
	w := a.words[i]
	single := a.row.flags["single"]
	if strings.HasPrefix(w.Text, "--") || single || len(w.Text) > 2 && a.row.options[w.Text] != nil {
		return a.long(i)
	}
	for at := 1; at < len(w.Text); at++ {
		name := "-" + w.Text[at:at+1]
		rest := word.Word{Kind: w.Kind, Text: w.Text[at+1:]}
		found := a.row.lookup(name)
		u := use{name: name, at: i}
		if len(found) > 0 {
			u.option, u.name = found[0], found[0].name
			if o := found[0]; o.value != 0 {
				if rest.Text != "" || w.Kind != word.Known || o.glued {
					u.value, u.has, u.valueAt = rest, rest.Text != "" || w.Kind != word.Known, i
				} else if i+1 < len(a.words) {
					i++
					a.class[i] = isValue
					u.value, u.has, u.valueAt = a.words[i], true, i
					a.hidden = a.hidden || a.words[i].Kind == word.Many
				}
				a.uses = append(a.uses, u)
				return i
			}
		}
		a.uses = append(a.uses, u)
	}
	if w.Kind != word.Known {
		a.hidden = true
	}
	return i
}

func (a *args) long(i int) int {
	w := a.words[i]
	name, value, has := strings.Cut(w.Text, "=")
	u := use{name: name, at: i, has: has, valueAt: i, value: word.Word{Kind: w.Kind, Text: value}}
	if w.Kind != word.Known && !has {
		a.hidden = true
	}
	found := a.row.lookup(name)
	if a.row.flags["single"] && len(found) == 0 {
		u.name = "-" + strings.TrimLeft(name, "-")
	}
	last := i
	for n, o := range found {
		one := u
		one.option, one.name = o, o.name
		if o.value != 0 && !o.glued && !has && n == 0 && i+1 < len(a.words) {
			last = i + 1
			a.class[last] = isValue
			one.value, one.has, one.valueAt = a.words[last], true, last
			a.hidden = a.hidden || a.words[last].Kind == word.Many
		}
		a.uses = append(a.uses, one)
	}
	if len(found) == 0 {
		a.uses = append(a.uses, u)
	}
	return last
}
