package core_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "paragents/"

// layers says what a folder may import of ours, and why. The first line that fits a package counts; a package that none fits fails.
var layers = []struct {
	from    string
	may     []string
	because string
}{
	{"core/lazy", nil, "regular expressions know nothing"},
	{"core/policy", []string{"core", "core/lazy", "core/policy"}, "a verdict is a pure function: it needs nouns and nothing that runs"},
	{"core/preflight", []string{"core", "core/lazy", "core/policy", "core/preflight"}, "what a text will write is inferred without running anything"},
	{"core/claims", []string{"core", "core/preflight"}, "who writes what is decided on documents, whoever keeps them"},
	{"core/sandbox", []string{"core/sandbox"}, "starting commands knows nothing of sessions"},
	{"core/worktree", []string{"core", "core/sandbox"}, "directories and git decide nothing: whose they are and who may is for callers to know"},
	{"core/tool", []string{"core", "core/tool", "core/sandbox"}, "a tool never asks by itself: it cannot reach people, rules or the store"},
	{"core/llm", []string{"core", "core/lazy", "core/llm"}, "a model client knows conversations, not what they are for"},
	{"core/state", []string{"core", "store"}, "documents are nouns written into a store"},
	{"core/access", []string{"core", "core/state", "store"}, "rights are read and judged below everything that asks for them"},
	{"core/audit", []string{"core", "core/state", "store"}, "the record of what happened stands below everything that writes into it"},
	{"core/freeze", []string{"core", "core/state", "core/audit", "store"}, "the brake depends on nothing that it has to stop"},
	{"core/fleet", []string{"core", "core/state", "core/access", "store"}, "what the replicas go by is known below everything that goes by it"},
	{"core/replica", []string{"core", "core/state", "core/fleet", "store"}, "being alive and who else is knows nothing of the work that depends on it"},
	{"core/workspace", []string{"core", "core/state", "store"}, "which directory a workspace is follows from the directory and a document"},
	{"core/moves", []string{"core", "core/state", "core/audit", "store"}, "what follows from a move is the same, whoever makes it"},
	{"core/reader", []string{"core", "core/state", "store"}, "whoever reads changes nothing"},
	{"core/reserve", []string{"core", "core/state", "core/claims", "core/preflight", "core/moves", "store"}, "who holds what is known to those who ask for it and to those who decide about it"},
	{"core/orders", []string{"core", "core/state", "core/audit", "core/freeze", "core/preflight", "core/moves", "core/reader", "core/reserve", "store"}, "a person's wish is a commit: it reaches nothing that runs"},
	{"core/scheduler", []string{"core", "core/state", "core/audit", "core/freeze", "core/fleet", "core/replica", "core/claims", "core/preflight", "core/moves", "core/reader", "core/reserve", "core/orders", "core/scheduler", "store", "store/local", "store/redis", "core/llm"}, "the scheduler moves prompts; what runs them, and what people see, is handed in"},
	{"core/janitor", []string{"core", "core/state", "core/orders", "core/worktree", "store"}, "what may go is said by documents and git; nobody is asked"},
	{"core/delivery", []string{"core", "core/state", "core/delivery", "store"}, "sending knows letters and adapters, not what is in them"},
	{"core/agent/transcript", []string{"core", "core/llm"}, "what the model is asked with follows from the records alone"},
	{"core/agent", []string{"core", "store"}, "the agent stands on everything in core, and on no chat"},
	{"core", nil, "nouns import nothing of ours, so that everybody can import them"},
	{"store/storetest", []string{"store"}, "the exam knows the contract alone"},
	{"store/redis", []string{"store", "store/redis", "store/storetest"}, "a store knows the contract and its own client"},
	{"store/local", []string{"store", "store/local", "store/storetest"}, "a store knows the contract and its own client"},
	{"store", nil, "the contract imports nothing of ours"},
	{"adapters/adaptertest", []string{"core"}, "the exam knows the contract alone"},
	{"adapters/slack", []string{"core", "adapters/adaptertest", "adapters/slack"}, "an adapter knows places, messages and events as plain data, and its own client; never the bot, the store or another adapter"},
	{"adapters", []string{"core", "adapters/adaptertest"}, "an adapter knows places, messages and events as plain data, and its own client; never the bot, the store or another adapter"},
	{"bot", []string{"core", "store", "bot", "store/local"}, "the bot speaks to every platform alike: it sees no adapter"},
	{"cmd", []string{"core", "store", "bot", "adapters", "cmd", "deploy/slack"}, "cmd wires it all, and hands out the manifest of the Slack app"},
	{"deploy", []string{"core", "store", "bot", "adapters", "cmd", "deploy"}, "benches and demos stand on top"},
}

type listed struct {
	ImportPath                         string
	Dir                                string
	Imports, TestImports, XTestImports []string
	GoFiles                            []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,GoFiles", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module)
		all = append(all, p)
	}
}

func under(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// TestLayers holds every import of the project against the table.
func TestLayers(t *testing.T) {
	for _, p := range packages(t) {
		i := slices.IndexFunc(layers, func(l struct {
			from    string
			may     []string
			because string
		}) bool {
			return under(p.ImportPath, l.from)
		})
		if i < 0 {
			t.Errorf("%s stands in no layer; give it one in this test, with the reason", p.ImportPath)
			continue
		}
		l := layers[i]
		for _, imp := range p.Imports {
			dep, ours := strings.CutPrefix(imp, module)
			if !ours || dep == p.ImportPath {
				continue
			}
			allowed := slices.ContainsFunc(l.may, func(m string) bool {
				return under(dep, m) && (m != "core" || l.from == "core/agent" || dep == "core" || top(l.from))
			})
			if !allowed {
				t.Errorf("%s imports %s, but %s", p.ImportPath, dep, l.because)
			}
		}
	}
}

// top reports whether a folder may see all of core.
func top(folder string) bool { return folder == "bot" || folder == "cmd" || folder == "deploy" }

// TestOneCommentForEachPackage: a package says once what it is.
func TestOneCommentForEachPackage(t *testing.T) {
	for _, p := range packages(t) {
		n := 0
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if f.Doc != nil {
				n++
			}
		}
		if len(p.GoFiles) > 0 && n != 1 {
			t.Errorf("%s has %d package comments; one says what it is", p.ImportPath, n)
		}
	}
}

// TestNoPlatformByName: what is special about a platform is data that its adapter declares, so its name stands in no string of the core or the bot. What tokens look
// like is the one exception.
func TestNoPlatformByName(t *testing.T) {
	for _, p := range packages(t) {
		if !under(p.ImportPath, "core") && !under(p.ImportPath, "bot") || under(p.ImportPath, "core/policy/redact") {
			continue
		}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					for _, platform := range []string{"telegram", "discord", "slack"} {
						if strings.Contains(strings.ToLower(lit.Value), platform) && !under(p.ImportPath, "bot/markup") {
							t.Errorf("%s/%s names %s: %s", p.ImportPath, name, platform, lit.Value)
						}
					}
				}
				return true
			})
		}
	}
}
