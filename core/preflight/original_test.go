package preflight_test

import (
	"maps"
	"slices"
	"testing"

	"paragents/core"
	"paragents/core/policy"
	"paragents/core/preflight"
)

// judged is a workspace whose commands the real judge analyses.
func judged(t *testing.T) preflight.World {
	t.Helper()
	root := t.TempDir()
	p, errs := policy.Compile(nil, policy.Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	facts := policy.NewOSWorld(root, "")
	return preflight.World{Root: root, Analyse: func(c string) ([]string, bool) {
		v := p.Judge(policy.Call{Tool: "Bash", Input: c}, facts)
		return v.Writes, !v.Opaque
	}}
}

// What the program that this one replaces found in texts, with the judge as the analyser.
func TestOriginalFindings(t *testing.T) {
	for _, tt := range []struct {
		text            string
		writes, without []string
		actions         []string
		capabilities    []string
		confidence      float64
	}{
		{
			text:         "python build.py > out/result.json && tee logs/run.log && cp src/a.py dist/a.py && mkdir -p tmp/cache",
			writes:       []string{"dist/a.py", "logs/run.log", "out/result.json", "tmp", "tmp/cache"}, // mkdir -p makes both
			actions:      []string{"copy", "mkdir", "run_command", "script", "write_file"},
			capabilities: []string{"filesystem", "python", "shell"}, confidence: 0.9,
		},
		{
			text:         "echo hi | tee -a logs/run.log && cp -r src_dir dst_dir && mv -f old.txt new.txt",
			writes:       []string{"dst_dir", "logs/run.log", "new.txt", "old.txt"},
			actions:      []string{"append", "copy", "move", "run_command"},
			capabilities: []string{"filesystem", "shell"}, confidence: 0.9,
		},
		{
			text:         "请把这次代码提交，并输出到 reports/result.json",
			writes:       []string{"reports/result.json"},
			actions:      []string{"commit", "write_file"},
			capabilities: []string{"filesystem", "git"}, confidence: 0.8,
		},
		{text: "python a.py", writes: []string{}, actions: []string{"run_command", "script"}, capabilities: []string{"python", "shell"}, confidence: 0.9},
		{text: "普通一句话", writes: []string{}, actions: []string{}, capabilities: []string{}, confidence: 0.3},
	} {
		g := preflight.Infer(tt.text, judged(t))
		if !slices.Equal(g.Writes, tt.writes) || !slices.Equal(g.Actions, tt.actions) || !slices.Equal(g.Capabilities, tt.capabilities) || g.Confidence != tt.confidence {
			t.Errorf("%s: got %+v", tt.text, g)
		}
	}
}

// Two prompts that run Python conflict only where they write the same.
func TestOriginalCapabilitiesAreNoConflict(t *testing.T) {
	w := judged(t)
	overlaps := func(a, b string) int {
		x := preflight.NewIndex(preflight.Infer(a, w).Claims, false)
		return len(x.Conflicts(maps.All(map[id][]preflight.Claim{"b": preflight.Infer(b, w).Claims})))
	}
	if n := overlaps("python a.py", "python b.py"); n != 0 {
		t.Errorf("two scripts: %d conflicts", n)
	}
	if n := overlaps("python a.py > reports/result.json", "python b.py > reports/result.json"); n != 1 {
		t.Errorf("two scripts into one file: %d conflicts", n)
	}
}

// Session 1 edits tracked files, session 2 changes the branch under it.
func TestB055CheckoutMeetsEveryEdit(t *testing.T) {
	w := judged(t)
	edit := preflight.Infer("fix the bug in src/main.go", w).Claims
	for _, command := range []string{"git checkout other", "git switch other", "git restore .", "git reset --hard", "git stash", "git rebase main", "git merge x", "git pull"} {
		claims := preflight.Command(command, w).Claims
		if !slices.Contains(claims, ".") || !slices.Contains(claims, preflight.GitIndex) {
			t.Errorf("%s claims %q", command, claims)
		}
		if got := preflight.NewIndex(claims, false).Conflicts(maps.All(map[id][]preflight.Claim{"1": edit})); len(got) != 1 || got[0].Theirs != "src/main.go" {
			t.Errorf("%s against an edit of src/main.go: %v", command, got)
		}
	}
}

type id = core.PromptID
