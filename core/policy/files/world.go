// Package files knows paths as the permission judge sees them: the forms that one path can have, patterns of rules, and
// sets of files that a command may touch.
package files

// Kind is what a name in a directory is.
type Kind int

// Kinds of names. Unknown means that the world cannot tell.
const (
	Unknown Kind = iota
	Missing
	File
	Dir
	Link
)

// World holds the facts about the machine that paths are judged by.
type World interface {
	// Workspace and Home are absolute, clean paths; Home may be empty.
	Workspace() string
	Home() string
	// Lstat says what path is without following its last element, and where a link points.
	Lstat(path string) (kind Kind, target string)
	// List returns the names in a directory in any order, and false if they cannot be known.
	List(dir string) (names []string, ok bool)
}

// View is a world for the time of one judgement: it asks for each fact once. It is not safe for concurrent use.
type View struct {
	World
	workspace, home, slash []string
	stats                  map[string]stat
	lists                  map[string]list
	walked                 int // names that were looked at below directories
}

type stat struct {
	kind   Kind
	target string
}

type list struct {
	names []string
	ok    bool
}

// NewView returns a view of w.
func NewView(w World) *View {
	v := &View{World: w, stats: map[string]stat{}, lists: map[string]list{}, slash: []string{"/"}}
	v.workspace = v.rootsOf(w.Workspace())
	if home := w.Home(); home != "" {
		v.home = v.rootsOf(home)
	}
	return v
}

func (v *View) rootsOf(dir string) []string {
	if real, ok := walk(v, dir); ok && real != dir {
		return []string{dir, real}
	}
	return []string{dir}
}

// Lstat is the world's, asked once a path.
func (v *View) Lstat(path string) (Kind, string) {
	s, ok := v.stats[path]
	if !ok {
		s.kind, s.target = v.World.Lstat(path)
		v.stats[path] = s
	}
	return s.kind, s.target
}

// List is the world's, asked once a directory.
func (v *View) List(dir string) ([]string, bool) {
	l, ok := v.lists[dir]
	if !ok {
		l.names, l.ok = v.World.List(dir)
		v.lists[dir] = l
	}
	return l.names, l.ok
}
