package file_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paragents/core/tool"
	"paragents/core/tool/file"
)

// session is one session at work in a workspace.
type session struct {
	t    *testing.T
	env  *tool.Env
	seen map[string]string
}

// workspace makes WS with files, and a session in it. Names that end in a slash are directories.
func workspace(t *testing.T, files map[string]string) (string, *session) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "s1")
	must(t, os.Mkdir(dir, 0o755))
	for name, content := range files {
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
			continue
		}
		put(t, filepath.Join(dir, name), content)
	}
	return dir, open(t, dir)
}

// open starts another session in the same workspace.
func open(t *testing.T, dir string) *session {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	s := &session{t: t, seen: map[string]string{}}
	s.env = &tool.Env{
		Root: root, Dir: dir, RunDir: filepath.Join(dir, ".paragents", "run", "p1"), Seen: func(p string) string { return s.seen[p] },
		Readable: func(p string) bool { return !strings.HasPrefix(filepath.Base(p), ".env") },
	}
	return s
}

type args map[string]any

// plan plans a call.
func (s *session) plan(name string, a args) (tool.Plan, error) {
	raw, err := json.Marshal(a)
	must(s.t, err)
	for _, t := range file.Tools() {
		if t.Spec().Name == name {
			return t.Plan(context.Background(), s.env, raw)
		}
	}
	s.t.Fatalf("no tool %s", name)
	return tool.Plan{}, nil
}

// call plans and runs a call.
func (s *session) call(name string, a args) (tool.Result, error) {
	p, err := s.plan(name, a)
	if err != nil {
		return tool.Result{}, err
	}
	r, err := p.Run(context.Background())
	for path, sum := range r.Seen {
		s.seen[path] = sum
	}
	return r, err
}

// out is the output of a call that must succeed.
func (s *session) out(name string, a args) string {
	s.t.Helper()
	r, err := s.call(name, a)
	if err != nil {
		s.t.Fatalf("%s %v: %v", name, a, err)
	}
	return r.Output
}

// refused insists that a call fails, with these words.
func (s *session) refused(words, name string, a args) {
	s.t.Helper()
	r, err := s.call(name, a)
	if err == nil || !strings.Contains(err.Error(), words) {
		s.t.Errorf("%s %v: %q, error %v; want an error with %q", name, a, r.Output, err, words)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644))
}

func get(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	must(t, err)
	return string(raw)
}
