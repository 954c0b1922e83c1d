package policy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"path"
	"strings"

	"paragents/core/policy/files"
)

// tableFile is a file of rule sets and the made-up world that its cases live in.
type tableFile struct {
	World    tableWorldFile      `json:"world"`
	Rulesets map[string]tableSet `json:"rulesets"`
}

type tableWorldFile struct {
	Workspace string              `json:"workspace"`
	Home      string              `json:"home"`
	Links     map[string]string   `json:"links"`
	Files     []string            `json:"files"`
	Hosts     map[string][]string `json:"hosts"`
	Redirects map[string]string   `json:"redirects"`
}

type tableSet struct {
	Managed, Workspace, User, Session struct{ Deny, Ask, Allow []string }

	WorkspaceTrusted *bool `json:"workspace_trusted"`
	ManagedAllowOnly bool  `json:"managed_allow_only"`
}

type tableCase struct {
	ID     string    `json:"id"`
	Tool   string    `json:"tool"`
	Input  string    `json:"input"`
	Cwd    string    `json:"cwd"`
	Rules  string    `json:"rules"`
	Want   string    `json:"want"`
	Writes *[]string `json:"writes"`
	Why    string    `json:"why"`
}

// RunTable judges a table of cases, one JSON object a line, with the rule sets and the world of another file, and
// writes a line for every case that differs and a last line that counts. The error is about reading, not about cases.
func RunTable(rulesets, cases io.Reader, out io.Writer) (passed, failed int, err error) {
	var file tableFile
	if err := json.NewDecoder(rulesets).Decode(&file); err != nil {
		return 0, 0, fmt.Errorf("read rule sets: %w", err)
	}
	world, err := newTableWorld(file.World)
	if err != nil {
		return 0, 0, fmt.Errorf("read world of the rule sets: %w", err)
	}
	policies := map[string]*Policy{}
	for name, set := range file.Rulesets {
		p, errs := set.compile()
		if len(errs) > 0 {
			return 0, 0, fmt.Errorf("compile rule set %s: %w", name, errs[0])
		}
		policies[name] = p
	}
	lines := bufio.NewScanner(cases)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var c tableCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return passed, failed, fmt.Errorf("read cases: line %d: %w", n, err)
		}
		p := policies[c.Rules]
		if p == nil {
			return passed, failed, fmt.Errorf("read case %s: no rule set %q", c.ID, c.Rules)
		}
		v := p.Judge(Call{Tool: c.Tool, Input: c.Input, Dir: c.Cwd}, world)
		if why := c.differs(v); why != "" {
			failed++
			fmt.Fprintf(out, "%s: %s (%s)\n", c.ID, why, c.Why)
			continue
		}
		passed++
	}
	if err := lines.Err(); err != nil {
		return passed, failed, fmt.Errorf("read cases: %w", err)
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	return passed, failed, nil
}

// compile makes the policy of a rule set; the workspace layer counts as confirmed unless it says otherwise.
func (s tableSet) compile() (*Policy, []error) {
	layer := func(name string, l struct{ Deny, Ask, Allow []string }) Layer {
		return Layer{Name: name, Deny: l.Deny, Ask: l.Ask, Allow: l.Allow}
	}
	workspace := layer("workspace", s.Workspace)
	workspace.Unconfirmed = s.WorkspaceTrusted != nil && !*s.WorkspaceTrusted
	return Compile([]Layer{layer(managed, s.Managed), workspace, layer("user", s.User), layer("session", s.Session)},
		Options{ManagedAllowOnly: s.ManagedAllowOnly})
}

// differs says how a verdict differs from what the case wants, or nothing.
func (c tableCase) differs(v Verdict) string {
	if v.Decision.String() != c.Want {
		return fmt.Sprintf("want %s, got %s: %s", c.Want, v.Decision, v.Reason)
	}
	if c.Writes == nil {
		return ""
	}
	if len(*c.Writes) == 0 && len(v.Writes) > 0 {
		return fmt.Sprintf("want no writes, got %s", strings.Join(v.Writes, " "))
	}
	listed := false
	for _, w := range *c.Writes {
		listed = listed || w == "?"
		if !coversWrite(v.Writes, w) {
			return fmt.Sprintf("want write of %s, got %s", w, strings.Join(v.Writes, " "))
		}
	}
	if !listed {
		for _, w := range v.Writes {
			if w == "?" {
				return "got a write to a path that is not known"
			}
		}
	}
	return ""
}

// coversWrite reports whether a set of written paths, in the notation of the table, covers one: by the same path, by
// P/** above it, by a glob, or by ?.
func coversWrite(set []string, want string) bool {
	for _, have := range set {
		if have == want || have == "?" {
			return true
		}
		if dir, ok := strings.CutSuffix(have, "/**"); ok && (want == dir || strings.HasPrefix(want, dir+"/")) {
			return true
		}
		if ok, err := path.Match(have, want); err == nil && ok {
			return true
		}
	}
	return false
}

// tableWorld is the made-up world of a table. Nothing is known about directories outside the workspace and the home.
type tableWorld struct {
	file  tableWorldFile
	kinds map[string]files.Kind
	lists map[string][]string
	hosts map[string][]netip.Addr
}

func newTableWorld(f tableWorldFile) (*tableWorld, error) {
	w := &tableWorld{file: f, kinds: map[string]files.Kind{}, lists: map[string][]string{}, hosts: map[string][]netip.Addr{}}
	w.kinds[f.Workspace], w.kinds[f.Home] = files.Dir, files.Dir
	for _, name := range f.Files {
		w.add(name, files.File)
	}
	for name := range f.Links {
		w.add(name, files.Link)
	}
	for host, texts := range f.Hosts {
		for _, text := range texts {
			a, err := netip.ParseAddr(text)
			if err != nil {
				return nil, err
			}
			w.hosts[host] = append(w.hosts[host], a)
		}
	}
	return w, nil
}

// add enters a name and the directories above it.
func (w *tableWorld) add(name string, kind files.Kind) {
	for w.kinds[name] == files.Unknown && name != "/" {
		w.kinds[name] = kind
		dir := path.Dir(name)
		w.lists[dir] = append(w.lists[dir], path.Base(name))
		if !w.inside(dir) {
			return
		}
		name, kind = dir, files.Dir
	}
}

func (w *tableWorld) inside(name string) bool {
	for _, root := range []string{w.file.Workspace, w.file.Home} {
		if name == root || strings.HasPrefix(name, root+"/") {
			return true
		}
	}
	return false
}

func (w *tableWorld) Workspace() string { return w.file.Workspace }

func (w *tableWorld) Home() string { return w.file.Home }

func (w *tableWorld) Lstat(name string) (files.Kind, string) {
	kind := w.kinds[name]
	if kind == files.Unknown && w.inside(name) {
		kind = files.Missing
	}
	return kind, w.file.Links[name]
}

func (w *tableWorld) List(dir string) ([]string, bool) {
	return w.lists[dir], w.inside(dir) && w.kinds[dir] == files.Dir
}

func (w *tableWorld) Resolve(host string) []netip.Addr { return w.hosts[host] }

func (w *tableWorld) Redirect(url string) (string, bool) {
	to, ok := w.file.Redirects[url]
	return to, ok
}
