package sandbox

import (
	"slices"
	"strings"
)

// noEditor fails at once where git or another program would open an editor, and says what to do. Programs run it through sh.
const noEditor = `sh -c 'echo "no editor here: nobody is at a terminal; give the text as an argument (-m, -F), or keep it (--no-edit)" >&2; exit 1' editor`

// passed are the variables that a command gets from the bot's own environment, besides LC_*. None of them holds a secret.
var passed = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR"}

// fixed keep programs from asking, paging and colouring: there is no terminal, and nobody answers.
var fixed = []string{
	"TERM=dumb", "NO_COLOR=1", "CI=1",
	"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat",
	"EDITOR=" + noEditor, "VISUAL=" + noEditor, "GIT_EDITOR=" + noEditor, "GIT_SEQUENCE_EDITOR=" + noEditor,
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=never",
	"GIT_SSH_COMMAND=ssh -o BatchMode=yes", "DEBIAN_FRONTEND=noninteractive",
}

// Env returns the environment of a command, sorted: what is named here out of base, which is like os.Environ(), and what keeps programs
// from waiting for a person. Nothing else passes, so no secret of the bot does.
func Env(base []string) []string {
	env := slices.Clone(fixed)
	for _, v := range base {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, v)
		}
	}
	slices.Sort(env)
	return env
}
