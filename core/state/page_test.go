package state_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// families reads the page: what stands in the first column of its tables, without what is in <>.
func families(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/store.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)(?:/<[a-z]+>)?` \\|(.*)$").FindAllStringSubmatch(string(raw), -1) {
		if slices.ContainsFunc(strings.Split(strings.Trim(row[2], " |"), "|"), func(cell string) bool { return strings.TrimSpace(cell) == "" }) {
			t.Errorf("a cell of %s is empty", row[1])
		}
		out = append(out, row[1])
	}
	return out
}

// The page lists every family that keys.go has a name for, and no other.
func TestThePageListsEveryFamily(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "keys.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Bell") {
					return false // bells are not kept
				}
			}
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		if family, _, _ := strings.Cut(text, "/"); family != "" && !strings.HasPrefix(text, "paragents") {
			named[family] = true
		}
		return true
	})
	listed := families(t)
	for _, family := range listed {
		if !named[family] {
			t.Errorf("the page lists %s, and keys.go has no name for it", family)
		}
	}
	for family := range named {
		if !slices.Contains(listed, family) {
			t.Errorf("docs/store.md does not say whose %s is and when it goes", family)
		}
	}
}
