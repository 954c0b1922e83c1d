package agent

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// B041: there is one way to run a tool. Chats, exec, retries, schedules and runs that were taken over all come to the agent, and in the agent a plan is run by exec alone,
// which only start (behind the gate, with an intent) and readAll (what the gate allowed and has no effect) call. Whoever adds another way has to change this test.
func TestB041OneWayToRunATool(t *testing.T) {
	callers := map[string][]string{} // of what: the functions that call it
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
					what := sel.Sel.Name
					if inner, ok := sel.X.(*ast.SelectorExpr); ok {
						what = inner.Sel.Name + "." + what
					}
					callers[what] = append(callers[what], fn.Name.Name)
				}
				return true
			})
		}
	}
	for what, want := range map[string][]string{"plan.Run": {"exec"}, "exec": {"readAll", "start"}, "start": {"settle"}, "readAll": {"calls"}, "settle": {"calls"}} {
		got := slices.Compact(slices.Sorted(slices.Values(callers[what])))
		if !slices.Equal(got, want) {
			t.Errorf("%s is called by %v, want %v: does the new way pass the gate?", what, got, want)
		}
	}
}
