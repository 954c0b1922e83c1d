package files

import (
	"path"
	"strings"

	"paragents/core/policy/word"
)

// Pattern is a compiled path pattern of a rule.
type Pattern struct {
	root  byte // 'w' workspace, 'h' home, '/' absolute, '*' everything
	elems []string
	fold  []string
}

// Every returns the pattern of a rule without one: it matches every path.
func Every() Pattern { return Pattern{root: '*'} }

// ParsePattern compiles a pattern: relative to the workspace, to the home after ~/, or absolute. * and ? stay within an
// element, ** crosses them.
func ParsePattern(text string) Pattern {
	if text == "*" || text == "" {
		return Every()
	}
	p := Pattern{root: 'w'}
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
	if p.All() {
		return true
	}
	elems := p.elems
	if loose {
		elems, clean = p.fold, word.Fold(clean)
	}
	for _, root := range p.roots(v) {
		from, tail := climb(root, elems, loose)
		if rest, ok := cutRoot(clean, from); ok && matchElems(tail, rest) {
			return true
		}
	}
	return false
}

// below reports whether a path at or below dir can match, ignoring case and compatibility forms.
func (p Pattern) below(v *View, dir string) bool {
	if p.All() {
		return true
	}
	dir = word.Fold(dir)
	for _, root := range p.roots(v) {
		from, tail := climb(root, p.fold, true)
		if _, above := cutRoot(from, dir); above {
			return true
		}
		if rest, ok := cutRoot(dir, from); ok && reaches(tail, rest) {
			return true
		}
	}
	return false
}

// subtree reports whether the pattern covers dir and everything below it.
func (p Pattern) subtree(v *View, dir string, loose bool) bool {
	if p.All() {
		return true
	}
	return len(p.elems) > 0 && p.elems[len(p.elems)-1] == "**" && p.matches(v, dir, loose)
}

// climb takes the leading .. elements of a pattern off the directory that it starts from.
func climb(root string, elems []string, loose bool) (string, []string) {
	if loose {
		root = word.Fold(root)
	}
	for len(elems) > 0 && elems[0] == ".." {
		elems, root = elems[1:], path.Dir(root)
	}
	return root, elems
}

// cutRoot returns the part of a clean path below root, without a slash in front.
func cutRoot(clean, root string) (string, bool) {
	if root == "/" {
		return clean[1:], true
	}
	rest, ok := strings.CutPrefix(clean, root)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rest, "/"), true
}

// matchElems matches the elements of a pattern with a relative clean path.
func matchElems(elems []string, rest string) bool {
	for len(elems) > 0 && elems[0] != "**" {
		if rest == "" {
			return false
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if !matchElem(elems[0], name) {
			return false
		}
		elems = elems[1:]
	}
	if len(elems) == 0 {
		return rest == ""
	}
	if len(elems) == 1 {
		return true
	}
	for {
		if matchElems(elems[1:], rest) {
			return true
		}
		if rest == "" {
			return false
		}
		_, rest, _ = strings.Cut(rest, "/")
	}
}

// reaches reports whether the elements can match a path that begins with rest.
func reaches(elems []string, rest string) bool {
	for rest != "" {
		if len(elems) == 0 {
			return false
		}
		if elems[0] == "**" {
			return true
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if !matchElem(elems[0], name) {
			return false
		}
		elems = elems[1:]
	}
	return true
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
