package shell_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"paragents/core/policy"
	"paragents/core/policy/command"
	"paragents/core/policy/files"
	"paragents/core/policy/shell"
	"paragents/core/policy/word"
)

// The longer run: PARAGENTS_FUZZ_SCRIPTS=20000 PARAGENTS_FUZZ_SEED=7 go test -run TestDifferential ./core/policy/shell
const (
	scriptsVar = "PARAGENTS_FUZZ_SCRIPTS"
	seedVar    = "PARAGENTS_FUZZ_SEED"
)

// stubs are programs that write their arguments down and do nothing else.
var stubs = []string{"one", "two", "three", "evil", "fn"}

// tools are real programs that scripts may use; they run only inside a sandbox.
var tools = []string{"env", "xargs", "timeout", "nice", "nohup", "cat", "touch", "cp", "mv", "tee", "sed", "rm", "mkdir", "ln", "find",
	"head", "sort", "bash", "sh", "true", "sleep", "dd", "split", "gzip", "tar"}

// TestDifferentialAgainstBash runs generated and mutated scripts in bash and compares what ran and what changed with
// what the analysis had listed. A script that would be asked in any case proves nothing and is passed over.
func TestDifferentialAgainstBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("bash is missing")
		}
		t.Log("bash is missing: nothing to compare with")
		return
	}
	count, seed := 240, uint64(1)
	if n, err := strconv.Atoi(os.Getenv(scriptsVar)); err == nil {
		count = n
	}
	if n, err := strconv.ParseUint(os.Getenv(seedVar), 10, 64); err == nil {
		seed = n
	}
	g := &grammar{rand.New(rand.NewPCG(seed, 7))}
	var total tallied
	for count > 0 {
		n := min(count, 200)
		count -= n
		scripts := make([]string, n)
		for i := range scripts {
			scripts[i] = g.script()
			if i%2 == 1 {
				scripts[i] = g.mutate(scripts[i])
			}
		}
		total.add(compare(t, bash, scripts))
	}
	t.Logf("%d scripts, %d asked, %d program starts and %d changed files checked", total.scripts, total.asked, total.starts, total.changes)
	if total.starts < total.scripts/10 {
		t.Error("hardly a program was started: the comparison does not work")
	}
}

type tallied struct{ scripts, asked, starts, changes int }

func (a *tallied) add(b tallied) {
	a.scripts += b.scripts
	a.asked += b.asked
	a.starts += b.starts
	a.changes += b.changes
}

// compare judges scripts, runs all of them, and reports every difference.
func compare(t *testing.T, bash string, scripts []string) tallied {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	table, err := command.Load()
	if err != nil {
		t.Fatal(err)
	}
	sandboxed := bwrap() != ""
	var analyses []*shell.Analysis
	for i, text := range scripts {
		dir := filepath.Join(root, strconv.Itoa(i))
		prepare(t, dir, text, sandboxed)
		view := files.NewView(policy.NewOSWorld(filepath.Join(dir, "w"), filepath.Join(dir, "h")))
		analyses = append(analyses, shell.Analyze(text, filepath.Join(dir, "w"), view, table))
	}
	before := snapshot(t, root)
	execute(t, bash, root, len(scripts))
	after := snapshot(t, root)
	sum := tallied{scripts: len(scripts)}
	for i, a := range analyses {
		all, writes := asked(a)
		if writes {
			sum.asked++
		}
		if all {
			continue
		}
		dir := filepath.Join(root, strconv.Itoa(i))
		for _, argv := range started(t, dir) {
			sum.starts++
			if !slices.ContainsFunc(a.Parts, func(p *command.Part) bool { return covers(p, argv, filepath.Join(dir, "w")) }) {
				t.Errorf("script %q ran %q; listed: %s", scripts[i], argv, listed(a))
			}
		}
		if writes {
			continue
		}
		view := files.NewView(policy.NewOSWorld(filepath.Join(dir, "w"), filepath.Join(dir, "h")))
		for name, state := range after {
			if strings.HasPrefix(name, dir+"/") && before[name] != state {
				sum.changes++
				checkChange(t, view, a, scripts[i], name)
			}
		}
		for name := range before {
			if _, still := after[name]; !still && strings.HasPrefix(name, dir+"/") {
				sum.changes++
				checkChange(t, view, a, scripts[i], name)
			}
		}
	}
	return sum
}

// asked reports whether no rule could allow the script. A command with an unknown option is listed with all that is
// known of it, so what starts can be compared although it would be asked; what it writes cannot.
func asked(a *shell.Analysis) (all, writes bool) {
	all = len(a.Reasons) > 0 || a.Refused != ""
	for _, p := range a.Parts {
		writes = writes || p.Opaque != ""
		all = all || p.Opaque != "" && !strings.Contains(p.Opaque, "may be an option")
	}
	return all, writes || all
}

func listed(a *shell.Analysis) string {
	var b strings.Builder
	for _, p := range a.Parts {
		fmt.Fprintf(&b, "[%s] ", p)
	}
	return b.String()
}

func checkChange(t *testing.T, view *files.View, a *shell.Analysis, script, name string) {
	t.Helper()
	for _, w := range a.Writes {
		if holds(view, w, name) {
			return
		}
	}
	var have []string
	for _, w := range a.Writes {
		have = append(have, w.String())
	}
	t.Errorf("script %q changed %s; listed: %s", script, name, strings.Join(have, " "))
}

// holds reports whether a written set holds a file.
func holds(view *files.View, w files.Target, name string) bool {
	if w.Extent == files.Anything {
		return true
	}
	if w.Extent == files.Matching || w.Extent == files.Trees {
		for dir := name; dir != "/"; dir = path.Dir(dir) {
			if ok, err := path.Match(path.Clean(w.Path), dir); ok && err == nil {
				return true
			}
		}
		return false
	}
	for _, f := range files.FormsOf(view, w.Path).Paths {
		if f == name || w.Extent != files.One && strings.HasPrefix(name, f+"/") {
			return true
		}
	}
	return false
}

// covers reports whether a listed part covers a program start.
func covers(p *command.Part, argv []string, dir string) bool {
	if len(p.Words) == 0 || p.Words[0].Kind != word.Known || path.Base(p.Words[0].Text) != argv[0] {
		return false
	}
	var match func(words []word.Word, args []string) bool
	match = func(words []word.Word, args []string) bool {
		if len(words) == 0 {
			return len(args) == 0
		}
		w := words[0]
		switch w.Kind {
		case word.Many:
			return len(args) == 0 && match(words[1:], args) || len(args) > 0 && strings.HasPrefix(args[0], w.Text) || len(args) == 0 && w.Text == ""
		case word.Glob:
			for n := 0; n <= len(args); n++ {
				if n > 0 && match(words[1:], args[n:]) {
					return true
				}
			}
			return false
		}
		if len(args) == 0 {
			return false
		}
		switch w.Kind {
		case word.Known:
			if args[0] != w.Text && !(w.Text == "/dev/fd/63" && strings.HasPrefix(args[0], "/dev/fd/")) {
				return false
			}
		case word.Open, word.Below:
			if !strings.HasPrefix(args[0], w.Text) || w.Numeric && strings.Trim(args[0], "-0123456789") != "" {
				return false
			}
		}
		return match(words[1:], args[1:])
	}
	return match(p.Words[1:], argv[1:])
}

// prepare makes the directory of one script: w to work in, h as home, bin with programs.
func prepare(t *testing.T, dir, script string, sandboxed bool) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"w/d", "w/src/sub", "h", "bin"} {
		must(os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for name, text := range map[string]string{"w/a.txt": "b\na\n", "w/b.txt": "x", "w/d/c.txt": "c", "w/src/m.go": "package m", "h/.rc": "", "script": script} {
		must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	must(os.Symlink("d", filepath.Join(dir, "w/l")))
	must(os.Symlink("../h", filepath.Join(dir, "w/out")))
	for _, name := range stubs {
		stub := "#!/bin/sh\nprintf '%s\\0' \"$#\" \"${0##*/}\" \"$@\" >>\"${0%/bin/*}/log\"\n"
		must(os.WriteFile(filepath.Join(dir, "bin", name), []byte(stub), 0o755))
	}
	for _, name := range tools {
		at, err := exec.LookPath(name)
		if err == nil && (sandboxed || name == "env" || name == "xargs" || name == "cat" || name == "true") {
			must(os.Symlink(at, filepath.Join(dir, "bin", name)))
		}
	}
}

// bwrap returns the path of bubblewrap if it works here.
func bwrap() string {
	at, err := exec.LookPath("bwrap")
	if err != nil || exec.Command(at, "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-all", "true").Run() != nil {
		return ""
	}
	return at
}

// driver runs the scripts of directories one after the other, each in the environment that the bot would build.
const driver = `n=0
for d in "$1"/*; do
  IFS= read -r -d '' s < "$d/script"
  ( cd "$d/w" && exec timeout -s KILL 2 env -i PATH="$d/bin" HOME="$d/h" FUNCNEST=20 "$2" --norc --noprofile -c "$s" ) </dev/null >/dev/null 2>&1 &
  n=$((n+1)); [ $((n % 4)) -eq 0 ] && wait
done
wait
exit 0`

func execute(t *testing.T, bash, root string, count int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(count)*6*time.Second)
	defer cancel()
	argv := []string{bash, "--norc", "--noprofile", "-c", driver, "driver", root, bash}
	if at := bwrap(); at != "" {
		argv = append([]string{at, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", root, root, "--unshare-all",
			"--die-with-parent"}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("run scripts: %v\n%s", err, out)
	}
}

// snapshot returns what there is, and what is in it, but the logs.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Base(name) == "log" {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		state := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			state += " " + info.ModTime().String()
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(name)
			state += " " + target
		}
		out[name] = state
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// started reads the log of the stubs.
func started(t *testing.T, dir string) [][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		return nil
	}
	fields := strings.Split(string(bytes.TrimSuffix(data, []byte{0})), "\x00")
	var out [][]string
	for len(fields) > 1 {
		n, err := strconv.Atoi(fields[0])
		if err != nil || n+2 > len(fields) {
			t.Fatalf("read log of %s: %q", dir, data)
		}
		out = append(out, fields[1:n+2])
		fields = fields[n+2:]
	}
	return out
}
