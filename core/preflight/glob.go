package preflight

import (
	"path"
	"strings"
	"unicode/utf8"
)

const wildcards = `*?[{\`

func isGlob(text string) bool { return strings.ContainsAny(text, wildcards) }

// head is the plain directory above the first element with a wildcard.
func (p parsed) head() string {
	at := strings.IndexAny(p.base, wildcards)
	if at < 0 {
		return p.base
	}
	return p.base[:max(0, strings.LastIndexByte(p.base[:at], '/'))]
}

// apart reports in a glance that claims begin in different directories.
func apart(a, b parsed) bool {
	x, y := a.head(), b.head()
	return !covers(x, y) && !covers(y, x)
}

// elements are the elements of a path, with ** at the end where it covers what is below it as the other claim sees it.
func (p parsed) elements(other parsed) []string {
	elems := strings.Split(p.base, "/")
	for i, e := range elems {
		if strings.Count(e, "{") != strings.Count(e, "}") { // the alternatives hold slashes
			return append(elems[:i], "**")
		}
	}
	if p.tree || p.glob && !other.glob || !hasExtension(elems[len(elems)-1]) {
		elems = append(elems, "**")
	}
	return elems
}

// hasExtension reports whether a name ends as names of files do: in a dot and letters or digits, not only digits.
func hasExtension(name string) bool {
	at := strings.LastIndexByte(name, '.')
	if at <= 0 || at == len(name)-1 {
		return false
	}
	ext := name[at+1:]
	return strings.Trim(ext, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" && strings.Trim(ext, "0123456789") != ""
}

// meetPaths reports whether some path matches both.
func meetPaths(a, b []string) bool {
	return meet(a, b, func(e string) bool { return e == "**" }, func(x, y string) bool {
		return x == y || meet(atoms(x), atoms(y), func(s string) bool { return s == "*" }, meetAtoms)
	})
}

// atoms takes an element of a glob apart: "*", "?", classes, and plain characters, of which special ones keep their backslash. Alternatives
// are taken for "*".
func atoms(elem string) []string {
	var out []string
	for len(elem) > 0 {
		n := 1
		switch end := -1; elem[0] {
		case '{':
			if end = strings.LastIndexByte(elem, '}'); end > 0 {
				out, elem = append(out, "*"), elem[end+1:]
				continue
			}
		case '[':
			if end = strings.IndexByte(elem[1:], ']'); end > 0 {
				n = end + 2
			}
		case '\\':
			n = min(2, len(elem))
		default:
			_, n = utf8.DecodeRuneInString(elem)
		}
		out, elem = append(out, elem[:n]), elem[n:]
	}
	return out
}

// meetAtoms reports whether a character matches both; of two classes it says yes.
func meetAtoms(x, y string) bool {
	x, y = strings.TrimPrefix(x, `\`), strings.TrimPrefix(y, `\`)
	class := func(s string) bool { return len(s) > 2 && s[0] == '[' }
	switch {
	case x == y, x == "?", y == "?", class(x) && class(y):
		return true
	case class(x):
		return inClass(x, y)
	case class(y):
		return inClass(y, x)
	}
	return false
}

func inClass(class, char string) bool {
	if strings.HasPrefix(class, "[!") {
		class = "[^" + class[2:]
	}
	ok, err := path.Match(class, char)
	return ok || err != nil
}

// meet reports whether two patterns have a match in common: star stands for any number of things, both says whether two things meet.
func meet(a, b []string, star func(string) bool, both func(x, y string) bool) bool {
	// row[j] says whether a[i:] and b[j:] meet, next the same for a[i+1:].
	row, next := make([]bool, len(b)+1), make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case i < len(a) && star(a[i]):
				row[j] = next[j] || j < len(b) && row[j+1]
			case j < len(b) && star(b[j]):
				row[j] = row[j+1] || i < len(a) && next[j]
			default:
				row[j] = i < len(a) && j < len(b) && next[j+1] && both(a[i], b[j])
			}
		}
		row, next = next, row
	}
	return next[0]
}
