package policy

import (
	"strings"

	"paragents/core/policy/files"
)

// builtIn is the name of the layer of the rules that stand in front of every configuration.
const builtIn = "built-in"

// Built-in rules. An allow rule of the managed layer lifts those that ask; nothing lifts protected.
var (
	builtInAsk = []string{
		"Write(.git/**)", "Write(/dev/**)",
		"Write(~/.bashrc)", "Write(~/.bash_profile)", "Write(~/.bash_login)", "Write(~/.bash_logout)", "Write(~/.profile)",
		"Write(~/.zshrc)", "Write(~/.zshenv)", "Write(~/.zprofile)", "Write(~/.zlogin)", "Write(~/.kshrc)",
		"Write(~/.config/fish/**)", "Write(~/.inputrc)", "Write(~/.gitconfig)", "Write(~/.ssh/**)",
	}
	builtInConfirm = []string{"Bash(rm -r)", "Bash(git push --force)"}
	protected      = []string{".paragents/**"}
)

// addBuiltIns adds the rules that stand in front of every configuration.
func (p *Policy) addBuiltIns() []error {
	errs := p.addLayer(Layer{Name: builtIn, Ask: builtInAsk, Confirm: builtInConfirm})
	for _, r := range p.rules["Write"] {
		r.lift = true
	}
	p.rules["Write"] = append(p.rules["Write"], &rule{
		Rule: Rule{Tool: "Write", Pattern: "~/**", path: files.ParsePattern("~/**")}, layer: builtIn, list: askList, lift: true,
		outside: files.ParsePattern("./**"), not: true,
	}, &rule{
		// a repository within the repository
		Rule: Rule{Tool: "Write", Pattern: "**/.git/**", path: files.ParsePattern("**/.git/**")}, layer: builtIn, list: askList, lift: true,
		sure: true,
	})
	for _, pattern := range protected {
		p.addProtected(pattern)
	}
	return errs
}

// addProtected denies reading and writing to every tool, and returns the rules that do.
func (p *Policy) addProtected(pattern string) []*rule {
	var added []*rule
	for _, tool := range []string{"Read", "Write"} {
		r := &rule{Rule: Rule{Tool: tool, Pattern: pattern, path: files.ParsePattern(pattern)}, layer: builtIn, list: denyList}
		p.rules[tool], added = append(p.rules[tool], r), append(added, r)
	}
	return added
}

// removal denies the recursive removal of the root, the home, the workspace, or a directory above one of them. The
// managed layer lifts it by an allow rule for writing there.
func (t *tally) removal(target files.Target) {
	set := files.NewSet(t.view, target)
	for _, root := range []string{"/", t.view.Home(), t.view.Workspace()} {
		if root == "" {
			continue
		}
		for _, f := range set.Forms.Paths {
			above := f == root || strings.HasPrefix(root, strings.TrimSuffix(f, "/")+"/")
			glob := target.Extent == files.Trees
			if glob && !(f == root && root != t.view.Workspace() && strings.HasSuffix(target.Path, "/*")) || !above {
				continue
			}
			for _, r := range t.policy.rules["Write"] {
				if r.list == allowList && r.layer == managed && set.Covered([]files.Pattern{r.path}) {
					return
				}
			}
			t.refuse("the recursive removal of " + f + " is denied")
		}
	}
}

// secrets are the files that the default for reading leaves out.
var secrets = []files.Pattern{
	files.ParsePattern("**/.env*"), files.ParsePattern("**/*.pem"), files.ParsePattern("**/*.key"),
	files.ParsePattern("**/*.p12"), files.ParsePattern("**/*.pfx"), files.ParsePattern("**/*.jks"),
	files.ParsePattern("**/id_rsa*"), files.ParsePattern("**/id_dsa*"), files.ParsePattern("**/id_ecdsa*"),
	files.ParsePattern("**/id_ed25519*"), files.ParsePattern("**/.netrc"), files.ParsePattern("**/.npmrc"),
	files.ParsePattern("**/.pypirc"), files.ParsePattern("**/.git-credentials"),
}

// readable reports whether the default for reading covers a set: it lies in the workspace and holds nothing that looks
// like a secret. The default is an allowance with holes, not a rule: a rule of any layer speaks instead of it.
func readable(set *files.Set) bool {
	if !set.Covered([]files.Pattern{files.ParsePattern("./**")}) {
		return false
	}
	for _, s := range secrets {
		if set.Match(s) != files.No {
			return false
		}
	}
	return true
}
