package command

import (
	"regexp"
	"strings"

	"paragents/core/policy/files"
	"paragents/core/policy/word"
)

// safeSed are the sed commands that neither run, read nor write: addresses, s without the flags e and w, and letters
// that only print and edit.
var safeSed = regexp.MustCompile(`^(` + sedAddress + `(,(` + sedAddress + `|\+[0-9]+))?)?\s*!?\s*([pdqQnNgGhHxDPlz=]\s*[0-9]*|` +
	sedSubst + `|y/[^/\\]*/[^/\\]*/|[aic]\\?\s*[^\\]*)\s*$`)

const (
	sedAddress = `([0-9]+|\$|/([^/\\\n]|\\[^\n])*/I?)`
	sedSubst   = `s(/([^/\\\n]|\\[^\n])*/([^/\\\n]|\\[^\n])*/|\|([^|\\\n]|\\[^\n])*\|([^|\\\n]|\\[^\n])*\||#([^#\\\n]|\\[^\n])*#([^#\\\n]|\\[^\n])*#|,([^,\\\n]|\\[^\n])*,([^,\\\n]|\\[^\n])*,)[gpiI0-9]*`
)

// harmlessSed reports whether a script has only safe commands, one or several separated by semicolons or newlines.
func harmlessSed(script string) bool {
	if safeSed.MatchString(strings.TrimSpace(script)) && !strings.Contains(script, "\n") {
		return true
	}
	// cut at separators; a separator within a pattern makes a piece that is not safe, which only asks
	for _, piece := range strings.FieldsFunc(script, func(r rune) bool { return r == ';' || r == '\n' }) {
		piece = strings.TrimSpace(piece)
		if piece != "" && (!safeSed.MatchString(piece) || strings.ContainsAny(piece[:1], "aic")) {
			return false
		}
	}
	return true
}

func (c *call) sed(rest []word.Word) {
	scripts := []int{}
	for _, u := range c.uses {
		if u.option != nil && u.name == "-e" && u.has {
			scripts = append(scripts, u.valueAt)
			c.sedScript(u.valueAt, u.value)
		}
	}
	if len(scripts) == 0 && !c.has("-f") && len(c.operands) > 0 {
		c.sedScript(c.operands[0], c.words[c.operands[0]])
		rest = rest[1:]
	}
	inPlace, on := c.opt("-i")
	for _, w := range rest {
		c.read(w, files.One)
		if !on {
			continue
		}
		c.write(w, files.One)
		switch suffix := inPlace.value; {
		case !inPlace.has || suffix.Is(""):
		case suffix.Kind != word.Known || strings.ContainsAny(suffix.Text, "*/"):
			c.write(word.Word{Kind: word.Open}, files.One)
		case w.Kind == word.Known:
			c.write(word.Lit(w.Text+suffix.Text), files.One)
		case w.Kind == word.Glob:
			c.write(word.Word{Kind: word.Glob, Text: w.Text + suffix.Text}, files.One)
			c.write(parent(w), files.New)
		}
	}
}

func (c *call) sedScript(at int, script word.Word) {
	if script.Kind != word.Known {
		c.opaque("the script of sed is not known")
		return
	}
	if !harmlessSed(script.Text) && !c.has("--sandbox") {
		c.risk(at)
		if strings.ContainsAny(script.Text, "wW") {
			c.write(word.Word{Kind: word.Open}, files.One)
		}
	}
}

// harmlessAwk reports whether an awk program has nothing by which it could run, read or write something else than its
// operands.
func harmlessAwk(program string) bool {
	program = strings.ReplaceAll(program, "||", "")
	for _, w := range []string{"system", "getline", "close", "fflush", "extension", "ARGV", "ARGC", "PROCINFO", "@", "|"} {
		if strings.Contains(program, w) {
			return false
		}
	}
	return !strings.Contains(program, "print") || !strings.Contains(program, ">")
}

func (c *call) awk(rest []word.Word) {
	inline := !c.has("-f", "-E", "-e")
	if inline && len(c.operands) > 0 {
		program := c.words[c.operands[0]]
		if program.Kind != word.Known {
			c.opaque("the program of awk is not known")
		} else if !harmlessAwk(program.Text) {
			c.risk(c.operands[0])
			if strings.Contains(program.Text, ">") {
				c.write(word.Word{Kind: word.Open}, files.One)
			}
		}
		rest = rest[1:]
	}
	for _, w := range rest {
		if strings.Contains(w.Text, "=") {
			continue
		}
		c.read(w, files.One)
	}
}

// interpreter handles programs that run a file, or text, in a language of their own.
func (c *call) interpreter(tool string, rest []word.Word) {
	inline := false
	for _, u := range c.uses {
		if u.option == nil || !u.has {
			continue
		}
		switch u.name {
		case "-c", "-e", "-E", "-p", "-r":
			inline = inline || u.option.risk
		case "-m":
			inline = true
			if u.valueAt != u.at {
				c.risk(u.valueAt)
			}
		}
	}
	if inline || c.has("-V", "-v", "--version", "-h", "--help") && len(rest) == 0 {
		if tool == "perl" || tool == "ruby" {
			c.oneLiner(rest)
		}
		return
	}
	if len(rest) == 0 || rest[0].Is("-") {
		c.Reads = true
		return
	}
	if rest[0].Kind != word.Known {
		c.opaque("the script is not known")
		return
	}
	c.Script = Under(c.dir, rest[0])
	c.read(rest[0], files.One)
	for _, w := range rest[1:] {
		c.mention(w)
	}
	if tool == "deno" || tool == "bun" {
		c.risk(c.operands[0])
	}
}

// oneLiner notes the files of perl -ne and its relatives.
func (c *call) oneLiner(rest []word.Word) {
	inPlace, on := c.opt("-i")
	for _, w := range rest {
		c.read(w, files.One)
		if !on {
			continue
		}
		c.write(w, files.One)
		if inPlace.has && inPlace.value.Text != "" {
			if w.Kind == word.Known && inPlace.value.Kind == word.Known && !strings.ContainsAny(inPlace.value.Text, "*/") {
				c.write(word.Lit(w.Text+inPlace.value.Text), files.One)
			} else {
				c.write(word.Word{Kind: word.Open}, files.One)
			}
		}
	}
}

// shell handles shells: what they run is judged instead of them.
func (c *call) shell(tool string, rest []word.Word) {
	c.Part.Free = true
	switch tool {
	case "bash", "sh", "dash", "ash":
	default:
		c.Part.Free = false
		c.opaque("scripts for this shell are not analysed")
	}
	text, interactive := false, false
	for _, u := range c.uses {
		switch u.name {
		case "-c":
			text = true
		case "-s":
			rest = nil
		case "-i", "-l", "--login", "--rcfile", "--init-file":
			interactive = true
		case "-e", "-u", "-x", "-v", "-n", "-O", "-o", "--norc", "--noprofile", "--posix", "--":
		case "-f", "-p", "-h", "-B", "-C", "-E", "-T", "-a", "-b", "-k", "-m", "-t", "-D", "-r":
			c.opaque("an option of the shell changes what the script means")
		default:
			c.opaque("an option of the shell is not known")
		}
	}
	if interactive {
		c.opaque("the shell reads start-up files")
	}
	if c.has("-O", "-o") {
		if u, _ := c.opt("-o"); c.has("-O") || !u.value.Is("pipefail") && !u.value.Is("errexit") && !u.value.Is("nounset") {
			c.opaque("an option of the shell changes what the script means")
		} else {
			c.Part.Risks = nil
		}
	}
	switch {
	case text && len(rest) > 0:
		c.Inner = append(c.Inner, Inner{Script: rest[0], Bash: tool == "bash"})
		if rest[0].Kind != word.Known {
			c.opaque("the text of the script is not known")
		}
	case text, len(rest) == 0:
		if c.has("--version", "--help") {
			return
		}
		c.Reads, c.Shell, c.Bash = true, true, tool == "bash"
	case rest[0].Kind != word.Known:
		c.Part.Free = false
		c.opaque("the script is not known")
	default:
		c.Part.Free = false
		c.Script = rest[0]
		c.read(rest[0], files.One)
		for _, w := range rest[1:] {
			c.mention(w)
		}
	}
}
