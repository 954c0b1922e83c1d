package command

import (
	"strings"

	"paragents/core/policy/files"
	"paragents/core/policy/word"
)

// unknownArgs stands for arguments that come from elsewhere.
var unknownArgs = word.Word{Kind: word.Many}

// wrap handles commands that run another one: what they run is judged instead. Privileged ones need a rule as well.
func (c *call) wrap(tool string, rest []word.Word) {
	privileged := c.args.row.flags["privileged"]
	c.Part.Free = !privileged
	for _, u := range c.uses {
		if u.option == nil {
			c.Part.Free = false
			c.opaque("an option of " + tool + " is not known")
		}
	}
	if len(c.Part.Risks) > 0 {
		c.opaque("an option of " + tool + " changes what it runs")
	}
	inner := Inner{Dir: c.dir}
	switch tool {
	case "env":
		c.env(rest)
		return
	case "timeout":
		rest = rest[min(1, len(rest)):]
	case "chrt", "taskset":
		if c.has("-p") {
			c.Part.Free = false
			return
		}
		rest = rest[min(1, len(rest)):]
	case "nice", "ionice", "nohup", "setsid", "stdbuf", "time":
		if tool == "ionice" && c.has("-p") {
			c.Part.Free = false
			return
		}
	case "flock":
		c.flock(rest)
		return
	case "xargs":
		c.xargs(rest)
		return
	case "watch":
		if len(rest) == 0 {
			return
		}
		if !c.has("-x") {
			c.Inner = append(c.Inner, Inner{Script: joined(rest)})
			return
		}
	case "script":
		c.generic(rest)
		if !c.has("-c") {
			c.opaque("script starts a shell")
		}
		if len(rest) == 0 && !c.has("-O", "-B") {
			c.write(word.Lit("typescript"), files.One)
		}
		return
	case "su", "runuser":
		if !c.has("-c") {
			c.opaque("it starts a shell")
		}
		return
	case "sudo", "doas", "pkexec":
		for len(rest) > 0 && rest[0].Kind == word.Known && assignment(rest[0].Text) {
			name, value, _ := strings.Cut(rest[0].Text, "=")
			inner.Env = append(inner.Env, Env{Name: name, Value: word.Lit(value)})
			rest = rest[1:]
		}
		if c.has("-e") {
			for _, w := range rest {
				c.write(w, files.One)
			}
			return
		}
		if len(rest) == 0 {
			if c.has("-s", "-i") {
				c.opaque("it starts a shell")
			}
			return
		}
	case "chroot":
		rest = rest[min(1, len(rest)):]
	}
	if len(rest) == 0 {
		return
	}
	inner.Words = rest
	c.Inner = append(c.Inner, inner)
}

// joined is the text of words put together with blanks.
func joined(words []word.Word) word.Word {
	var texts []string
	for _, w := range words {
		if w.Kind != word.Known {
			return word.Word{Kind: word.Open}
		}
		texts = append(texts, w.Text)
	}
	return word.Lit(strings.Join(texts, " "))
}

func (c *call) env(rest []word.Word) {
	inner := Inner{Dir: c.dir}
	if u, ok := c.opt("-S"); ok {
		words, err := split(u.value.Text)
		if err != nil || u.value.Kind != word.Known || strings.ContainsAny(u.value.Text, "$\\#*") {
			c.opaque("the text that env splits is not analysed")
			c.Part.Free = false
		}
		// env puts the words in the place of the text and starts again
		inner.Words = append([]word.Word{c.words[0]}, word.Lits(words...)...)
		inner.Words = append(inner.Words, c.words[u.valueAt+1:]...)
		c.Inner = append(c.Inner, inner)
		return
	}
	for len(rest) > 0 && strings.Contains(rest[0].Text, "=") {
		name, value, _ := strings.Cut(rest[0].Text, "=")
		inner.Env = append(inner.Env, Env{Name: name, Value: word.Word{Kind: rest[0].Kind, Text: value}})
		rest = rest[1:]
	}
	if len(rest) == 0 {
		// env alone shows the environment
		return
	}
	inner.Words = rest
	c.Inner = append(c.Inner, inner)
}

func (c *call) flock(rest []word.Word) {
	if len(rest) == 0 {
		return
	}
	if rest[0].Kind != word.Known || strings.Trim(rest[0].Text, "0123456789") != "" {
		c.write(rest[0], files.One)
	}
	rest = rest[1:]
	if len(rest) > 1 && rest[0].Is("-c") {
		c.Inner = append(c.Inner, Inner{Script: rest[1]})
		return
	}
	if len(rest) > 0 {
		c.Inner = append(c.Inner, Inner{Words: rest, Dir: c.dir})
	}
}

func (c *call) xargs(rest []word.Word) {
	if len(rest) == 0 {
		rest = word.Lits("echo")
	}
	replace, on := c.opt("-I")
	mark := "{}"
	if on && replace.has {
		mark = replace.value.Text
	}
	if u, ok := c.opt("-i"); ok {
		on = true
		if u.has && u.value.Text != "" {
			mark = u.value.Text
		}
	}
	var inner []word.Word
	for _, w := range rest {
		if on && mark != "" && w.Kind == word.Known && strings.Contains(w.Text, mark) {
			w = word.Word{Kind: word.Open, Text: w.Text[:strings.Index(w.Text, mark)]}
		}
		inner = append(inner, w)
	}
	if !on {
		inner = append(inner, unknownArgs)
	}
	c.Inner = append(c.Inner, Inner{Words: inner, Dir: c.dir})
}

// find takes its own language apart: options, where to start, and an expression.
func (c *call) find() {
	words := c.words[1:]
	i := 0
	for i < len(words) && (words[i].Is("-H") || words[i].Is("-L") || words[i].Is("-P") || words[i].Is("-D") || words[i].Is("--") ||
		words[i].Kind == word.Known && strings.HasPrefix(words[i].Text, "-O")) {
		if words[i].Is("-D") {
			i++
		}
		if words[min(i, len(words)-1)].Is("-L") {
			c.opaque("find goes through links")
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
			c.somewhere(Writes, roots)
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
			"-nouser", "-nogroup", "-depth", "-d", "-xdev", "-mount", "-daystart", "-noleaf", "-warn", "-nowarn",
			"-ignore_readdir_race", "-noignore_readdir_race", "-a", "-and", "-o", "-or", "-not", "!", "(", ")", ",",
			"-help", "--help", "-version", "--version", "-nogid":
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

// somewhere adds an effect on something below each place that find starts from.
func (c *call) somewhere(kind EffectKind, roots []word.Word) {
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
