package policy_test

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"paragents/core/policy"
)

// inputs returns the commands of the tables.
func inputs(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, name := range []string{"testdata/permissions.jsonl", "testdata/own.jsonl"} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var c struct{ Input string }
			if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
				t.Fatal(err)
			}
			out = append(out, c.Input)
		}
	}
	return out
}

var everyTool = []string{"Bash", "Read", "Write", "WebFetch", "MCP", "other"}

func FuzzJudge(f *testing.F) {
	for _, in := range inputs(f) {
		if len(in) < 2000 {
			f.Add(in)
		}
	}
	layer := policy.Layer{Name: "managed", Deny: []string{"Bash(sudo)", "Read(~/.ssh/**)", "Write(.git/**)"}, Ask: []string{"Bash(rm -r)"},
		Allow: []string{"Bash", "Read", "Write(./**)", "MCP"}}
	p, errs := policy.Compile([]policy.Layer{layer}, policy.Options{BuiltIns: true})
	if len(errs) > 0 {
		f.Fatal(errs)
	}
	w := policy.NewOSWorld("/nowhere/app", "/nowhere/home")
	f.Fuzz(func(t *testing.T, input string) {
		for _, tool := range everyTool {
			call := policy.Call{Tool: tool, Input: input}
			v := p.Judge(call, w)
			if again := p.Judge(call, w); !reflect.DeepEqual(v, again) {
				t.Errorf("%s %q: %+v, then %+v", tool, input, v, again)
			}
			if v.Reason == "" {
				t.Errorf("%s %q: no reason", tool, input)
			}
			if v.Decision == policy.Allow && (v.Opaque || len(v.Offers) > 0) {
				t.Errorf("%s %q: allowed with doubts: %+v", tool, input, v)
			}
		}
	})
}

func FuzzRule(f *testing.F) {
	for _, text := range []string{"Bash(git push:*)", "Bash(A=* 'x y' \\*)", "Read(~/**/x?)", "WebFetch(domain:*.x.org:80)", "MCP(a:b*)"} {
		f.Add(text, "git push --force")
	}
	w := policy.NewOSWorld("/nowhere/app", "/nowhere/home")
	f.Fuzz(func(t *testing.T, text, input string) {
		r, err := policy.ParseRule(text)
		if err != nil {
			return
		}
		if again, err := policy.ParseRule(r.String()); err != nil || again.String() != r.String() {
			t.Fatalf("%q is written as %q, which is read as %q, %v", text, r, again, err)
		}
		p, errs := policy.Compile([]policy.Layer{{Name: "user", Deny: []string{text}}}, policy.Options{})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for _, tool := range everyTool {
			if v := p.Judge(policy.Call{Tool: tool, Input: input}, w); v.Decision == policy.Allow && tool != "Bash" {
				t.Fatalf("a policy without allow rules allows %s %q", tool, input)
			}
		}
	})
}

// worst are inputs that ask much of the analysis.
func worst() map[string]string {
	full := func(piece string) string { return strings.Repeat(piece, 32<<10/len(piece)) }
	return map[string]string{
		"true":              full("true;"),
		"brackets":          full("("),
		"some brackets":     strings.Repeat("(", 1900) + strings.Repeat(")", 1900),
		"arithmetic":        full("(("),
		"some arithmetic":   strings.Repeat("$((", 900) + strings.Repeat("))", 900),
		"substitutions":     strings.Repeat("$(", 900) + "x" + strings.Repeat(")", 900),
		"quoted":            strings.Repeat("\"$(", 900) + "x" + strings.Repeat(")\"", 900),
		"defaults":          strings.Repeat("${a:-'", 900) + strings.Repeat("'}", 900),
		"backquotes":        full("`x` "),
		"ifs":               strings.Repeat("if x; then ", 900) + strings.Repeat("fi;", 900),
		"signs":             "echo $((" + strings.Repeat("-", 30000) + "1))",
		"nots":              full("! "),
		"pipes":             full("a|"),
		"ands":              full("a&&") + "b",
		"braces":            "echo " + strings.Repeat("{a,b}", 900),
		"nested braces":     "echo " + strings.Repeat("{a,", 900) + strings.Repeat("}", 900),
		"assignments":       full("abc=1;"),
		"other assignments": full("a=1&&"),
		"words":             "echo" + full(" a"),
		"operands":          "rm" + strings.Repeat(" a", 15000),
		"options":           "foo" + strings.Repeat(" -a b", 10000),
		"globs":             "cat" + strings.Repeat(" *", 15000),
		"deep globs":        "cat " + strings.Repeat("*/", 200),
		"stars":             "cat " + strings.Repeat("*a", 3000),
		"dots":              "cat " + strings.Repeat("../", 10000),
		"here-documents":    strings.Repeat("cat <<E\nE\n", 3000),
		"comments":          full("#\\\n"),
		"unclosed":          full("$(x '"),
		"mixed":             full("$(x '\"`"),
		"evals":             strings.Repeat("eval 'eval \"", 1000),
		"functions":         full("f(){ f;};"),
		"loops":             strings.Repeat("for x in a b c d e f g h; do ", 12) + "echo $x;" + strings.Repeat("done;", 12),
		"wrappers":          full("nice "),
		"xargs":             full("xargs "),
		"finds":             full("find . -exec "),
		"urls":              "foo" + full(" http://a/"),
		"mentions":          "foo " + full("a/b:"),
		"redirections":      "a" + full(" >b"),
	}
}

// TestNoInputTakesLong bounds what an agent can make the judge do. The bound is generous: machines differ.
func TestNoInputTakesLong(t *testing.T) {
	layer := policy.Layer{Name: "managed", Deny: []string{"Bash(sudo)", "Bash(rm -rf a b c)", "Read(**/x/**/y)", "Bash(foo * * * x)"}, Allow: []string{"Bash", "Read"}}
	p := usual(t, layer)
	w, _ := place(t)
	for name, input := range worst() {
		start := time.Now()
		v := p.Judge(bash(input), w)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: %v", name, took)
		} else {
			t.Logf("%s: %v %s", name, took, v.Decision)
		}
	}
}

func benchmark(b *testing.B, input string) {
	layer := policy.Layer{Name: "workspace", Deny: []string{"Bash(sudo)", "Bash(git push --force)", "Read(~/.ssh/**)"}, Ask: []string{"Bash(rm -r)"},
		Allow: []string{"Bash(go test:*)", "Bash(git status)", "Bash(ls:*)", "Bash(head:*)", "Bash(cat:*)", "Read(./**)", "Write(./**)"}}
	p, errs := policy.Compile([]policy.Layer{layer}, policy.Options{BuiltIns: true, ReadDefault: true})
	if len(errs) > 0 {
		b.Fatal(errs)
	}
	w := policy.NewOSWorld("/nowhere/app", "/nowhere/home")
	b.ReportAllocs()
	for b.Loop() {
		p.Judge(bash(input), w)
	}
}

func BenchmarkJudgeOneCommand(b *testing.B) { benchmark(b, "git status") }

// BenchmarkJudgeUsualLine should stay below 100 µs.
func BenchmarkJudgeUsualLine(b *testing.B) {
	benchmark(b, "cd src && go test ./... 2>&1 | head -20; cat go.mod")
}

// BenchmarkJudgeFullSize should stay below 100 ms.
func BenchmarkJudgeFullSize(b *testing.B) { benchmark(b, strings.Repeat("true;", 64<<10/5)) }
