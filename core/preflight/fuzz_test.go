package preflight_test

import (
	"reflect"
	"strings"
	"testing"

	"paragents/core/preflight"
)

// FuzzInfer: whatever the text and whatever the analyser says, the guess is the same each time, and all its paths are clean and in the workspace.
func FuzzInfer(f *testing.F) {
	for _, seed := range []string{
		"", "write a.txt and ../b", "```sh\nrm -rf /\n```", "run `cp a b` > c", "把 a.md 改名为 docs/报告.md，提交并推送到 origin/main", "$ git push https://a:b@c/d x:y",
		"don't “write” {a,b}/c.go [x](y.md)", "在 src 目录下创建 a.go", "\ufffc`\xff`$ echo '", "create a.go in the docs folder", "推", "git:index",
	} {
		f.Add(seed)
	}
	w := preflight.World{Root: "/srv/ws", Home: "/home/rob", Analyse: func(c string) ([]string, bool) { return strings.Fields(c), len(c)%3 > 0 }}
	f.Fuzz(func(t *testing.T, text string) {
		g := preflight.Infer(text, w)
		if again := preflight.Infer(text, w); !reflect.DeepEqual(g, again) {
			t.Fatalf("two guesses: %+v, %+v", g, again)
		}
		if g.Confidence <= 0 || g.Confidence > 1 {
			t.Errorf("confidence %v", g.Confidence)
		}
		if g.Writes == nil || g.Claims == nil || g.Actions == nil || g.Capabilities == nil || g.Notes == nil {
			t.Errorf("a list is null: %+v", g)
		}
		for _, p := range append(strs(g.Claims), g.Writes...) {
			c, err := preflight.Clean("/srv/ws", p)
			if err != nil || string(c) != p || strings.HasPrefix(p, "/") {
				t.Errorf("path %q: clean %q, %v", p, c, err)
			}
		}
	})
}
