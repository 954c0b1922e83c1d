package shell

import (
	"path"
	"strings"

	"paragents/core/policy/command"
	"paragents/core/policy/files"
	"paragents/core/policy/word"
)

// at is the place of a command: the directories that it may run in.
type at struct {
	w *walker
	s *state
}

// IsDir reports whether a word leads to a directory from any of them.
func (a at) IsDir(x word.Word) bool {
	if x.Kind == word.Below {
		return false
	}
	for _, p := range a.s.absolute(x.Text) {
		if files.IsDir(a.w.view, p) {
			return true
		}
	}
	return false
}

// Certain reports whether there is only one directory to run in.
func (a at) Certain() bool { return len(a.s.dirs) == 1 }

// IsFile reports whether a word leads to something else than a directory from any of them.
func (a at) IsFile(x word.Word) bool {
	for _, p := range a.s.absolute(x.Text) {
		if x.Kind == word.Known && files.IsFile(a.w.view, p) {
			return true
		}
	}
	return false
}

// IsLink reports whether a word leads through a link from any of them.
func (a at) IsLink(x word.Word) bool {
	for _, p := range a.s.absolute(x.Text) {
		if len(files.FormsOf(a.w.view, p).Paths) > 1 {
			return true
		}
	}
	return false
}

// Inside reports whether a word is known to lie in the workspace from all of them.
func (a at) Inside(x word.Word) bool {
	paths := a.s.absolute(x.Text)
	if x.Kind != word.Known || len(paths) == 0 {
		return false
	}
	inside := []files.Pattern{files.ParsePattern("./**")}
	for _, p := range paths {
		if !files.NewSet(a.w.view, files.Target{Path: p}).Covered(inside) {
			return false
		}
	}
	return true
}

// quiet are devices that hold nothing and keep nothing.
var quiet = map[string]bool{
	"/dev/null": true, "/dev/zero": true, "/dev/full": true, "/dev/random": true, "/dev/urandom": true,
	"/dev/stdin": true, "/dev/stdout": true, "/dev/stderr": true, "/dev/tty": true,
}

func isQuiet(text string) bool {
	rest, fd := strings.CutPrefix(text, "/dev/fd/")
	return quiet[text] || fd && digits(rest)
}

func (w *walker) redirRead(s *state, to word.Word) {
	w.target(s, command.Effect{Kind: command.Reads, Word: to})
	w.device(to)
}

func (w *walker) redirWrite(s *state, to word.Word) {
	w.target(s, command.Effect{Kind: command.Writes, Word: to})
	w.device(to)
}

// device asks about the paths that make the shell open a connection.
func (w *walker) device(to word.Word) {
	if strings.HasPrefix(to.Text, "/dev/tcp") || strings.HasPrefix(to.Text, "/dev/udp") {
		w.doubt("the shell would open a connection")
	}
}

// target adds an effect of a command in state s.
func (w *walker) target(s *state, e command.Effect) {
	x := e.Word
	if e.Kind == command.Fetches {
		w.out.URLs = append(w.out.URLs, URL{Text: x.Text, Known: x.Kind == word.Known && !e.Odd})
		return
	}
	if x.Kind == word.Known && isQuiet(x.Text) {
		return
	}
	to := &w.out.Reads
	switch e.Kind {
	case command.Writes:
		to = &w.out.Writes
	case command.Mentions:
		to = &w.out.Mentions
	}
	if x.Kind == word.Known && x.Text == "" {
		return
	}
	paths := s.absolute(x.Text)
	if len(paths) == 0 || x.Kind == word.Open || x.Kind == word.Many {
		w.add(e, to, files.Target{Extent: files.Anything})
		return
	}
	for _, p := range paths {
		t := files.Target{Path: p, Extent: e.Extent}
		switch x.Kind {
		case word.Glob:
			t.Extent = files.Matching
			if e.Extent != files.One {
				t.Extent = files.Trees
			}
			if files.GlobLeaves(p) {
				t = files.Target{Extent: files.Anything}
			}
		case word.Below:
			t.Extent = files.Some
		}
		w.add(e, to, t)
	}
}

// add adds a target once.
func (w *walker) add(e command.Effect, to *[]files.Target, t files.Target) {
	if e.Removes {
		w.out.Removes = append(w.out.Removes, t)
	}
	if e.Links {
		w.links = append(w.links, newLink{t, w.current})
	} else if t.Extent != files.Anything {
		w.out.plain[placed{path.Clean(t.Path), w.current}] = true
	}
	if key := (listed{e.Kind, t}); !w.out.have[key] {
		w.out.have[key] = true
		*to = append(*to, t)
	}
}

// scriptFile notes a file of the workspace that a command runs by name.
func (w *walker) scriptFile(s *state, part *command.Part, file word.Word) {
	if file.Kind != word.Known {
		return
	}
	for _, p := range s.absolute(file.Text) {
		f := files.FormsOf(w.view, p)
		part.Files = append(part.Files, f.Paths...)
		w.out.Scripts = append(w.out.Scripts, path.Clean(p))
	}
}

// after asks about what only the whole line shows: running a file that it writes, and going through a link that it may
// have made.
func (w *walker) after() {
	for _, part := range w.out.Parts {
		for _, f := range part.Files {
			for _, t := range w.out.Writes {
				if part.Opaque == "" && w.touches(t, f) {
					part.Opaque = "it runs a file that the same command line writes"
				}
			}
		}
	}
	for _, l := range w.links {
		root := path.Clean(l.Path)
		for p := range w.out.plain {
			if p.command == l.command || l.Extent == files.Anything {
				continue
			}
			if p.path == root && l.Extent != files.New || strings.HasPrefix(p.path, strings.TrimSuffix(root, "/")+"/") {
				w.doubt("a path leads through a link that the same command line may have made")
				break
			}
		}
	}
}

// touches reports whether a target may hold a clean path.
func (w *walker) touches(t files.Target, clean string) bool {
	switch t.Extent {
	case files.Anything:
		return true
	case files.Tree, files.Followed, files.Some, files.New, files.Tracked:
		for _, f := range files.FormsOf(w.view, t.Path).Paths {
			if clean == f || strings.HasPrefix(clean, strings.TrimSuffix(f, "/")+"/") {
				return true
			}
		}
		return false
	case files.Matching, files.Trees:
		ok, err := path.Match(t.Path, clean)
		return ok || err != nil
	}
	for _, f := range files.FormsOf(w.view, t.Path).Paths {
		if f == clean {
			return true
		}
	}
	return false
}

// globDashed reports whether a pattern may stand for a name that begins with a dash.
func (w *walker) globDashed(s *state, glob string) bool {
	if strings.IndexAny(glob, "*?[-") != 0 {
		return false
	}
	if strings.HasPrefix(glob, "-") || len(s.dirs) == 0 {
		return true
	}
	for _, t := range w.out.Writes {
		if strings.HasPrefix(path.Base(t.Path), "-") {
			return true
		}
	}
	for _, d := range s.dirs {
		base := path.Clean(d)
		names, known := files.Expand(w.view, base+"/"+glob)
		if !known {
			return true
		}
		for _, n := range names {
			if strings.HasPrefix(strings.TrimPrefix(n, base+"/"), "-") {
				return true
			}
		}
	}
	return false
}
