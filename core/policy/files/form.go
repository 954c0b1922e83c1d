package files

import (
	"path"
	"strings"
)

// maxLinks is the number of links after which a path counts as a circle, as in the kernel.
const maxLinks = 40

// maxPath is twice the length of a path that the kernel takes; nothing is found out about longer ones.
const maxPath = 8192

// Forms are the paths that one text can mean.
type Forms struct {
	Paths  []string // absolute and clean, without repetition; the first is the cleaned text
	Circle bool     // links lead in a circle
	Magic  bool     // where it leads cannot be told: it passes through a link that the kernel makes up, such as /proc/self/cwd
}

// FormsOf returns the forms of an absolute path that need not be clean: the cleaned text, the same with links resolved,
// and the path as the kernel walks it, where .. is the parent of what a link leads to; the last two also without
// following their last element.
func FormsOf(v *View, text string) Forms {
	clean := path.Clean(text)
	f := Forms{Paths: []string{clean}, Magic: magic(clean)}
	if len(text) > maxPath {
		f.Magic = true
		return f
	}
	for _, start := range []string{clean, text} {
		walked, ok := walk(v, start)
		if !ok {
			f.Circle = true
			continue
		}
		f.Magic = f.Magic || magic(walked)
		f.add(walked)
		// what removes or replaces a link touches the link itself, wherever its directory lies
		bare := strings.TrimRight(start, "/")
		at := strings.LastIndexByte(bare, '/')
		if at < 0 || bare[at:] == "/.." || bare[at:] == "/." {
			continue
		}
		if dir, ok := walk(v, bare[:at]); ok {
			f.add(path.Join(dir, bare[at+1:]))
		}
	}
	return f
}

func (f *Forms) add(p string) {
	for _, have := range f.Paths {
		if have == p {
			return
		}
	}
	f.Paths = append(f.Paths, p)
}

// walk follows every link of text, element by element.
func walk(v *View, text string) (string, bool) {
	links := 0
	done := "/"
	todo := text
	for todo != "" {
		var elem string
		elem, todo, _ = strings.Cut(todo, "/")
		switch elem {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, elem)
		if magic(next) {
			done = next
			continue
		}
		kind, target := v.Lstat(next)
		if kind != Link {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", false
		}
		if strings.HasPrefix(target, "/") {
			done = "/"
		}
		todo = target + "/" + todo
	}
	return done, true
}

// magic reports whether p passes through a link in /proc that leads somewhere else for every process, or a descriptor.
func magic(p string) bool {
	rest, ok := strings.CutPrefix(p, "/proc/")
	if !ok {
		return strings.HasPrefix(p, "/dev/fd/")
	}
	for _, elem := range strings.Split(rest, "/") {
		switch elem {
		case "cwd", "root", "fd", "exe", "map_files":
			return true
		}
	}
	return false
}

// IsDir reports whether the absolute path leads to a directory.
func IsDir(v *View, text string) bool { return leadsTo(v, text) == Dir }

// IsFile reports whether the absolute path leads to something that exists and is no directory.
func IsFile(v *View, text string) bool { return leadsTo(v, text) == File }

func leadsTo(v *View, text string) Kind {
	p, ok := walk(v, text)
	if !ok {
		return Unknown
	}
	kind, _ := v.Lstat(p)
	return kind
}
