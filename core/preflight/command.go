package preflight

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxNested bounds shells within shells.
const maxNested = 3

// command notes what a shell command does: what it writes by the analyser, the rest by the names of its programs.
func (f *finder) command(text string, confidence float64) {
	f.can("shell")
	if len(text) > maxCommand {
		f.note("too long to be looked at: %s", short(text))
		return
	}
	var writes []string
	ok := false
	if f.w.Analyse != nil {
		writes, ok = f.w.Analyse(text)
	}
	if ok {
		f.does("run_command", confidence)
	} else {
		f.does("run_command", weak)
	}
	for _, p := range writes {
		if p == "?" {
			ok = false
			continue
		}
		f.write(p, confidence)
	}
	if !ok {
		f.note("what this command writes is fully known only when it runs: %s", short(text))
	}
	f.script(text, confidence, 0)
}

// script looks at the programs of a command that can be parsed.
func (f *finder) script(text string, confidence float64, nested int) {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil || nested > maxNested {
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			f.redirect(n, confidence)
		case *syntax.CallExpr:
			f.program(literals(n.Args), confidence, nested)
		}
		return true
	})
}

func (f *finder) redirect(r *syntax.Redirect, confidence float64) {
	if r.Word != nil && strings.HasPrefix(r.Word.Lit(), "/dev/") {
		return
	}
	switch r.Op {
	case syntax.RdrOut, syntax.RdrClob, syntax.RdrAll, syntax.RdrAllClob:
		f.does("write_file", confidence)
	case syntax.AppOut, syntax.AppClob, syntax.AppAll, syntax.AppAllClob:
		f.does("append", confidence)
	}
}

// unknown stands for a word that only the shell can work out. It cannot occur in a command.
const unknown = "\x00"

// literals returns the words of a command as far as they are plain or quoted text.
func literals(words []*syntax.Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		var b strings.Builder
		if !literal(&b, w.Parts) {
			b.Reset()
			b.WriteString(unknown)
		}
		out[i] = b.String()
	}
	return out
}

func literal(b *strings.Builder, parts []syntax.WordPart) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if !literal(b, p.Parts) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// program notes what a single command does besides writing files.
func (f *finder) program(words []string, confidence float64, nested int) {
	for len(words) > 1 && (wrappers[words[0]] || strings.HasPrefix(words[0], "-")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	args := words[1:]
	name := path.Base(words[0])
	switch {
	case strings.Contains(words[0], "/"):
		f.does("script", confidence)
	case name == "tee" && slices.ContainsFunc(args, func(a string) bool { return a == "-a" || a == "--append" }):
		f.does("append", confidence)
	case name == "git":
		f.git(args, confidence)
	case name == "gh", name == "hub":
		f.can("github")
		if len(args) > 1 && args[0] == "pr" && !readsPR[args[1]] {
			f.does("pr", confidence)
		}
	case name == "curl", name == "wget":
		f.can("web")
	case interpreters[name]:
		f.interpreter(name, args, confidence, nested)
	case (name == "sed" || name == "perl") && slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-i") }):
		f.does("edit_file", confidence)
	case fileActions[name] != "":
		f.does(fileActions[name], confidence)
	}
}

var (
	wrappers     = set("sudo doas env nohup time command builtin exec nice xargs stdbuf setsid")
	interpreters = set("python python2 python3 bash sh zsh dash node ruby uv poetry")
	readsPR      = set("list view status diff checks checkout")
	fileActions  = map[string]string{
		"tee": "write_file", "touch": "write_file", "truncate": "write_file", "cp": "copy", "install": "copy", "rsync": "copy", "scp": "copy", "mv": "move",
		"mkdir": "mkdir", "rm": "delete", "rmdir": "delete", "unlink": "delete", "ln": "link", "patch": "edit_file",
	}
)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

func (f *finder) interpreter(name string, args []string, confidence float64, nested int) {
	if strings.HasPrefix(name, "python") || slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "python") }) {
		f.can("python")
	}
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c") && strings.HasSuffix(name, "sh") && i+1 < len(args):
			f.script(args[i+1], confidence, nested+1)
			return
		case !strings.HasPrefix(a, "-"):
			if strings.Contains(path.Base(a), ".") {
				f.does("script", confidence)
			}
			return
		}
	}
}

// Sub-commands of git by what they change besides the files that they are given.
var (
	gitTree  = set("checkout switch restore reset stash rebase merge pull cherry-pick revert am bisect")
	gitStage = set("add stage commit rm mv apply update-index read-tree")
	gitValue = set("-C -c --git-dir --work-tree --namespace -o --push-option --receive-pack --exec --repo") // options with a value of their own
)

func (f *finder) git(args []string, confidence float64) {
	f.can("git")
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if gitValue[args[0]] && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	sub, rest := args[0], args[1:]
	switch {
	case sub == "stash" && len(rest) > 0 && (rest[0] == "list" || rest[0] == "show"):
	case gitTree[sub]:
		f.does(sub, confidence)
		if sub == "stash" {
			f.claim(GitStash, confidence)
		}
		f.tree(confidence)
	case sub == "push":
		f.does("push", confidence)
		f.push(rest, confidence)
	case gitStage[sub]:
		if sub == "commit" {
			f.does("commit", confidence)
		}
		f.claim(GitIndex, confidence)
	}
}

// tree claims what a change of branch, or the like, touches: every file that git knows.
func (f *finder) tree(confidence float64) {
	f.can("git")
	f.write(".", confidence)
	f.claim(GitIndex, confidence)
}

// push claims the branches that git push with these arguments changes.
func (f *finder) push(args []string, confidence float64) {
	remote, branches, every := "", []string(nil), false
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case gitValue[a]:
			i++
		case a == "--all" || a == "--mirror" || a == "--tags" || a == "--branches":
			every = true
		case strings.HasPrefix(a, "-"):
		case remote == "":
			remote = a
		default:
			branches = append(branches, a)
		}
	}
	remote = remoteName(remote, f.w.Remote)
	if remote == "" || every {
		f.claim(Push(remote, ""), confidence)
		return
	}
	if len(branches) == 0 {
		branches = []string{"HEAD"}
	}
	for _, b := range branches {
		if at := strings.LastIndexByte(b, ':'); at >= 0 {
			b = b[at+1:]
		}
		b = strings.TrimPrefix(strings.TrimPrefix(b, "+"), "refs/heads/")
		if b == "HEAD" || b == "@" {
			b = f.w.Branch
		}
		if isGlob(b) || strings.ContainsFunc(b, notInRef) {
			b = ""
		}
		f.claim(Push(remote, b), confidence)
	}
}

// notInRef reports whether git allows the character in no name of a branch or remote, as unknown.
func notInRef(r rune) bool { return r <= ' ' || r == 0x7F || r == '\uFFFD' }

// remoteName is a remote as claims name it: the address of one without a name loses scheme and user, which may hold a secret. It is empty for
// one that is not known.
func remoteName(remote, usual string) string {
	if remote == "" {
		return usual
	}
	if isGlob(remote) || strings.ContainsFunc(remote, notInRef) {
		return ""
	}
	if _, rest, ok := strings.Cut(remote, "://"); ok {
		remote = rest
	}
	if at := strings.LastIndexByte(remote, '@'); at >= 0 {
		remote = remote[at+1:]
	}
	return path.Clean(strings.ReplaceAll(remote, ":", "/"))
}
