package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"paragents/core/policy/command"
	"paragents/core/policy/files"
)

// offer is a rule that would cover something that no rule covers, and a wider one if there is one worth offering.
type offer struct {
	rule, wider string
}

// offerPart offers the exact command and, where the table knows the tool, the tool and sub-command with any arguments.
func (t *tally) offerPart(part *command.Part) []offer {
	exact, ok := part.Exact()
	if !ok {
		return nil
	}
	o := offer{rule: "Bash(" + exact + ")"}
	if prefix := t.policy.table.Prefix(part); prefix != "" {
		o.wider = "Bash(" + prefix + ":*)"
	}
	return []offer{o}
}

// offerPath offers a file in each of its forms, or a directory with all that is below it.
func (t *tally) offerPath(tool string, set *files.Set) []offer {
	var out []offer
	for _, f := range set.Forms.Paths {
		if strings.ContainsAny(f, "*?()") || f != path.Clean(f) {
			return nil
		}
		o := offer{}
		switch set.Extent {
		case files.One:
			o.rule = tool + "(" + t.spell(f) + ")"
			if dir := path.Dir(f); !t.root(dir) {
				o.wider = tool + "(" + strings.TrimSuffix(t.spell(dir), "/") + "/**)"
			}
		case files.Anything:
			return nil
		default:
			if t.root(f) && f != t.view.Workspace() {
				return nil
			}
			o.rule = tool + "(" + strings.TrimSuffix(t.spell(f), "/") + "/**)"
		}
		out = append(out, o)
	}
	return out
}

// root reports whether a directory is too much to be offered as a whole.
func (t *tally) root(dir string) bool {
	return dir == t.view.Workspace() || dir == t.view.Home() || strings.Count(dir, "/") < 2
}

// spell writes a clean path as a pattern: relative to the workspace, to the home, or absolute.
func (t *tally) spell(clean string) string {
	if rest, ok := below(clean, t.view.Workspace()); ok {
		return rest
	}
	if rest, ok := below(clean, t.view.Home()); ok && t.view.Home() != "" {
		return "~/" + rest
	}
	return clean
}

func below(clean, root string) (string, bool) {
	if clean == root {
		return ".", true
	}
	return strings.CutPrefix(clean, root+"/")
}

// With returns the policy with further allow rules in a layer. The receiver is not changed.
func (p *Policy) With(layer string, allow []string) (*Policy, error) {
	next := &Policy{table: p.table, options: p.options, rules: map[string][]*rule{}}
	for tool, rules := range p.rules {
		next.rules[tool] = slices.Clone(rules)
	}
	return next, errors.Join(next.addLayer(Layer{Name: layer, Allow: allow})...)
}

// Replay says whether storing allow rules in a layer would do what a person was told: the call is allowed with them,
// and nothing that a rule denies or asks about it has changed.
func (p *Policy) Replay(call Call, layer string, allow []string, w World) error {
	next, err := p.With(layer, allow)
	if err != nil {
		return fmt.Errorf("replay rules of layer %s: %w", layer, err)
	}
	before, after := p.Judge(call, w), next.Judge(call, w)
	if after.Decision != Allow {
		return fmt.Errorf("replay rules of layer %s: the call is still not allowed: %s", layer, after.Reason)
	}
	if !slices.Equal(before.refusals(), after.refusals()) {
		return fmt.Errorf("replay rules of layer %s: other rules speak than before", layer)
	}
	return nil
}

func (v Verdict) refusals() []Match {
	var out []Match
	for _, m := range v.Matches {
		if m.List != allowList.String() {
			out = append(out, m)
		}
	}
	return out
}
