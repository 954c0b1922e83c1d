package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

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
