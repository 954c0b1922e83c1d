package command

import (
	"strings"

	"paragents/core/policy/files"
	"paragents/core/policy/word"
)

// Place answers questions about paths as the command would see them. The paths are relative to the working directory
// of the command.
type Place interface {
	IsDir(w word.Word) bool  // leads to a directory
	IsFile(w word.Word) bool // exists and is no directory
	IsLink(w word.Word) bool // is a link, or leads through one
	Inside(w word.Word) bool // is known to lie in the workspace
	Certain() bool           // the working directory is one that is known
}

// call is a command being looked at.
type call struct {
	*Look
	*args
	table *Table
	place Place
	dir   word.Word // working directory from options, if not empty
	tree  bool      // operands are taken with all that is below them
	link  bool      // and through links
}

// Look says what a command does as far as the table tells. words[0] is known.
func (t *Table) Look(words []word.Word, place Place) *Look {
	c := t.canon(words, place.Inside)
	l := &Look{Part: &Part{Words: c.args.words, args: c.args}}
	k := &call{Look: l, args: c.args, table: t, place: place, dir: c.dir}
	if c.odd != "" {
		l.opaque(c.odd)
	}
	k.look()
	return l
}

func (c *call) look() {
	r := c.args.row
	if c.hidden && r.known && !r.flags["plain"] {
		c.opaque("a word that is not known may be an option that changes what the command does")
	}
	if c.hidden && !r.known {
		c.opaque("a word that is not known may be an option")
	}
	for _, u := range c.uses {
		if u.option != nil && u.option.value == 'd' && u.has {
			c.dir = Under(c.dir, u.value)
			if u.risk && c.place.Inside(c.dir) {
				u.risk = false
			}
		}
	}
	if strings.HasPrefix(r.name, "git") {
		c.gitGlobals()
	}
	for _, u := range c.uses {
		c.use(u)
	}
	switch {
	case c.special():
	default:
		c.generic(c.rest())
	}
}

// use notes what an option does.
func (c *call) use(u use) {
	if u.option == nil {
		if c.args.row.flags["strict"] {
			c.opaque("the option " + u.name + " is not known")
		}
		if !c.args.row.known && u.has {
			c.mention(u.value)
		}
		if !c.args.row.known && !u.has {
			c.glued(u)
		}
		return
	}
	if u.tree {
		c.tree = c.tree || !u.has || u.value.Is("recurse")
		c.link = c.link || u.link
	}
	if u.risk && !(u.value.Kind == word.Known && u.option.value == 'd' && c.place.Inside(c.dir)) {
		c.risk(u.at)
	}
	if !u.has || u.value.Is("") {
		return
	}
	v := Under(c.dir, u.value)
	switch u.option.value {
	case 'r':
		c.effect(Reads, v, files.One)
	case 'R':
		c.effect(Reads, v, files.Tree)
	case 'w':
		c.effect(Writes, v, files.One)
	case 'W':
		c.effect(Writes, v, files.New)
	case 'u':
		c.effect(Fetches, u.value, files.One)
	case 'm':
		c.mention(u.value)
	case 'x':
		c.Inner = append(c.Inner, Inner{Script: u.value, Dir: c.dir})
	case 'c':
		c.Inner = append(c.Inner, Inner{Words: []word.Word{u.value}, Dir: c.dir})
	}
}

// glued notes paths that may be glued to an unknown short option, as in -I/etc.
func (c *call) glued(u use) {
	w := c.words[u.at]
	if i := strings.IndexAny(w.Text, "/~."); i > 1 && strings.HasPrefix(w.Text, "-") {
		w.Text = w.Text[i:]
		c.mention(w)
	}
}

// rest returns the operands that the effects of the row apply to.
func (c *call) rest() []word.Word {
	var out []word.Word
	for _, i := range c.operands {
		out = append(out, c.words[i])
	}
	return out
}

// generic notes what operands are, by the letters of the row.
func (c *call) generic(rest []word.Word) {
	codes := c.args.row.operands
	if codes[0] == '.' && len(codes) > 1 {
		for _, u := range c.uses {
			if u.option != nil && u.first {
				codes = codes[1:]
				break
			}
		}
	}
	some := false
	for i, w := range rest {
		code := codes[min(i, len(codes)-1)]
		some = some || code != '.'
		c.operandEffect(code, w)
	}
	if !some && (c.tree || codes[len(codes)-1] == 'R') && codes[len(codes)-1] != '.' {
		c.effect(Reads, Under(c.dir, word.Lit(".")), c.below())
	}
}

// below is the extent of operands that are taken with all that is below them.
func (c *call) below() files.Extent {
	if c.link {
		return files.Followed
	}
	return files.Tree
}

func (c *call) operandEffect(code byte, w word.Word) {
	extent := files.One
	if c.tree || code == 'R' || code == 'W' {
		extent = c.below()
	}
	switch code {
	case 'r', 'R':
		if !w.Is("-") {
			c.effect(Reads, Under(c.dir, w), extent)
		}
	case 'w', 'W':
		if !w.Is("-") {
			c.effect(Writes, Under(c.dir, w), extent)
		}
	case 'u':
		c.effect(Fetches, w, files.One)
	case 'm':
		c.mention(w)
	}
}

// mention notes every piece of an argument that may be a path, or a URL.
func (c *call) mention(w word.Word) {
	if w.Kind == word.Glob || w.Kind == word.Below {
		c.effect(Mentions, Under(c.dir, w), files.Tree)
		return
	}
	if strings.Contains(w.Text, "://") {
		c.effect(Fetches, w, files.One)
		if i := strings.IndexByte(w.Text, '='); i >= 0 {
			c.effect(Fetches, word.Word{Kind: w.Kind, Text: w.Text[i+1:]}, files.One)
		}
		return
	}
	pieces := strings.FieldsFunc(w.Text, func(r rune) bool { return r == '=' || r == '@' || r == ':' || r == ',' })
	pieces = append(pieces, w.Text)
	for i, p := range pieces {
		if p == "" || i == len(pieces)-1 && i == 1 && p == pieces[0] {
			continue
		}
		kind := word.Known
		if w.Kind != word.Known && i >= len(pieces)-2 {
			kind = word.Open
		}
		c.effect(Mentions, Under(c.dir, word.Word{Kind: kind, Text: p}), files.Tree)
	}
}

// option returns the last use of an option by its first spelling.
func (c *call) opt(name string) (use, bool) {
	for i := len(c.uses) - 1; i >= 0; i-- {
		if u := c.uses[i]; u.name == name {
			return u, true
		}
	}
	return use{}, false
}

func (c *call) has(names ...string) bool {
	for _, n := range names {
		if _, ok := c.opt(n); ok {
			return true
		}
	}
	return false
}
