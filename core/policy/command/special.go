package command

import (
	"path"
	"strings"

	"paragents/core/policy/files"
	"paragents/core/policy/word"
)

// special works out effects that the letters of a row cannot tell, and reports whether it did. The operands of rows
// with an own function that does not stand here are taken by the letters.
func (c *call) special() bool {
	rest := c.rest()
	tool, sub, isSub := strings.Cut(c.args.row.name, " ")
	if isSub && len(rest) > 0 {
		rest = rest[1:]
		return c.subCommand(tool, sub, rest)
	}
	flags := c.args.row.flags
	switch {
	case flags["wrap"]:
		c.wrap(tool, rest)
		return true
	case flags["shell"]:
		c.shell(tool, rest)
		return true
	case flags["interp"]:
		c.interpreter(tool, rest)
		return true
	case flags["subs"]:
		for _, w := range rest {
			c.mention(w)
		}
		return true
	case !flags["own"]:
		return false
	}
	switch tool {
	case "sed", "gsed":
		c.sed(rest)
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		c.awk(rest)
	case "find":
		c.find()
	case "fd", "fdfind":
		c.fd()
	case "cp", "mv", "install", "ginstall", "ln", "rsync":
		c.copy(tool, rest)
	case "rm":
		c.remove(rest)
	case "mkdir":
		c.mkdir(rest)
	case "chmod":
		c.generic(rest)
	case "chown", "chgrp":
		c.generic(rest)
	case "split", "csplit":
		c.generic(rest[:min(1, len(rest))])
		dir := word.Lit(".")
		if len(rest) > 1 {
			dir = parent(rest[1])
		}
		c.write(dir, files.New)
	case "dd":
		c.dd(rest)
	case "tar", "bsdtar", "gtar":
		c.tar()
	case "unzip":
		c.unzip(rest)
	case "zip":
		c.zip(rest)
	case "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "unlzma", "zstd", "unzstd", "compress", "uncompress":
		c.compress(rest)
	case "patch":
		c.patch(rest)
	case "gofmt", "goimports":
		c.gofmt(rest)
	case "gcc", "cc", "g++", "c++", "clang", "clang++":
		c.compiler(rest)
	case "yq":
		c.generic(rest)
		if c.has("-i") {
			for _, w := range rest[min(1, len(rest)):] {
				c.write(w, files.One)
			}
		}
	case "curl":
		c.curl(rest)
	case "wget":
		c.wget(rest)
	case "make", "gmake", "bmake":
		c.make()
	case "npx", "bunx", "pnpx":
		c.firstOperandRisk("runs a package that is not named")
	case "jq":
		c.jq()
	case "date":
		for _, i := range c.operands {
			// anything but a format sets the clock
			if !strings.HasPrefix(c.words[i].Text, "+") {
				c.risk(i)
			}
		}
	case "less", "more", "most":
		c.generic(rest)
		for _, w := range rest {
			if strings.HasPrefix(w.Text, "+") {
				c.opaque("the pager runs a command of its own")
			}
		}
	}
	return true
}

func (c *call) read(w word.Word, e files.Extent)  { c.effect(Reads, Under(c.dir, w), e) }
func (c *call) write(w word.Word, e files.Extent) { c.effect(Writes, Under(c.dir, w), e) }

// parent returns the directory of a path.
func parent(w word.Word) word.Word {
	if w.Kind == word.Known || w.Kind == word.Glob {
		return word.Word{Kind: w.Kind, Text: path.Dir(w.Text)}
	}
	return word.Word{Kind: word.Open}
}

// join returns dir/name; a name that is not known may be anything below dir.
func join(dir, name word.Word) (word.Word, files.Extent) {
	if dir.Kind != word.Known {
		return word.Word{Kind: word.Open}, files.One
	}
	if name.Kind != word.Known {
		return dir, files.New
	}
	base := path.Base(name.Text)
	if base == "." || base == ".." || base == "/" {
		return dir, files.New
	}
	return word.Lit(strings.TrimSuffix(dir.Text, "/") + "/" + base), files.One
}

// copy handles the tools that take sources and a target: cp, mv, ln, install, rsync.
func (c *call) copy(tool string, rest []word.Word) {
	sources := rest
	var target word.Word
	into := false
	if u, ok := c.opt("-t"); ok && u.has {
		target, into = u.value, true
	} else if tool == "install" && c.has("-d") {
		for _, w := range rest {
			c.write(w, files.One)
		}
		return
	} else if len(rest) > 1 {
		target, sources = rest[len(rest)-1], rest[:len(rest)-1]
	} else if tool == "ln" && len(rest) == 1 {
		target, into = word.Lit("."), true
	} else {
		c.generic(rest)
		return
	}
	if tool == "rsync" {
		c.rsync(sources, target)
		return
	}
	tree := c.has("-r", "-a") || tool == "mv" || tool == "ln"
	extent := files.One
	switch {
	case tree && c.has("-L", "-H"):
		extent = files.Followed
	case tree:
		extent = files.Tree
	}
	for _, s := range sources {
		if tool == "mv" {
			c.write(s, c.moved(s))
		}
		source := c.linkSource(tool, s, target, into)
		c.read(source, extent)
		if tool == "ln" {
			// what is written under the new name is written there
			c.write(source, files.One)
		}
	}
	at := Under(c.dir, target)
	into = into || len(sources) > 1 || strings.HasSuffix(target.Text, "/") || !c.has("-T") && c.place.IsDir(at) ||
		len(sources) == 1 && sources[0].Kind == word.Many
	for _, s := range sources {
		to, e := at, files.One
		switch {
		case at.Kind != word.Known:
			to = word.Word{Kind: word.Open}
		case into:
			if !c.place.Certain() && len(sources) == 1 {
				c.effect(Writes, at, files.One)
			}
			to, e = join(at, s)
		}
		if e == files.One && c.moved(s) == files.Tree && (tool == "cp" && tree || tool == "mv") {
			e = files.Tree
		}
		from := Under(c.dir, s)
		keeps := (tool == "mv" || tool == "cp" && (tree || c.has("-P", "-d"))) && (s.Kind != word.Known || c.place.IsLink(from) || c.place.IsDir(from))
		c.Effects = append(c.Effects, Effect{Kind: Writes, Word: to, Extent: e, Links: tool == "ln" || keeps})
		c.backup(to, e)
	}
	if c.has("--parents") {
		c.write(target, files.New)
	}
}

// linkSource is what the target of a new link leads to: a relative one is taken from where the link lies.
func (c *call) linkSource(tool string, source, target word.Word, into bool) word.Word {
	if tool != "ln" || !c.has("-s") || strings.HasPrefix(source.Text, "/") || source.Kind != word.Known {
		return source
	}
	dir := target
	if !into && !c.place.IsDir(Under(c.dir, target)) {
		dir = parent(target)
	}
	if dir.Kind != word.Known {
		return word.Word{Kind: word.Open}
	}
	return Under(dir, source)
}

// moved is the extent of a source that is moved or removed with all below it.
func (c *call) moved(w word.Word) files.Extent {
	if w.Kind == word.Glob || c.place.IsDir(Under(c.dir, w)) {
		return files.Tree
	}
	return files.One
}

// backup adds the copies that the tool makes of what it overwrites.
func (c *call) backup(to word.Word, e files.Extent) {
	if !c.has("-b") && !c.has("-S") || to.Kind != word.Known {
		return
	}
	if e != files.One {
		return
	}
	suffix := word.Lit("~")
	if u, ok := c.opt("-S"); ok {
		suffix = u.value
	}
	if suffix.Kind != word.Known || c.has("--backup") {
		c.effect(Writes, parent(to), files.New)
		return
	}
	c.effect(Writes, word.Lit(to.Text+suffix.Text), files.One)
	if u, ok := c.opt("-b"); ok && u.has {
		c.effect(Writes, word.Word{Kind: word.Glob, Text: to.Text + ".~*~"}, files.One)
	}
}

func (c *call) rsync(sources []word.Word, target word.Word) {
	for _, u := range c.uses {
		if u.name == "-L" || u.name == "--copy-links" || u.name == "-k" || u.name == "-K" {
			c.opaque("it goes through links")
		}
	}
	for _, s := range append(sources, target) {
		if remote(s.Text) || strings.Contains(s.Text, "::") || strings.HasPrefix(s.Text, "rsync:") {
			c.opaque("it copies from or to another machine")
		}
	}
	for _, s := range sources {
		c.read(s, files.Tree)
	}
	e := files.New
	if c.has("--delete") {
		e = files.Tree
	}
	c.Effects = append(c.Effects, Effect{Kind: Writes, Word: Under(c.dir, target), Extent: e, Links: true})
	if e == files.Tree {
		c.write(target, files.New)
	}
}

// remote reports whether a path names a host in front.
func remote(text string) bool {
	i := strings.IndexByte(text, ':')
	return i > 0 && !strings.Contains(text[:i], "/")
}

// mkdir makes the directories above as well if it is told to.
func (c *call) mkdir(rest []word.Word) {
	for _, w := range rest {
		c.write(w, files.One)
		if w.Kind != word.Known || !c.has("-p") {
			continue
		}
		for up := path.Dir(w.Text); up != "." && up != "/" && path.Base(up) != ".."; up = path.Dir(up) {
			if c.place.Certain() && c.place.IsDir(Under(c.dir, word.Lit(up))) {
				break
			}
			c.write(word.Lit(up), files.One)
		}
	}
}

func (c *call) remove(rest []word.Word) {
	e := files.One
	if c.has("-r") || c.hidden {
		e = files.Tree
	}
	for _, w := range rest {
		c.Effects = append(c.Effects, Effect{Kind: Writes, Word: Under(c.dir, w), Extent: e, Removes: e == files.Tree})
	}
}

// jq takes a filter and files; some of its options take two values.
func (c *call) jq() {
	filter := false
	for i := 1; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case w.Is("--arg") || w.Is("--argjson"):
			i += 2
		case w.Is("--slurpfile") || w.Is("--rawfile"):
			if i += 2; i < len(c.words) {
				c.read(c.words[i], files.One)
			}
		case w.Is("--indent") || w.Is("-L") || w.Is("--library-path"):
			i++
		case w.Is("-f") || w.Is("--from-file"):
			filter = true
			i++
		case w.Option():
		case !filter:
			filter = true
			if w.Kind != word.Known || strings.Contains(w.Text, "import") || strings.Contains(w.Text, "include") {
				c.risk(i)
			}
		default:
			c.read(w, files.One)
		}
	}
}

func (c *call) dd(rest []word.Word) {
	for _, w := range rest {
		if v, ok := w.Cut("of="); ok {
			c.write(v, files.One)
		} else if v, ok := w.Cut("if="); ok {
			c.read(v, files.One)
		} else if w.Kind != word.Known {
			c.opaque("a word that is not known may name a file to write")
		}
	}
}

func (c *call) make() {
	if !c.has("-f") {
		dir := c.dir
		if dir.Text == "" {
			dir = word.Lit(".")
		}
		for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
			if f := Under(dir, word.Lit(name)); c.place.IsFile(f) {
				c.Script = f
				break
			}
		}
	} else if u, _ := c.opt("-f"); u.has {
		c.Script = Under(c.dir, u.value)
	}
	for _, i := range c.operands {
		// NAME=value on the command line overrides what the makefile runs
		if strings.Contains(c.words[i].Text, "=") || c.words[i].Kind != word.Known {
			c.risk(i)
		}
	}
}

// firstOperandRisk makes the first operand one that a rule must name.
func (c *call) firstOperandRisk(none string) {
	if len(c.operands) == 0 {
		c.opaque(none)
		return
	}
	c.risk(c.operands[0])
	if c.words[c.operands[0]].Kind != word.Known {
		c.opaque(none)
	}
}
