package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Source says where a value came from. The zero Source is the defaults.
type Source struct {
	File string // as the person named it, or relative to the current directory
	Line int    // 1 is the first
	Env  string // variable, if it came from there
	Via  string // file that held the secret itself
	Note string // why, for a value that was chosen rather than given
}

func (s Source) String() string {
	switch {
	case s.Note != "":
		return s.Note
	case s.Env != "" && s.Via != "":
		return s.Env + ", " + s.Via
	case s.Env != "":
		return s.Env
	case s.File == "":
		return ""
	case s.Line == 0:
		return s.File
	case s.Via != "":
		return fmt.Sprintf("%s:%d, %s", s.File, s.Line, s.Via)
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// Problem is one mistake in the configuration. Its text holds no secret.
type Problem struct {
	Source Source // zero: something is missing
	Key    string // such as store.url or workspaces[0].path; empty: the whole file
	Text   string // what is wrong
	Hint   string // what to do about it
}

func (p *Problem) Error() string {
	text := p.Text
	if p.Key != "" {
		text = p.Key + ": " + text
	}
	if at := p.Source.String(); at != "" {
		text = at + ": " + text
	}
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

// Warning is something that a person should hear before it surprises them, and that is no mistake.
type Warning Problem

func (w Warning) String() string { return (*Problem)(&w).Error() }

// Problems are all mistakes that were found, in the order of the places where they are: files by line, the environment, what is missing.
type Problems []*Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the mistakes one by one.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// and adds mistakes, but none about a key that already has one: that is only a consequence.
func (ps Problems) and(more Problems) Problems {
	had := make(map[string]bool)
	for _, p := range ps {
		had[p.Key] = true
	}
	return append(ps, slices.DeleteFunc(more, func(p *Problem) bool { return had[p.Key] })...)
}

// err sorts what was found; nil when nothing was.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	files := make(map[string]int) // in the order in which they were read
	rank := func(s Source) int {
		switch {
		case s.File != "":
			return files[s.File]
		case s.Env != "":
			return len(files) + 1
		}
		return len(files) + 2
	}
	for _, p := range ps {
		if f := p.Source.File; f != "" && files[f] == 0 {
			files[f] = len(files) + 1
		}
	}
	slices.SortStableFunc(ps, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(rank(a.Source), rank(b.Source)), cmp.Compare(a.Source.Line, b.Source.Line))
	})
	return ps
}

// quote shows a value that somebody wrote, made harmless and short.
func quote(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return strconv.Quote(string(r[:most])) + "…"
	}
	return strconv.Quote(s)
}

// harmless is a text without characters that do something to a terminal or a line.
func harmless(s string) string {
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// name shows a key that somebody wrote: as it is, if it could be one.
func name(key string) string {
	for _, r := range key {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return quote(key)
		}
	}
	if key == "" || len(key) > 40 {
		return quote(key)
	}
	return key
}

// nearest is the known word that was probably meant, or "".
func nearest(word string, known []string) string {
	best, found := min(1+len(word)/4, 3), ""
	for _, k := range known {
		if k == "" {
			continue
		}
		if d := distance(strings.ToLower(word), k); d <= best && (found == "" || d < best) {
			best, found = d, k
		}
	}
	return found
}

// distance counts the letters to insert, drop or change to make b of a. Words far apart in length are not worth counting.
func distance(a, b string) int {
	if d := len(a) - len(b); d > 3 || d < -3 {
		return 4
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
