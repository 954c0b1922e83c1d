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
