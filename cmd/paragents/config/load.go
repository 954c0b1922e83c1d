package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// FileName is what a configuration is called, in the current directory and in the user's configuration folder.
const FileName = "paragents.yaml"

// Options say where to look. Load asks nothing else of the machine than the files that these lead to.
type Options struct {
	Path          string   // of --config; empty: PARAGENTS_CONFIG, or else the usual places
	Dir           string   // the current directory, absolute
	Environ       []string // as os.Environ returns it
	UserConfigDir string   // as os.UserConfigDir returns it; empty: there is none
	// Confirmed reports whether a person confirmed the file with this SHA-256 (hex) on the terminal; nil: nobody did.
	Confirmed func(hash string) bool
	// CheckRule says what is wrong with a rule; nil: rules are not looked at.
	CheckRule func(rule string) error
}

// Load reads the configuration and checks it. The file is the one that Options or PARAGENTS_CONFIG name, which must exist; otherwise
// the user's, with a paragents.yaml of the current directory on top of it, and either may be missing. That last one came with the
// directory, so it is foreign: until a person confirmed its hash only its deny and ask rules count, and a warning names what does not.
//
// The error is Problems, with everything that is wrong. Warnings come with or without an error. The caller owns the configuration.
func Load(o Options) (*Config, []Warning, error) {
	c := Default()
	var problems Problems
	c.meta = meta{sources: make(map[string]Source), unset: make(map[string]string)}
	d := &decoder{dir: o.Dir, env: environment(o.Environ), meta: &c.meta, problems: &problems}

	warnings := d.files(c, o)
	warnings = append(warnings, d.environ(c)...)
	chosen := d.settle(c)
	more, err := c.Validate(o.CheckRule)
	warnings = append(warnings, more...)
	if invalid, ok := errors.AsType[Problems](err); ok {
		problems = problems.and(invalid)
	}
	if err := problems.err(); err != nil {
		return nil, warnings, err
	}
	return c, append(warnings, chosen...), nil
}

// files reads the one that was named, or the user's and the foreign one.
func (d *decoder) files(c *Config, o Options) []Warning {
	named := o.Path
	if named == "" {
		named = d.env[envPrefix+"CONFIG"]
	}
	if named != "" {
		c.meta.path = absolute(o.Dir, named)
		d.file = named
		if data, ok := d.read(c.meta.path, true); ok {
			d.layer(c, data)
		}
		return nil
	}
	if o.UserConfigDir != "" {
		c.meta.path = filepath.Join(o.UserConfigDir, "paragents", FileName)
		d.file = c.meta.path
		if data, ok := d.read(c.meta.path, false); ok {
			d.layer(c, data)
		}
	}
	local := filepath.Join(o.Dir, FileName)
	if same(local, c.meta.path) {
		return nil
	}
	d.file = FileName
	data, ok := d.read(local, false)
	if !ok {
		return nil
	}
	return d.foreign(c, local, data, o.Confirmed)
}

// read reads a file; ok is false when there is none, or none that can be read.
func (d *decoder) read(path string, must bool) (data []byte, ok bool) {
	data, err := readFile(path, maxFile)
	switch {
	case err == nil:
		d.meta.files = append(d.meta.files, path)
		return data, true
	case errors.Is(err, fs.ErrNotExist) && !must:
		return nil, false
	}
	d.problem(0, fmt.Sprintf("read configuration: %v", err), "")
	return nil, false
}

// same reports whether two paths lead to one file.
func same(a, b string) bool {
	ia, err := os.Stat(a)
	if err != nil {
		return false
	}
	ib, err := os.Stat(b)
	return err == nil && os.SameFile(ia, ib)
}

// layer reads a whole file over the configuration.
func (d *decoder) layer(c *Config, data []byte) {
	if root := d.parse(data); root != nil {
		d.value(root, reflect.ValueOf(c).Elem(), "", field{})
	}
}

// workspaces reads the list: an entry changes the workspace of that name in an earlier file, and is added where there is none.
func (d *decoder) workspaces(n *ast.SequenceNode, v reflect.Value, path string) {
	list := v.Interface().([]Workspace)
	if !d.meta.workspaces {
		list = nil // the default one
	}
	d.meta.workspaces = true
	before := len(list)
	for _, item := range n.Values {
		i := len(list)
		if empty(item) {
			d.fail(item, path, "has an empty entry", "take it away")
			continue
		}
		for j := range before {
			if list[j].Name == nameOf(item) {
				i = j
			}
		}
		if i == len(list) {
			list = append(list, fresh(reflect.TypeFor[Workspace]()).Interface().(Workspace))
		}
		d.value(item, reflect.ValueOf(&list[i]).Elem(), at(path, i), field{})
	}
	v.Set(reflect.ValueOf(list))
}

// nameOf is the name that a workspace of a file gives itself.
func nameOf(item ast.Node) string {
	list, _ := pairs(item)
	for _, pair := range list {
		if pair.Key.GetToken().Value == "name" {
			text, _ := scalarText(pair.Value)
			return text
		}
	}
	return ""
}

// settle makes paths absolute, takes OpenAI's own variable, and chooses who answers.
func (d *decoder) settle(c *Config) []Warning {
	for i := range c.Workspaces {
		if path := c.Workspaces[i].Path; path != "" && !strings.HasPrefix(path, "~") {
			c.Workspaces[i].Path = absolute(d.dir, path)
		}
	}
	if path, ok := strings.CutPrefix(string(c.Store.URL), "file:"); ok && path != "" {
		c.Store.URL = URL("file:" + absolute(d.dir, path))
	}
	if key := d.env["OPENAI_API_KEY"]; key != "" && c.LLM.APIKey.Reveal() == "" && c.LLM.BaseURL == OpenAI {
		c.LLM.APIKey = NewSecret(key)
		c.meta.sources["llm.api_key"] = Source{Env: "OPENAI_API_KEY"}
	}
	hasKey := c.LLM.APIKey.Reveal() != ""
	switch {
	case c.LLM.Provider == "" && (hasKey || c.LLM.BaseURL != OpenAI):
		c.LLM.Provider = "openai"
		c.meta.sources["llm.provider"] = Source{Note: "chosen: there is a key or another base_url"}
	case c.LLM.Provider == "":
		c.LLM.Provider = "demo"
		c.meta.sources["llm.provider"] = Source{Note: "chosen: there is no key and no other base_url"}
		return []Warning{{Key: "llm", Text: "the built-in demo model answers, because there is no key" + d.meta.because("llm.api_key"),
			Hint: "set llm.api_key or OPENAI_API_KEY, or llm.base_url for an endpoint that needs none"}}
	case c.LLM.Provider == "openai" && !hasKey && c.LLM.BaseURL == OpenAI:
		return []Warning{{Source: d.meta.source("llm.provider"), Key: "llm.api_key",
			Text: "is missing" + d.meta.because("llm.api_key") + ", and OpenAI answers nobody without one", Hint: "set it, or OPENAI_API_KEY"}}
	}
	return nil
}

// source is where the value at a path, or the nearest thing around it, was written.
func (m *meta) source(path string) Source {
	for path != "" {
		if s, ok := m.sources[path]; ok {
			return s
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return Source{}
}

// because explains a secret that is empty although it was configured.
func (m *meta) because(path string) string {
	if variable := m.unset[path]; variable != "" {
		return fmt.Sprintf(" (%s names ${%s}, which is not set)", m.source(path), variable)
	}
	return ""
}

// Path is the absolute path of the configuration: the file that was named, or the user's, which need not exist. It tells deployments apart.
func (c *Config) Path() string { return c.meta.path }

// Files are the absolute paths of all files that were read, secrets too: no tool may touch them.
func (c *Config) Files() []string { return c.meta.files }

// Foreign is the paragents.yaml of the current directory; nil: there is none, or it was named.
func (c *Config) Foreign() *Foreign { return c.meta.foreign }

// Foreign is a paragents.yaml that lay in the current directory and was not named by anybody: it may have come with a repository.
type Foreign struct {
	Path      string // absolute
	Hash      string // SHA-256 of what was read, hex: what a person confirms
	Confirmed bool
	Ignored   []string // keys that did not count, in the order of the file; none when confirmed
}

// foreign reads such a file: all of it when it was confirmed, else only what tightens.
func (d *decoder) foreign(c *Config, path string, data []byte, confirmed func(string) bool) []Warning {
	sum := sha256.Sum256(data)
	f := &Foreign{Path: path, Hash: hex.EncodeToString(sum[:])}
	c.meta.foreign = f
	if f.Confirmed = confirmed != nil && confirmed(f.Hash); f.Confirmed {
		d.layer(c, data)
		return nil
	}
	root := d.parse(data)
	if empty(root) {
		return nil
	}
	d.tighten(root, c, f)
	if len(f.Ignored) == 0 {
		return nil
	}
	const most = 12
	shown := strings.Join(f.Ignored[:min(most, len(f.Ignored))], ", ")
	if n := len(f.Ignored) - most; n > 0 {
		shown += fmt.Sprintf(" and %d more", n)
	}
	return []Warning{{Source: Source{File: d.file},
		Text: "came with this directory and nobody confirmed it, so only its deny and ask rules count; ignored: " + shown,
		Hint: "read it and confirm it on the terminal (SHA-256 " + f.Hash + "), or give it with --config"}}
}

// tighten takes the deny and ask rules of a file and notes everything else. What stands where such rules should be and cannot be read is a
// mistake like any other: a deny rule must not get lost.
func (d *decoder) tighten(root ast.Node, c *Config, f *Foreign) {
	list, ok := pairs(root)
	if !ok {
		d.fail(root, "", "is not a section", "write settings as key: value")
		return
	}
	for _, pair := range list {
		switch key := pair.Key.GetToken().Value; key {
		case "rules":
			d.tightenRules(pair.Value, &c.Rules, "rules", key, f)
		case "workspaces":
			d.tightenWorkspaces(pair.Value, c, f)
		default:
			f.Ignored = append(f.Ignored, leaves(pair.Value, name(key))...)
		}
	}
}

// tightenWorkspaces gives the rules to the workspace of that name, and to all where there is none: nothing that tightens is dropped.
func (d *decoder) tightenWorkspaces(n ast.Node, c *Config, f *Foreign) {
	if empty(n) {
		return
	}
	sequence, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(n, "workspaces", "is not a list", "write it as lines that begin with -")
		return
	}
	for i, item := range sequence.Values {
		shown := at("workspaces", i)
		list, ok := pairs(item)
		if !ok {
			d.fail(item, shown, "is not a section", "write its settings as key: value")
			continue
		}
		rules, path := &c.Rules, "rules"
		for j := range c.Workspaces {
			if c.Workspaces[j].Name == nameOf(item) {
				rules, path = &c.Workspaces[j].Rules, join(at("workspaces", j), "rules")
			}
		}
		for _, pair := range list {
			switch key := pair.Key.GetToken().Value; key {
			case "name": // says only whose rules they are
			case "rules":
				d.tightenRules(pair.Value, rules, path, join(shown, key), f)
			default:
				f.Ignored = append(f.Ignored, leaves(pair.Value, join(shown, name(key)))...)
			}
		}
	}
}

// tightenRules reads one rules section into r, which stands at path in the configuration; shown is where it stands in the file.
func (d *decoder) tightenRules(n ast.Node, r *Rules, path, shown string, f *Foreign) {
	if empty(n) {
		return
	}
	list, ok := pairs(n)
	if !ok {
		d.fail(n, shown, "is not a section", "write deny: and ask: below it, each with a list")
		return
	}
	for _, pair := range list {
		switch key := pair.Key.GetToken().Value; key {
		case "deny":
			d.value(pair.Value, reflect.ValueOf(&r.Deny).Elem(), join(path, key), field{})
		case "ask":
			d.value(pair.Value, reflect.ValueOf(&r.Ask).Elem(), join(path, key), field{})
		default:
			f.Ignored = append(f.Ignored, leaves(pair.Value, join(shown, name(key)))...)
		}
	}
}

// leaves names the settings below a key, each with its line.
func leaves(n ast.Node, path string) []string {
	list, ok := pairs(n)
	if !ok || len(list) == 0 {
		return []string{fmt.Sprintf("%s (line %d)", path, line(n))}
	}
	var all []string
	for _, pair := range list {
		all = append(all, leaves(pair.Value, join(path, name(pair.Key.GetToken().Value)))...)
	}
	return all
}
