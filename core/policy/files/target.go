package files

import (
	"path"
	"slices"
	"strings"
)

// Extent says which files a target stands for.
type Extent int

// Extents of a target.
const (
	One      Extent = iota // the path itself
	Tree                   // the path and all that exists below it
	Followed               // the same, through links
	Some                   // something at or below the path
	New                    // files below the path that may not exist yet
	Tracked                // something below the path that git keeps, so nothing of git itself
	Matching               // the files that the path, a glob pattern, matches
	Trees                  // the same, with all that exists below them
	Anything               // a path that is not known
)

// Target is a set of files that a call reads or writes. Path is absolute and need not be clean.
type Target struct {
	Path   string
	Extent Extent
}

// String returns the target in the notation of the table of cases: P, P/**, a glob, or ?.
func (t Target) String() string {
	clean := path.Clean(t.Path)
	switch t.Extent {
	case Anything:
		return "?"
	case Tree, Followed, Some, New, Tracked:
		if clean == "/" {
			return "/**"
		}
		return clean + "/**"
	}
	return clean
}

// Answer is what a rule says about a call: no, maybe or yes.
type Answer int

// Answers in rising order of certainty.
const (
	No Answer = iota
	Maybe
	Yes
)

// maxWalk bounds the names that one judgement looks at below directories.
const maxWalk = 20_000

// Set is a target with the facts about it, ready to be matched with many patterns.
type Set struct {
	Target
	Forms Forms
	view  *View
	found []string        // existing files that belong to the set, clean
	sure  []string        // those of found that lie elsewhere and are known to be files
	away  bool            // links lead out of the set
	seen  map[string]bool // directories that were followed
	known bool            // found is complete
	base  string          // Matching, Trees: the directory that the glob starts from
}

// NewSet looks up what there is to know about t.
func NewSet(v *View, t Target) *Set {
	s := &Set{Target: t, view: v, known: true}
	switch t.Extent {
	case Anything:
	case Matching, Trees:
		s.base = globBase(t.Path)
		s.Forms = FormsOf(v, s.base)
		s.glob()
	case One:
		s.Forms = FormsOf(v, t.Path)
	default:
		s.Forms = FormsOf(v, t.Path)
		for _, root := range s.Forms.Paths {
			s.below(root, root)
		}
	}
	return s
}

// Match says whether a deny or ask pattern matches the set. It is generous: case, compatibility forms and every
// spelling of a path count.
func (s *Set) Match(p Pattern) Answer {
	if p.All() {
		return Yes
	}
	switch s.Extent {
	case Anything:
		return Maybe
	case One:
		for _, f := range s.Forms.Paths {
			if p.matches(s.view, f, true) {
				return Yes
			}
		}
		if s.Forms.Magic || s.Forms.Circle {
			return Maybe
		}
		return No
	}
	return s.matchMany(p)
}

func (s *Set) matchMany(p Pattern) Answer {
	if s.Extent == Tracked && slices.Contains(p.elems, ".git") {
		return No
	}
	reach := No
	for _, f := range s.Forms.Paths {
		whole := p.subtree(s.view, f, true)
		glob := s.Extent == Matching || s.Extent == Trees
		if whole || !glob && s.Extent != New && p.matches(s.view, f, true) {
			return Yes
		}
		if p.below(s.view, f) {
			reach = Maybe
		}
	}
	if reach == No && !s.away {
		return No
	}
	for _, f := range s.found {
		if p.matches(s.view, f, true) {
			if s.Extent == Some || s.Extent == New || s.Extent == Tracked {
				return Maybe
			}
			return Yes
		}
	}
	if s.Extent == New || !s.known || s.Forms.Magic {
		return reach
	}
	return No
}

// Covered reports whether an allow pattern covers the whole set, in every form and with exact case. Patterns may share
// the work: the set is covered if each form is covered by one of them.
func (s *Set) Covered(patterns []Pattern) bool {
	for _, p := range patterns {
		if p.All() {
			return !s.Forms.Circle && !s.Forms.Magic
		}
	}
	if s.Extent == Anything || s.Forms.Circle || s.Forms.Magic {
		return false
	}
	for _, f := range s.Forms.Paths {
		if !s.coveredForm(patterns, f) {
			return false
		}
	}
	for _, f := range s.sure {
		if !anyMatch(s.view, patterns, f) {
			return false
		}
	}
	return true
}

func (s *Set) coveredForm(patterns []Pattern, form string) bool {
	for _, p := range patterns {
		switch s.Extent {
		case One:
			if p.matches(s.view, form, false) {
				return true
			}
		default:
			if p.subtree(s.view, form, false) {
				return true
			}
		}
	}
	return false
}

func anyMatch(v *View, patterns []Pattern, clean string) bool {
	for _, p := range patterns {
		if p.matches(v, clean, false) {
			return true
		}
	}
	return false
}

// below adds what exists below the real directory, under the name that it has in one of the forms.
func (s *Set) below(real, name string) {
	kind, _ := s.view.Lstat(real)
	switch kind {
	case Missing, File:
		return
	case Link:
		s.through(real)
		return
	}
	if s.view.walked >= maxWalk {
		s.known = false
		return
	}
	names, ok := s.view.List(real)
	if !ok {
		s.known = false
		return
	}
	s.view.walked += len(names)
	for _, n := range names {
		s.found = append(s.found, path.Join(name, n))
		s.below(path.Join(real, n), path.Join(name, n))
	}
}

// through adds what a link leads to, for those extents that go through links: a file is one that is touched, and for
// Followed so is all that is below a directory.
func (s *Set) through(link string) {
	if s.Extent != Some && s.Extent != New && s.Extent != Followed {
		return
	}
	f := FormsOf(s.view, link)
	if f.Circle {
		return
	}
	s.found, s.away = append(s.found, f.Paths...), true
	switch leadsTo(s.view, link) {
	case File:
		s.sure = append(s.sure, f.Paths...)
	case Dir, Unknown:
		if real, ok := walk(s.view, link); ok && s.Extent == Followed && !s.seen[real] {
			if s.seen == nil {
				s.seen = map[string]bool{}
			}
			s.seen[real] = true
			s.sure = append(s.sure, real)
			s.below(real, real)
		}
	}
}

// globBase returns the directory above the first element of an absolute glob that is a pattern.
func globBase(glob string) string {
	elems := strings.Split(glob, "/")
	for i, e := range elems {
		if strings.ContainsAny(e, `*?[\`) {
			if i == 1 {
				return "/"
			}
			return strings.Join(elems[:i], "/")
		}
	}
	return path.Dir(glob)
}

// glob adds the files that the pattern matches. Directories count only for Trees; what a link leads to is added in all
// its forms.
func (s *Set) glob() {
	names, ok := Expand(s.view, s.Path)
	s.known, s.away = ok, true
	for _, n := range names {
		f := FormsOf(s.view, n)
		if f.Circle {
			continue
		}
		kind := leadsTo(s.view, n)
		dir := kind == Dir
		if dir && s.Extent == Matching {
			continue
		}
		s.found = append(s.found, f.Paths...)
		if kind == File {
			s.sure = append(s.sure, f.Paths...)
		}
		if dir {
			kind, _ := s.view.Lstat(n)
			if kind == Link {
				continue
			}
			for _, p := range f.Paths {
				s.below(p, p)
			}
		}
	}
}

// Expand returns the existing paths that an absolute glob matches, as the shell finds them; false means that there may
// be more. A leading dot is matched only by a dot.
func Expand(v *View, glob string) ([]string, bool) {
	found, known := []string{"/"}, true
	elems := strings.Split(strings.TrimPrefix(glob, "/"), "/")
	for i, e := range elems {
		var next []string
		for _, dir := range found {
			if !strings.ContainsAny(e, `*?[\`) {
				p := strings.TrimSuffix(dir, "/") + "/" + e
				if i == len(elems)-1 && e != "" {
					if kind, _ := v.Lstat(path.Clean(p)); kind == Missing {
						continue
					}
				}
				next = append(next, p)
				continue
			}
			real, ok := walk(v, dir)
			if !ok {
				continue
			}
			names, ok := v.List(real)
			if !ok {
				if kind, _ := v.Lstat(real); kind == Unknown || kind == Dir {
					known = false
				}
				continue
			}
			for _, n := range names {
				if strings.HasPrefix(n, ".") && !strings.HasPrefix(strings.TrimPrefix(e, `\`), ".") {
					continue
				}
				if ok, err := path.Match(shellClass(e), n); err == nil && ok {
					next = append(next, strings.TrimSuffix(dir, "/")+"/"+n)
				}
			}
			if len(next) > maxWalk {
				return next, false
			}
		}
		found = next
	}
	return found, known
}

// shellClass turns the negation of the shell, [!x], into the one of path.Match.
func shellClass(elem string) string { return strings.ReplaceAll(elem, "[!", "[^") }

// GlobLeaves reports whether an absolute glob may leave the directory that it starts from: by .. after a pattern.
func GlobLeaves(glob string) bool {
	base := globBase(glob)
	for _, e := range strings.Split(strings.TrimPrefix(glob, base), "/") {
		if e == ".." {
			return true
		}
		if ok, err := path.Match(shellClass(e), ".."); e != "" && strings.HasPrefix(e, ".") && (ok || err != nil) {
			return true
		}
	}
	return false
}
