package command

import (
	"path"
	"strings"

	"paragents/core/policy/files"
	"paragents/core/policy/word"
)

// curl notes where output goes, what is uploaded, and URLs that curl expands itself.
func (c *call) curl(rest []word.Word) {
	dir := c.dir
	if u, ok := c.opt("--output-dir"); ok && u.has {
		dir = Under(dir, u.value)
	}
	var urls []word.Word
	urls = append(urls, rest...)
	kept := c.Effects[:0]
	for _, e := range c.Effects {
		switch {
		case e.Kind == Fetches:
			urls = append(urls, e.Word)
			continue
		case e.Kind == Writes && e.Word.Is("-"), e.Kind == Reads && (e.Word.Is("-") || e.Word.Is(".")):
			continue
		case e.Kind == Writes && dir.Text != "":
			e.Word = Under(dir, e.Word)
		}
		kept = append(kept, e)
	}
	c.Effects = kept
	for _, u := range c.uses {
		c.curlData(u)
	}
	for _, u := range urls {
		c.curlURL(u, dir)
	}
	if c.hidden {
		c.opaque("a word that is not known may be an option of curl")
	}
}

// curlData notes files behind @ and < in what is sent.
func (c *call) curlData(u use) {
	if u.option == nil || !u.has {
		return
	}
	text := u.value.Text
	switch u.name {
	case "-d", "-H", "--proxy-header", "-w", "-b":
		file, at := strings.CutPrefix(text, "@")
		if i := strings.IndexByte(text, '@'); !at && i > 0 && u.name == "-d" {
			file, at = text[i+1:], !strings.Contains(text[:i], "=")
		}
		if u.name == "-b" && !strings.Contains(text, "=") {
			file, at = text, true
		}
		if at && file != "-" {
			c.read(word.Word{Kind: u.value.Kind, Text: file}, files.One)
		} else if u.value.Kind != word.Known && text == "" {
			c.read(word.Word{Kind: word.Open}, files.One)
		}
	case "-F":
		_, value, _ := strings.Cut(text, "=")
		for piece := range strings.SplitSeq(value, ",") {
			if piece != "" && (piece[0] == '@' || piece[0] == '<') {
				file, _, _ := strings.Cut(strings.Trim(piece[1:], `"`), ";")
				c.read(word.Word{Kind: u.value.Kind, Text: file}, files.One)
			}
		}
		if u.value.Kind != word.Known {
			c.read(word.Word{Kind: word.Open}, files.One)
		}
	}
}

func (c *call) curlURL(u, dir word.Word) {
	odd := strings.ContainsAny(u.Text, "{}[]") && !c.has("-g") && !strings.HasPrefix(afterScheme(u.Text), "[")
	if u.Kind == word.Known && !strings.Contains(u.Text, "://") {
		u.Text = "http://" + u.Text
	}
	if u.Kind == word.Glob {
		odd = true
	}
	c.Effects = append(c.Effects, Effect{Kind: Fetches, Word: u, Odd: odd})
	if !c.has("-O", "--remote-name-all") {
		return
	}
	c.remoteName(u, dir, odd)
}

// remoteName notes a file that gets the name that stands last in the URL.
func (c *call) remoteName(u, dir word.Word, odd bool) {
	text, _, _ := strings.Cut(afterScheme(u.Text), "?")
	text, _, _ = strings.Cut(text, "#")
	name := path.Base(text)
	if u.Kind != word.Known || odd || !strings.Contains(text, "/") || strings.HasSuffix(text, "/") || name == ".." || name == "." {
		where := dir
		if where.Text == "" {
			where = word.Lit(".")
		}
		c.effect(Writes, where, files.New)
		return
	}
	c.effect(Writes, Under(dir, word.Lit(name)), files.One)
}

func afterScheme(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		return rest
	}
	return url
}

func (c *call) wget(rest []word.Word) {
	dir := c.dir
	if u, ok := c.opt("-P"); ok && u.has {
		dir = Under(dir, u.value)
	}
	out, named := c.opt("-O")
	kept := c.Effects[:0]
	for _, e := range c.Effects {
		if e.Kind == Writes && (e.Word.Is("-") || e.Word.Is("/dev/stdout")) {
			continue
		}
		kept = append(kept, e)
	}
	c.Effects = kept
	for _, u := range rest {
		if u.Kind == word.Known && !strings.Contains(u.Text, "://") {
			u.Text = "http://" + u.Text
		}
		c.Effects = append(c.Effects, Effect{Kind: Fetches, Word: u, Odd: u.Kind == word.Glob})
		if named && out.has || c.has("--spider") {
			continue
		}
		c.remoteName(u, dir, false)
		if u.Kind == word.Known && strings.HasSuffix(u.Text, "/") {
			c.effect(Writes, Under(dir, word.Lit("index.html")), files.One)
		}
	}
	if limit, ok := c.opt("--max-redirect"); !ok || !limit.value.Is("0") {
		c.opaque("wget follows redirects that nobody judged; use --max-redirect=0")
	}
}
