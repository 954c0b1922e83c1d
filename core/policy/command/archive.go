package command

import (
	"path"
	"strings"

	"paragents/core/policy/files"
	"paragents/core/policy/word"
)

// tar works out what an archive command reads and writes. Its first word may be options without a dash.
func (c *call) tar() {
	rest := c.rest()
	if len(c.words) > 1 && c.class[1] == isOperand && c.words[1].Kind == word.Known && oldStyle(c.words[1].Text) {
		again := []word.Word{c.words[0]}
		again = append(again, spread(c.words[1].Text, c.words[2:])...)
		fresh := c.args.row.parse(again, 0)
		// risks are found again in the words as they stand
		old := &call{Look: &Look{Part: &Part{}}, args: fresh, table: c.table, place: c.place}
		old.look()
		if len(old.Part.Risks) > 0 {
			c.risk(1)
		}
		if old.Part.Opaque != "" {
			c.opaque(old.Part.Opaque)
		}
		c.Effects = old.Effects
		c.Inner = old.Inner
		return
	}
	archive, named := c.opt("-f")
	file := word.Lit("-")
	if named && archive.has {
		file = archive.value
	}
	if remote(file.Text) {
		c.opaque("the archive lies on another machine")
	}
	switch {
	case c.has("-c", "-r", "-u", "-A"):
		if !file.Is("-") {
			c.effect(Writes, file, files.One)
			if !c.has("-c") {
				c.effect(Reads, file, files.One)
			}
		}
		for _, w := range rest {
			if w.Kind == word.Glob || w.Kind == word.Known || w.Kind == word.Below {
				c.read(w, c.below())
			} else {
				c.read(w, files.One)
			}
		}
	case c.has("-x"):
		if !file.Is("-") {
			c.effect(Reads, file, files.One)
		}
		if c.has("-O") {
			return
		}
		c.extract(word.Lit("."))
	default:
		if !file.Is("-") {
			c.effect(Reads, file, files.One)
		}
		if !c.has("-t", "-d") {
			c.opaque("it is not known what is done with the archive")
		}
		if c.has("-d") {
			c.read(word.Lit("."), files.Tree)
		}
	}
}

// extract notes that anything may appear below a directory.
func (c *call) extract(dir word.Word) {
	c.Effects = append(c.Effects, Effect{Kind: Writes, Word: Under(c.dir, dir), Extent: files.New, Links: true})
}

func oldStyle(text string) bool {
	return text != "" && strings.Trim(text, "cxtruAdfzjJvpkmhCaOPWwlSIbTXgKHLNVFoMBiGns") == ""
}

// spread turns xzf a.tgz into -x -z -f a.tgz.
func spread(letters string, rest []word.Word) []word.Word {
	var out []word.Word
	for _, l := range letters {
		out = append(out, word.Lit("-"+string(l)))
		if strings.ContainsRune("fCbTXIgKHLNVF", l) && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

func (c *call) unzip(rest []word.Word) {
	if len(rest) > 0 {
		c.read(rest[0], files.One)
	}
	if c.has("-l", "-t", "-v", "-p") {
		return
	}
	dir := word.Lit(".")
	if u, ok := c.opt("-d"); ok && u.has {
		dir = u.value
	}
	c.extract(dir)
}

func (c *call) zip(rest []word.Word) {
	if len(rest) == 0 {
		return
	}
	out := rest[0]
	if out.Kind == word.Known && path.Ext(out.Text) == "" {
		out.Text += ".zip"
	}
	c.write(out, files.One)
	e := files.One
	if c.has("-r") {
		e = files.Tree
	}
	for _, w := range rest[1:] {
		c.read(w, e)
	}
}

// compress handles the tools that replace a file by a smaller or larger one.
func (c *call) compress(rest []word.Word) {
	for _, w := range rest {
		e := files.One
		if c.tree {
			e = files.Tree
		}
		c.read(w, e)
		if c.has("-c", "-t", "-l") {
			continue
		}
		if _, ok := c.opt("-o"); ok {
			continue
		}
		if w.Kind != word.Known || c.tree {
			c.write(w, e)
			c.write(parent(w), files.New)
			continue
		}
		c.write(w, e)
		c.write(word.Word{Kind: word.Glob, Text: strings.TrimSuffix(w.Text, path.Ext(w.Text)) + ".*"}, files.One)
		c.write(word.Word{Kind: word.Glob, Text: w.Text + ".*"}, files.One)
		if path.Ext(w.Text) != "" {
			c.write(word.Lit(strings.TrimSuffix(w.Text, path.Ext(w.Text))), files.One)
		}
	}
}

func (c *call) patch(rest []word.Word) {
	if len(rest) > 1 {
		c.read(rest[1], files.One)
	}
	if c.has("--dry-run") {
		return
	}
	if len(rest) > 0 {
		c.write(rest[0], files.One)
		for _, suffix := range []string{".orig", ".rej"} {
			if rest[0].Kind == word.Known {
				c.write(word.Lit(rest[0].Text+suffix), files.One)
			}
		}
		return
	}
	// the names stand in the patch
	c.write(word.Lit("."), files.New)
}
