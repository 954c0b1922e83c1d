package command

import (
	"strings"

	"paragents/core/policy/files"
	"paragents/core/policy/word"
)

// find takes its own language apart: options, where to start, and an expression.
func (c *call) find() {
	words := c.words[1:]
	i := 0
	for i < len(words) && (words[i].Is("-H") || words[i].Is("-L") || words[i].Is("-P") || words[i].Is("-D") || words[i].Is("--") ||
		words[i].Kind == word.Known && strings.HasPrefix(words[i].Text, "-O")) {
		if words[i].Is("-D") {
			i++
		}
		i++
	}
	var roots []word.Word
	for i < len(words) && !expression(words[i]) {
		roots = append(roots, words[i])
		i++
	}
	if len(roots) == 0 {
		roots = []word.Word{word.Lit(".")}
	}
	for _, r := range roots {
		if r.MayBeOption() || r.Kind == word.Many || r.Kind == word.Glob && r.Dashed {
			c.opaque("a word that is not known may be an action")
		}
		// names only: the directory itself counts, not what lies below
		c.read(r, files.One)
	}
	for ; i < len(words); i++ {
		w := words[i]
		if w.Kind != word.Known {
			if w.MayBeOption() || w.Kind == word.Many || w.Option() {
				c.opaque("a word that is not known may be an action")
			}
			continue
		}
		switch w.Text {
		case "-delete":
			c.below(Writes, roots)
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(words) && !words[end].Is(";") && !(words[end].Is("+") && words[end-1].Is("{}")) {
				end++
			}
			c.findExec(roots, words[min(i+1, len(words)):min(end, len(words))], strings.HasSuffix(w.Text, "dir"))
			i = end
		case "-fprint", "-fprint0", "-fls":
			if i++; i < len(words) {
				c.write(words[i], files.One)
			}
		case "-fprintf":
			if i++; i < len(words) {
				c.write(words[i], files.One)
			}
			i++
		case "-files0-from":
			c.opaque("the places to start from stand in a file")
		case "-newer", "-anewer", "-cnewer", "-samefile":
			if i++; i < len(words) {
				c.read(words[i], files.One)
			}
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-type", "-xtype", "-size",
			"-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-perm", "-user", "-group", "-uid", "-gid", "-maxdepth",
			"-mindepth", "-links", "-inum", "-printf", "-fstype", "-regextype", "-lname", "-ilname", "-used", "-context":
			i++
		case "-print", "-print0", "-ls", "-prune", "-quit", "-empty", "-true", "-false", "-readable", "-writable", "-executable",
			"-nouser", "-nogroup", "-depth", "-d", "-xdev", "-mount", "-follow", "-daystart", "-noleaf", "-warn", "-nowarn",
			"-ignore_readdir_race", "-noignore_readdir_race", "-a", "-and", "-o", "-or", "-not", "!", "(", ")", ",",
			"-help", "--help", "-version", "--version", "-nogid", "-noleaf ":
		default:
			if strings.HasPrefix(w.Text, "-newer") && len(w.Text) == 8 {
				i++
				continue
			}
			c.opaque("find: " + w.Text + " is not known")
		}
	}
}

// expression reports whether a word begins the expression of find.
func expression(w word.Word) bool {
	if w.Kind != word.Known {
		return w.Option()
	}
	return strings.HasPrefix(w.Text, "-") && w.Text != "-" || w.Text == "(" || w.Text == "!" || w.Text == ")" || w.Text == ","
}

// below adds an effect on something below each place that find starts from.
func (c *call) below(kind EffectKind, roots []word.Word) {
	for _, r := range roots {
		if r.Kind == word.Known {
			c.effect(kind, Under(c.dir, word.Word{Kind: word.Below, Text: r.Text}), files.Some)
		} else {
			c.effect(kind, word.Word{Kind: word.Open}, files.One)
		}
	}
}

// findExec adds the command that find runs for what it finds below each root.
func (c *call) findExec(roots, words []word.Word, inDir bool) {
	if len(words) == 0 {
		c.opaque("find runs a command that is not known")
		return
	}
	for _, root := range roots {
		found := word.Word{Kind: word.Open, Text: ""}
		if root.Kind == word.Known {
			found = word.Word{Kind: word.Below, Text: root.Text}
		}
		var inner []word.Word
		for _, w := range words {
			switch {
			case w.Is("{}"):
				inner = append(inner, found)
			case w.Kind == word.Known && strings.Contains(w.Text, "{}"):
				inner = append(inner, word.Word{Kind: word.Open, Text: w.Text[:strings.Index(w.Text, "{}")]})
			default:
				inner = append(inner, w)
			}
		}
		in := Inner{Words: inner, Dir: c.dir}
		if inDir {
			// it runs where the file lies, and the file is named ./file
			in.Dir = word.Word{Kind: word.Open}
			for i, w := range inner {
				if w.Kind == word.Below {
					inner[i] = Under(c.dir, w)
				}
			}
		}
		c.Inner = append(c.Inner, in)
	}
}

// fd runs everything behind -x or -X, up to a semicolon, for what it finds.
func (c *call) fd() {
	for i := 1; i < len(c.words); i++ {
		if !c.words[i].Is("-x") && !c.words[i].Is("-X") && !c.words[i].Is("--exec") && !c.words[i].Is("--exec-batch") {
			continue
		}
		end := i + 1
		for end < len(c.words) && !c.words[end].Is(";") {
			end++
		}
		inner, placed := []word.Word{}, false
		for _, w := range c.words[i+1 : end] {
			if at := strings.IndexByte(w.Text, '{'); at >= 0 && w.Kind == word.Known {
				w, placed = word.Word{Kind: word.Open, Text: w.Text[:at]}, true
			}
			inner = append(inner, w)
		}
		if len(inner) == 0 {
			c.opaque("fd runs a command that is not known")
			return
		}
		if !placed {
			inner = append(inner, word.Word{Kind: word.Open})
		}
		c.Inner = append(c.Inner, Inner{Words: inner, Dir: c.dir})
		c.generic(c.before(i))
		return
	}
	for _, u := range c.uses {
		// glued or abbreviated
		if u.name == "-x" || u.name == "-X" {
			c.opaque("fd runs a command that is not known")
		}
	}
	c.generic(c.rest())
}

// before returns the operands that stand before word at.
func (c *call) before(at int) []word.Word {
	var out []word.Word
	for _, i := range c.operands {
		if i < at {
			out = append(out, c.words[i])
		}
	}
	return out
}
