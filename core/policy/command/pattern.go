package command

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"paragents/core/policy/files"
	"paragents/core/policy/word"
)

// Pattern is a compiled Bash pattern.
type Pattern struct {
	all   bool
	env   []string // NAME=pattern
	words []string // the name first; * as a word of its own stands for any number of words
	loose *args    // the same, taken apart for deny and ask
	place files.Pattern
}

// ParsePattern compiles a Bash pattern; the empty one matches every command.
func (t *Table) ParsePattern(text string) (Pattern, error) {
	if text == "" {
		return Pattern{all: true}, nil
	}
	body, open := strings.CutSuffix(text, ":*")
	words, err := split(body)
	if err != nil {
		return Pattern{}, err
	}
	p := Pattern{}
	for len(words) > 0 && assignment(words[0]) {
		p.env = append(p.env, words[0])
		words = words[1:]
	}
	if len(words) == 0 || words[0] == "" || words[0] == "*" && len(words) > 1 {
		return Pattern{}, fmt.Errorf("pattern %q names no program", text)
	}
	if open {
		words = append(words, "*")
	}
	p.words = words
	p.all = len(words) == 1 && words[0] == "*"
	if strings.Contains(words[0], "/") {
		p.place = files.ParsePattern(words[0])
	}
	canon := t.canon(word.Lits(words...), func(word.Word) bool { return false })
	p.loose = canon.args
	return p, nil
}

// Program returns the name of the pattern if it has nothing but one.
func (p Pattern) Program() (string, bool) {
	if p.all || len(p.env) > 0 {
		return "", false
	}
	return word.Fold(path.Base(p.words[0])), len(p.words) == 1 || len(p.words) == 2 && p.words[1] == "*"
}

// All reports whether the pattern matches every command.
func (p Pattern) All() bool { return p.all }

// split cuts a pattern into words, with quotes and backslash as in the shell.
func split(text string) ([]string, error) {
	var words []string
	var b strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t'):
			if in {
				words = append(words, b.String())
				b.Reset()
			}
			in = false
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote && quote != 0:
			quote = 0
		case c == '\\' && quote != '\'':
			if i++; i == len(text) {
				return nil, fmt.Errorf("pattern %q ends in a backslash", text)
			}
			b.WriteByte(star(text[i]))
		case quote != 0:
			b.WriteByte(star(c))
		default:
			b.WriteByte(c)
		}
		in = true
	}
	if quote != 0 {
		return nil, fmt.Errorf("pattern %q holds an open quote", text)
	}
	if in {
		words = append(words, b.String())
	}
	return words, nil
}

// star turns a quoted star into the mark by which word.Match knows one that is a plain character.
func star(c byte) byte {
	if c == '*' {
		return word.Star
	}
	return c
}

func assignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" &&
		(name[0] < '0' || name[0] > '9')
}

// system are the directories whose programs a plain name stands for.
var system = []string{"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"}

// Covers reports whether an allow rule with the pattern covers the part: all words in order, every variable that is not
// harmless, and every word that carries a risk by a word other than *.
func (p Pattern) Covers(v *files.View, part *Part) bool {
	if part.Opaque != "" {
		return false
	}
	for _, e := range part.Env {
		if !Harmless(e.Name) && !p.namesEnv(e) {
			return false
		}
	}
	if p.all {
		return len(part.Risks) == 0
	}
	return p.nameCovers(v, part) && p.wordsCover(part)
}

func (p Pattern) namesEnv(e Env) bool {
	for _, pat := range p.env {
		name, value, _ := strings.Cut(pat, "=")
		if name == e.Name && (value == "*" || e.Value.Kind == word.Known && word.Match(value, e.Value.Text)) {
			return true
		}
	}
	return false
}

func (p Pattern) nameCovers(v *files.View, part *Part) bool {
	name := part.Words[0]
	if name.Kind != word.Known {
		return false
	}
	if strings.Contains(p.words[0], "/") {
		if part.Path == "" {
			return false
		}
		return files.NewSet(v, files.Target{Path: part.Path}).Covered([]files.Pattern{p.place})
	}
	if part.Path != "" {
		if !slices.Contains(system, path.Dir(part.Path)) {
			return false
		}
		return word.Match(p.words[0], path.Base(part.Path))
	}
	return word.Match(p.words[0], name.Text)
}

// wordsCover matches the words after the name in order.
func (p Pattern) wordsCover(part *Part) bool {
	pat, call := p.words[1:], part.Words[1:]
	// reach[j] says that the pattern up to here can match the first j words
	reach := make([]bool, len(call)+1)
	reach[0] = true
	for _, w := range pat {
		next := make([]bool, len(call)+1)
		if w == "*" {
			alive := false
			for j := range next {
				alive = alive && !part.risky(j) || reach[j]
				next[j] = alive
			}
		} else {
			for j, have := range call {
				next[j+1] = reach[j] && have.Kind == word.Known && word.Match(w, have.Text)
			}
		}
		reach = next
	}
	return reach[len(call)]
}

// Match says whether a deny or ask rule with the pattern matches the part: generously, and open at the end.
func (p Pattern) Match(v *files.View, part *Part) files.Answer {
	if p.all {
		return files.Yes
	}
	name := part.Words[0]
	if name.Kind != word.Known {
		return files.No // asked in any case; the name says nothing
	}
	if strings.Contains(p.words[0], "/") {
		if part.Path == "" || files.NewSet(v, files.Target{Path: part.Path}).Match(p.place) == files.No {
			return files.No
		}
	} else if !word.Match(word.Fold(p.words[0]), word.Fold(path.Base(name.Text))) {
		return files.No
	}
	answer := files.Yes
	for _, u := range slices.Concat(p.loose.globals, p.loose.uses) {
		answer = min(answer, part.hasOption(u))
	}
	if answer == files.No {
		return answer
	}
	return min(answer, p.operandsMatch(part))
}

// hasOption says whether an option of a pattern occurs among the options of the call.
func (part *Part) hasOption(want use) files.Answer {
	for _, have := range slices.Concat(part.args.globals, part.args.uses) {
		if !sameOption(want, have) {
			continue
		}
		if !want.has || want.value.Is("*") {
			return files.Yes
		}
		if have.has && have.value.Kind != word.Known {
			return files.Maybe
		}
		if have.has && word.Match(word.Fold(want.value.Text), word.Fold(have.value.Text)) {
			return files.Yes
		}
	}
	if part.args.hidden || part.Opaque != "" && part.args.row.flags["wrap"] {
		return files.Maybe
	}
	return files.No
}

func sameOption(want, have use) bool {
	if want.name == have.name {
		return true
	}
	if want.option != nil && have.option != nil {
		return false
	}
	// abbreviations of long options that the table does not hold
	return strings.HasPrefix(want.name, "--") && len(have.name) > 2 && strings.HasPrefix(want.name, have.name)
}

// operandsMatch matches the operands of the pattern with those of the call, from the front and in order.
func (p Pattern) operandsMatch(part *Part) files.Answer {
	var want []string
	for _, i := range p.loose.operands {
		want = append(want, p.loose.words[i].Text)
	}
	// a trailing star of the pattern adds nothing: it is open at the end
	for len(want) > 0 && want[len(want)-1] == "*" {
		want = want[:len(want)-1]
	}
	best := map[[2]int]files.Answer{}
	var match func(i, j int) files.Answer
	match = func(i, j int) files.Answer {
		if i == len(want) {
			return files.Yes
		}
		if j == len(part.args.operands) {
			return files.No
		}
		key := [2]int{i, j}
		if a, ok := best[key]; ok {
			return a
		}
		at := part.args.operands[j]
		have, c := part.args.words[at], part.args.class[at]
		answer := files.No
		switch {
		case want[i] == "*":
			answer = max(match(i+1, j), match(i, j+1))
		case have.Kind == word.Known:
			if word.Match(word.Fold(want[i]), word.Fold(have.Text)) {
				answer = match(i+1, j+1)
			}
			if c == isEither {
				answer = max(answer, min(files.Maybe, match(i, j+1)))
			}
		default:
			answer = min(files.Maybe, max(match(i+1, j+1), match(i, j+1)))
			if have.Kind == word.Many || c == isHidden {
				answer = files.Maybe
			}
		}
		best[key] = answer
		return answer
	}
	return match(0, 0)
}
