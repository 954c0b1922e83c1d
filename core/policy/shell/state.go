package shell

import (
	"maps"
	"path"
	"slices"

	"paragents/core/policy/word"
)

// Bounds on what is followed; beyond them values are not known.
const (
	maxVars   = 256
	maxDirs   = 8
	maxUnroll = 8
)

// state is what is known at one place of a script.
type state struct {
	vars     map[string]word.Word // known values and numbers; every other variable is not known
	dirs     []string             // absolute directories that the shell may be in; none if not known
	funcs    map[string]bool      // names that are functions for sure
	exported map[string]word.Word // variables that later commands get
	pwd      bool                 // the script has set PWD itself
}

func (s *state) clone() *state {
	return &state{vars: maps.Clone(s.vars), dirs: s.dirs, funcs: maps.Clone(s.funcs), exported: maps.Clone(s.exported), pwd: s.pwd}
}

func (s *state) set(name string, v word.Word) {
	if v.Kind != word.Known && !v.Numeric || len(s.vars) >= maxVars {
		delete(s.vars, name)
		return
	}
	s.vars[name] = v
}

// outcome is what is known after a command that succeeded, and after one that failed. Both may be the same state.
type outcome struct {
	ok, fail *state
}

func same(s *state) outcome { return outcome{s, s} }

// either is what is known when it is not known how the command ended.
func (o outcome) either() *state { return join(o.ok, o.fail) }

// join keeps what both states know. It may return one of them.
func join(a, b *state) *state {
	if a == b {
		return a
	}
	out := &state{vars: map[string]word.Word{}, funcs: map[string]bool{}, exported: maps.Clone(a.exported), pwd: a.pwd || b.pwd}
	for name, v := range a.vars {
		w, ok := b.vars[name]
		switch {
		case ok && w == v:
			out.vars[name] = v
		case ok && number(v) && number(w):
			out.vars[name] = word.Word{Kind: word.Open, Numeric: true}
		}
	}
	for name := range a.funcs {
		if b.funcs[name] {
			out.funcs[name] = true
		}
	}
	for name, v := range b.exported {
		out.exported[name] = v
	}
	if a.dirs != nil && b.dirs != nil {
		out.dirs = slices.Clone(a.dirs)
		for _, d := range b.dirs {
			if !slices.Contains(out.dirs, d) {
				out.dirs = append(out.dirs, d)
			}
		}
		if len(out.dirs) > maxDirs {
			out.dirs = nil
		}
	}
	return out
}

// number reports whether a word is an integer, known or not.
func number(w word.Word) bool {
	if w.Kind == word.Open {
		return w.Numeric && w.Text == ""
	}
	return w.Kind == word.Known && digits(w.Text)
}

// digits reports whether text is a plain decimal integer of a size that cannot overflow.
func digits(text string) bool {
	if len(text) > 1 && text[0] == '-' {
		text = text[1:]
	}
	if text == "" || len(text) > 15 {
		return false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// absolute returns the paths that text can mean, not cleaned; none if that is not known.
func (s *state) absolute(text string) []string {
	if len(text) > 0 && text[0] == '/' {
		return []string{text}
	}
	var out []string
	for _, d := range s.dirs {
		out = append(out, d+"/"+text)
	}
	return out
}

// chdir returns the state after a cd that succeeded.
func (s *state) chdir(to word.Word) *state {
	n := s.clone()
	if to.Kind != word.Known {
		n.dirs = nil
		return n
	}
	var dirs []string
	for _, d := range n.absolute(to.Text) {
		dirs = append(dirs, path.Clean(d))
	}
	n.dirs = dirs
	return n
}
