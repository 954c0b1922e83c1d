package command

import (
	"path"
	"strings"

	"paragents/core/policy/files"
	"paragents/core/policy/word"
)

// subCommand works out the effects of a sub-command; rest are the operands after it.
func (c *call) subCommand(tool, sub string, rest []word.Word) bool {
	if !c.args.row.flags["own"] {
		c.generic(rest)
		return true
	}
	switch tool {
	case "git":
		c.git(sub, rest)
	case "go":
		c.golang(sub, rest)
	case "npm", "pnpm", "yarn", "bun":
		c.npm(sub, rest)
	case "docker", "podman", "nerdctl":
		c.docker()
	default:
		c.generic(rest)
	}
	return true
}

func (c *call) golang(sub string, rest []word.Word) {
	u, out := c.opt("-o")
	switch {
	case out && (c.place.IsDir(Under(c.dir, u.value)) || strings.HasSuffix(u.value.Text, "/")):
		c.write(u.value, files.New)
	case out:
		c.write(u.value, files.One)
	}
	switch sub {
	case "build":
		if !out {
			c.goBuild(rest)
		}
	case "fmt", "fix":
		for _, w := range rest {
			c.write(w, files.Tree)
		}
		if len(rest) == 0 {
			c.write(word.Lit("."), files.Tree)
		}
	case "env":
		for _, u := range c.uses {
			if u.name == "-u" {
				c.risk(u.at)
			}
		}
	case "run":
		if len(rest) > 0 && rest[0].Kind == word.Known && strings.HasSuffix(rest[0].Text, ".go") {
			c.Script = Under(c.dir, rest[0])
		}
	}
}

// goBuild notes the program that go build leaves where it runs if it builds a single one.
func (c *call) goBuild(rest []word.Word) {
	if len(rest) > 1 || len(rest) == 1 && strings.Contains(rest[0].Text, "...") {
		return
	}
	if len(rest) == 1 && rest[0].Kind == word.Known && path.Base(rest[0].Text) != "." {
		c.write(word.Lit(strings.TrimSuffix(path.Base(rest[0].Text), ".go")), files.One)
	}
}

func (c *call) npm(sub string, rest []word.Word) {
	switch sub {
	case "run", "run-script", "exec", "x", "dlx", "create", "init":
		if len(rest) > 0 {
			c.risk(c.operands[1])
		}
	case "config", "set", "link", "publish":
		if len(rest) > 0 {
			c.risk(c.operands[1])
		}
	}
}

// docker notes what is given to a container; what runs inside is not judged.
func (c *call) docker() {
	for _, u := range c.uses {
		switch u.name {
		case "-v", "--mount", "--device", "--security-opt":
			c.mention(u.value)
		}
	}
}

// git notes what sub-commands write outside of .git, and what they read.
func (c *call) git(sub string, rest []word.Word) {
	switch sub {
	case "diff":
		// two paths of which one lies outside are compared as files, without being asked to
		for _, w := range rest {
			if strings.HasPrefix(w.Text, "/") || strings.HasPrefix(w.Text, "..") && !strings.HasPrefix(w.Text, "...") || strings.Contains(w.Text, "/../") {
				c.read(w, files.Tree)
			}
		}
	case "clone":
		c.gitClone(rest)
	case "init":
		to := word.Lit(".")
		if len(rest) > 0 {
			to = rest[0]
		}
		c.write(Under(to, word.Lit(".git")), files.New)
	case "mv":
		for i, w := range rest {
			c.write(w, c.moved(w))
			if i == len(rest)-1 {
				c.write(w, files.New)
			}
		}
	case "rm":
		if c.has("--cached", "-n") {
			return
		}
		for _, w := range rest {
			e := files.One
			if c.has("-r") {
				e = files.Tree
			}
			c.write(w, e)
		}
	case "restore", "checkout":
		c.gitCheckout(sub, rest)
	case "clean":
		if c.has("-n") {
			return
		}
		for _, w := range rest {
			c.write(w, files.Tree)
		}
		if len(rest) == 0 {
			c.write(word.Word{Kind: word.Below, Text: "."}, files.Some)
		}
	case "reset", "stash", "merge", "rebase", "cherry-pick", "revert", "switch", "pull", "apply", "am", "bisect":
		c.gitTree(rest)
	case "config":
		c.gitConfig(rest)
	case "branch", "tag", "notes", "reflog", "gc", "prune", "replace", "update-ref", "update-index", "fast-export", "sparse-checkout":
	default:
		// remote, worktree, submodule, bisect run, difftool and the like may run programs or change the configuration
		c.gitOther(sub, rest)
	}
}

func (c *call) gitClone(rest []word.Word) {
	if len(rest) == 0 {
		return
	}
	source := rest[0]
	if strings.HasPrefix(source.Text, "ext::") || source.Kind != word.Known {
		c.opaque("git runs a program to fetch from there")
	}
	if !remote(source.Text) && !strings.Contains(source.Text, "://") {
		c.read(source, files.Tree)
	}
	to := word.Lit(strings.TrimSuffix(path.Base(strings.TrimSuffix(source.Text, "/")), ".git"))
	if source.Kind != word.Known || strings.Contains(to.Text, ":") {
		to = word.Word{Kind: word.Open}
	}
	if len(rest) > 1 {
		to = rest[1]
	}
	c.Effects = append(c.Effects, Effect{Kind: Writes, Word: Under(c.dir, to), Extent: files.New, Links: true})
}

func (c *call) gitCheckout(sub string, rest []word.Word) {
	paths := sub == "restore"
	for i, at := range c.operands[1:] {
		if c.afterDashes(at) {
			paths = true
			rest = c.rest()[1+i:]
			break
		}
	}
	if sub == "restore" && c.has("-S") && !c.has("-W") {
		return
	}
	if !paths {
		c.gitTree(rest)
		return
	}
	for _, w := range rest {
		c.write(w, files.Tracked)
	}
}

// afterDashes reports whether a word stands behind --.
func (c *call) afterDashes(at int) bool {
	for i := 1; i < at; i++ {
		if c.words[i].Is("--") && c.class[i] == isOption {
			return true
		}
	}
	return false
}

// gitTree notes that any tracked file may change, but those of git itself.
func (c *call) gitTree(rest []word.Word) {
	c.effect(Writes, Under(c.dir, word.Lit(".")), files.Tracked)
	if len(rest) > 0 && rest[0].Is("run") {
		c.risk(c.operands[1])
		c.Inner = append(c.Inner, Inner{Words: rest[1:], Dir: c.dir})
	}
}

func (c *call) gitConfig(rest []word.Word) {
	if c.has("--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch", "--get-color", "--get-colorbool") ||
		len(rest) > 0 && (rest[0].Is("get") || rest[0].Is("list")) {
		return
	}
	changes := c.has("--add", "--unset", "--unset-all", "--replace-all", "--rename-section", "--remove-section", "-e")
	if len(rest) < 2 && !changes {
		return
	}
	file := word.Lit(".git/config")
	switch u, ok := c.opt("-f"); {
	case ok && u.has:
		file = u.value
	case c.has("--global"):
		file = word.Lit("~/.gitconfig")
	case c.has("--system"):
		file = word.Lit("/etc/gitconfig")
	}
	c.write(file, files.One)
	for i, w := range rest {
		if i+1 < len(rest) {
			c.gitSetting(w, rest[i+1])
		}
	}
}

func (c *call) gitOther(sub string, rest []word.Word) {
	if len(rest) == 0 {
		return
	}
	switch rest[0].Text {
	case "list", "show", "status", "get-url", "verify", "view", "log":
		return
	case "run", "foreach":
		if text := joined(rest[1:]); text.Text != "" || text.Kind != word.Known {
			c.Inner = append(c.Inner, Inner{Script: text})
		}
	case "add":
		if sub == "worktree" && len(rest) > 1 {
			c.write(rest[1], files.New)
		}
	}
	c.risk(c.operands[1])
	for _, w := range rest[1:] {
		c.mention(w)
	}
}

// gitSetting judges a setting of git whose value may be a command. It reports whether the setting is harmless.
func (c *call) gitSetting(name, value word.Word) bool {
	key := strings.ToLower(name.Text)
	section, last := key, key
	if i := strings.IndexByte(key, '.'); i >= 0 {
		section, last = key[:i], key[strings.LastIndexByte(key, '.')+1:]
	}
	if name.Kind != word.Known {
		return false
	}
	switch section {
	case "user", "color", "column", "advice", "author", "committer":
		return true
	case "pager", "alias":
		c.gitCommandText(value)
		return false
	}
	switch key {
	case "core.quotepath", "core.abbrev", "log.date", "log.decorate", "diff.renames", "diff.algorithm", "merge.conflictstyle",
		"init.defaultbranch", "push.default", "pull.rebase", "commit.gpgsign", "core.autocrlf", "core.eol", "format.pretty",
		"diff.noprefix", "diff.mnemonicprefix", "gc.auto", "status.short", "http.version":
		return true
	case "core.hookspath":
		return false
	}
	switch last {
	case "pager", "editor", "sshcommand", "external", "command", "textconv", "driver", "clean", "smudge", "process", "helper",
		"program", "fsmonitor", "askpass", "gitproxy", "cmd", "packobjectshook", "uploadpack", "receivepack", "alternaterefscommand",
		"defaultkeycommand", "visual", "path":
		c.gitCommandText(value)
	}
	return false
}

func (c *call) gitCommandText(value word.Word) {
	value.Text = strings.TrimPrefix(value.Text, "!")
	if value.Kind == word.Known && value.Text != "" {
		c.Inner = append(c.Inner, Inner{Script: value, Dir: c.dir})
	}
}

// gitGlobals judges git -c name=value.
func (c *call) gitGlobals() {
	for _, u := range c.globals {
		if u.option == nil || u.name != "-c" {
			continue
		}
		name, value, _ := strings.Cut(u.value.Text, "=")
		if u.value.Kind != word.Known || !c.gitSetting(word.Lit(name), word.Lit(value)) {
			c.opaque("git -c " + name + " can run code or change what git does")
		}
	}
}

func (c *call) gofmt(rest []word.Word) {
	for _, w := range rest {
		c.read(w, files.Tree)
		if c.has("-w") {
			e := files.One
			if c.place.IsDir(Under(c.dir, w)) {
				e = files.Tree
			}
			c.write(w, e)
		}
	}
}

func (c *call) compiler(rest []word.Word) {
	c.generic(rest)
	if _, ok := c.opt("-o"); ok {
		return
	}
	if !c.has("-c", "-S") {
		c.write(word.Lit("a.out"), files.One)
		return
	}
	for _, w := range rest {
		if w.Kind != word.Known {
			c.write(word.Lit("."), files.New)
			continue
		}
		base := strings.TrimSuffix(path.Base(w.Text), path.Ext(w.Text))
		c.write(word.Lit(base+".o"), files.One)
		c.write(word.Lit(base+".s"), files.One)
	}
}
