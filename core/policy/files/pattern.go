package files

import (
	"path"
	"slices"
	"strings"

	"paragents/core/policy/word"
)

// Pattern is a compiled path pattern of a rule.
type Pattern struct {
	text  string
	root  byte // 'w' workspace, 'h' home, '/' absolute, '*' everything
	elems []string
	fold  []string
}

// Every returns the pattern of a rule without one: it matches every path.
func Every() Pattern { return Pattern{text: "*", root: '*'} }

// ParsePattern compiles a pattern: relative to the workspace, to the home after ~/, or absolute. * and ? stay within an
// element, ** crosses them.
func ParsePattern(text string) Pattern {
	if text == "*" || text == "" {
		return Every()
	}
	p := Pattern{text: text, root: 'w'}
	rest := text
	switch {
	case strings.HasPrefix(rest, "/"):
		p.root = '/'
	case rest == "~" || strings.HasPrefix(rest, "~/"):
		p.root, rest = 'h', rest[1:]
	}
	rest = path.Clean("/" + strings.TrimPrefix(rest, "/"))
	if p.root == 'w' {
		// a pattern such as ../other is taken from the workspace upwards when it is matched
		rest = path.Clean(text)
	}
	for _, e := range strings.Split(rest, "/") {
		if e != "" && e != "." {
			p.elems = append(p.elems, e)
			p.fold = append(p.fold, word.Fold(e))
		}
	}
	return p
}

// All reports whether the pattern matches every path.
func (p Pattern) All() bool { return p.root == '*' }

// roots returns the directories that the pattern starts from, by name and with links resolved.
func (p Pattern) roots(v *View) []string {
	switch p.root {
	case 'w':
		return v.workspace
	case 'h':
		return v.home
	}
	return v.slash
}

// matches reports whether a clean absolute path matches; loose ignores case and compatibility forms.
func (p Pattern) matches(v *View, clean string, loose bool) bool {
	return p.run(v, clean, loose, func(states []bool, n int) bool { return states[n] })
}

// below reports whether a path at or below dir can match.
func (p Pattern) below(v *View, dir string) bool {
	return p.run(v, dir, true, func(states []bool, _ int) bool { return slices.Contains(states, true) })
}

// subtree reports whether the pattern covers dir and everything below it.
func (p Pattern) subtree(v *View, dir string, loose bool) bool {
	if p.All() {
		return true
	}
	return len(p.elems) > 0 && p.elems[len(p.elems)-1] == "**" && p.matches(v, dir, loose)
}

// run feeds the elements of a clean absolute path to the pattern and asks ok about the states that are alive at the end.
func (p Pattern) run(v *View, clean string, loose bool, ok func(states []bool, n int) bool) bool {
	if p.All() {
		return true
	}
	for _, root := range p.roots(v) {
		elems := p.elems
		if loose {
			elems, root, clean = p.fold, word.Fold(root), word.Fold(clean)
		}
		for len(elems) > 0 && elems[0] == ".." {
			elems, root = elems[1:], path.Dir(root)
		}
		if root != "/" {
			elems = append(strings.Split(root[1:], "/"), elems...)
		}
		states := make([]bool, len(elems)+1)
		states[0] = true
		skip(elems, states)
		rest, literal := strings.TrimPrefix(clean, "/"), 0
		if root != "/" {
			literal = strings.Count(root, "/")
		}
		for rest != "" {
			var name string
			name, rest, _ = strings.Cut(rest, "/")
			next := make([]bool, len(states))
			for i, alive := range states[:len(elems)] {
				switch {
				case !alive:
				case i >= literal && elems[i] == "**":
					next[i] = true
				case i < literal && elems[i] == name, i >= literal && matchElem(elems[i], name):
					next[i+1] = true
				}
			}
			states = next
			skip(elems, states)
		}
		if ok(states, len(elems)) {
			return true
		}
	}
	return false
}

// skip lets every ** match no element at all.
func skip(elems []string, states []bool) {
	for i, e := range elems {
		if states[i] && e == "**" {
			states[i+1] = true
		}
	}
}

// matchElem matches one path element; * and ? are special.
func matchElem(pattern, name string) bool {
	if !strings.Contains(pattern, "?") {
		return word.Match(pattern, name)
	}
	p, n := []rune(pattern), []rune(name)
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(n) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == n[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
