package policy

import (
	"paragents/core/policy/files"
)

// builtIn is the name of the layer of the rules that stand in front of every configuration.
const builtIn = "built-in"

// Built-in rules. An allow rule of the managed layer lifts those of the first three lists, nothing lifts protected.
var (
	builtInAsk = []string{
		"Write(.git/**)", "Write(**/.git/**)", "Write(/dev/**)",
		"Write(~/.bashrc)", "Write(~/.bash_profile)", "Write(~/.bash_login)", "Write(~/.bash_logout)", "Write(~/.profile)",
		"Write(~/.zshrc)", "Write(~/.zshenv)", "Write(~/.zprofile)", "Write(~/.zlogin)", "Write(~/.kshrc)",
		"Write(~/.config/fish/**)", "Write(~/.inputrc)", "Write(~/.gitconfig)", "Write(~/.ssh/**)",
	}
	builtInDeny    = []string{"Bash(rm -r /)", "Bash(rm -r ~)"}
	builtInConfirm = []string{"Bash(rm -r)", "Bash(git push --force)"}
	protected      = []string{".paragents/**"}
)

// secrets are the files that the default for reading leaves out.
var secrets = []files.Pattern{
	files.ParsePattern("**/.env*"), files.ParsePattern("**/*.pem"), files.ParsePattern("**/*.key"),
	files.ParsePattern("**/*.p12"), files.ParsePattern("**/*.pfx"), files.ParsePattern("**/*.jks"),
	files.ParsePattern("**/id_rsa*"), files.ParsePattern("**/id_dsa*"), files.ParsePattern("**/id_ecdsa*"),
	files.ParsePattern("**/id_ed25519*"), files.ParsePattern("**/.netrc"), files.ParsePattern("**/.npmrc"),
	files.ParsePattern("**/.pypirc"), files.ParsePattern("**/.git-credentials"),
}

// readable reports whether the default for reading covers a set: it lies in the workspace and holds nothing that looks
// like a secret.
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
