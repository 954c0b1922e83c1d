package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"paragents/core/policy/command"
	"paragents/core/policy/word"
)

// builtin walks a command that the shell runs itself; false means that it is a program, or one that has no effect on
// the shell and needs a rule like a program.
func (w *walker) builtin(s *state, r run) (outcome, bool) {
	args := r.words[1:]
	switch r.words[0].Text {
	case ":", "true", "false", "echo", "pwd", "exit", "return", "break", "continue", "shift", "type", "umask", "sleep", "times", "jobs":
	case "printf":
		w.printf(s, args)
	case "test", "[":
		w.test(args)
	case "cd", "pushd":
		w.free(s, r)
		return w.cd(s, args), true
	case "popd":
		w.free(s, r)
		return same(s.chdir(word.Word{Kind: word.Open})), true
	case "export", "readonly", "local", "declare", "typeset":
		w.declareWords(s, r.words[0].Text, args)
	case "unset":
		w.names(s, args, "fvn")
		for _, a := range args {
			delete(s.funcs, a.Text)
		}
	case "read":
		w.read(s, args)
	case "getopts":
		w.doubtUnless(len(args) > 1 && args[0].Kind == word.Known, "getopts with unknown words is not analysed")
		if len(args) > 1 {
			w.names(s, args[1:2], "")
		}
		delete(s.vars, "OPTARG")
	case "let":
		w.doubt("let evaluates text as arithmetic; use $((…))")
	case "wait":
		w.doubtUnless(plainWords(args, ""), "wait with options is not analysed")
	case "set":
		w.set(args)
	case "eval":
		w.free(s, r)
		return w.eval(s, args), true
	case ".", "source":
		w.part(s, r, "the commands of a file are run within the shell")
		if len(args) > 0 {
			w.target(s, command.Effect{Kind: command.Reads, Word: args[0]})
			w.scriptFile(s, &command.Part{}, args[0])
		}
		w.forget(s, touched{wild: true, moves: true})
		return same(s), true
	case "trap":
		w.trap(s, args)
	case "alias":
		w.alias(s, args)
	case "shopt":
		w.doubtUnless(plainWords(args, "pq"), "shopt changes what later commands mean")
	case "hash":
		w.doubtUnless(plainWords(args, "rdl"), "hash binds a name to another program")
	case "enable", "complete", "compgen", "compopt", "fc", "history", "bind", "unalias", "coproc":
		w.doubt(r.words[0].Text + " changes what later commands mean or runs text")
	case "mapfile", "readarray":
		w.mapfile(s, args)
	case "command":
		return w.commandBuiltin(s, r)
	case "builtin":
		w.free(s, r)
		if len(args) == 0 {
			return same(s), true
		}
		return w.run(s, run{words: args, env: r.env, in: r.in, program: true, nested: r.nested + 1}), true
	case "exec":
		w.exec(s, r)
		return same(s), true
	default:
		return outcome{}, false
	}
	w.free(s, r)
	return same(s), true
}

// shellOwn reports whether a name is one that changes the shell, so that a function of that name would mislead.
func shellOwn(name string) bool {
	switch name {
	case "cd", "pushd", "popd", "export", "readonly", "local", "declare", "typeset", "unset", "read", "getopts", "let", "set", "eval", ".",
		"source", "trap", "alias", "shopt", "hash", "enable", "mapfile", "readarray", "command", "builtin", "exec", "test", "[", "printf",
		"exit", "return", "break", "continue", "shift":
		return true
	}
	return false
}

// free adds a part that needs no allow rule.
func (w *walker) free(s *state, r run) {
	part := w.table.Look(r.words, nowhere{}).Part
	part.Free, part.Opaque, part.Risks, part.Env = true, "", nil, s.environment(r.env)
	w.out.Parts = append(w.out.Parts, part)
}

func (w *walker) doubtUnless(ok bool, why string) {
	if !ok {
		w.doubt(why)
	}
}

// plainWords reports whether all words are known and options have only the given letters.
func plainWords(args []word.Word, options string) bool {
	for _, a := range args {
		if a.Kind != word.Known || strings.HasPrefix(a.Text, "-") && strings.Trim(a.Text[1:], options) != "" {
			return false
		}
	}
	return true
}

// names sets every operand, the name of a variable, to something unknown. The shell evaluates subscripts in names.
func (w *walker) names(s *state, args []word.Word, options string) {
	for _, a := range args {
		if a.Kind == word.Known && strings.HasPrefix(a.Text, "-") && strings.Trim(a.Text[1:], options) == "" {
			continue
		}
		if a.Kind != word.Known || !syntax.ValidName(a.Text) {
			w.doubt("a variable is set whose name is no plain word")
			continue
		}
		w.assigned(s, a.Text, word.Word{Kind: word.Open}, false)
	}
}

func (w *walker) printf(s *state, args []word.Word) {
	if len(args) == 0 {
		return
	}
	switch {
	case args[0].Is("-v") && len(args) > 1:
		w.names(s, args[1:2], "")
	case args[0].Kind == word.Known && strings.HasPrefix(args[0].Text, "-v"):
		w.names(s, []word.Word{word.Lit(args[0].Text[2:])}, "")
	case args[0].MayBeOption() || args[0].Kind != word.Known && strings.HasPrefix(args[0].Text, "-"):
		w.doubt("printf with an unknown first word may set a variable")
	}
}

// test asks where a word may be taken for -v, after which the shell evaluates a subscript.
func (w *walker) test(args []word.Word) {
	if n := len(args); n > 0 && args[n-1].Is("]") {
		args = args[:n-1]
	}
	for len(args) > 1 && args[0].Is("!") {
		args = args[1:]
	}
	for _, a := range args {
		if a.Kind == word.Many || a.Kind == word.Glob {
			w.doubt("a test with words that are not known is not analysed")
			return
		}
	}
	if len(args) <= 1 || len(args) == 3 && args[1].Kind == word.Known && strings.Trim(args[1].Text, "-=!<>acdefgilnoqrt") == "" && !args[1].Is("-o") && !args[1].Is("-a") {
		return
	}
	for i, a := range args {
		known := a.Kind == word.Known
		if known && a.Text != "-v" && a.Text != "-R" || a.Numeric {
			continue
		}
		if known && i+1 < len(args) && args[i+1].Kind == word.Known && syntax.ValidName(args[i+1].Text) {
			continue
		}
		if !known && (len(args) == 2 && i == 1 && args[0].Kind == word.Known && args[0].Text != "-v" && args[0].Text != "-R") {
			continue
		}
		w.doubt("a test with words that are not known is not analysed")
		return
	}
}

func (w *walker) cd(s *state, args []word.Word) outcome {
	for len(args) > 0 && args[0].Is("-L") {
		args = args[1:]
	}
	if len(args) > 0 && args[0].Is("--") {
		args = args[1:]
	}
	to := word.Word{Kind: word.Open}
	switch {
	case len(args) == 0:
		if home, ok := w.lookup(s, "HOME"); ok {
			to = home
		}
	case len(args) == 1 && !strings.HasPrefix(args[0].Text, "-") && !strings.HasPrefix(args[0].Text, "+"):
		to = args[0]
	}
	if w.roams || w.wild {
		to = word.Word{Kind: word.Open}
	}
	if to.Is("") {
		return same(s)
	}
	return outcome{s.chdir(to), s}
}

func (w *walker) read(s *state, args []word.Word) {
	delete(s.vars, "REPLY")
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.Kind != word.Known {
			w.doubt("a variable is set whose name is no plain word")
			return
		}
		if !strings.HasPrefix(a.Text, "-") || len(a.Text) < 2 {
			w.names(s, args[i:], "")
			return
		}
		if at := strings.IndexAny(a.Text, "adinNptu"); at > 0 {
			value := word.Lit(a.Text[at+1:])
			if at+1 == len(a.Text) && i+1 < len(args) {
				i++
				value = args[i]
			}
			if a.Text[at] == 'a' {
				w.names(s, []word.Word{value}, "")
			}
			if value.Kind == word.Many {
				w.doubt("a variable is set whose name is no plain word")
			}
		}
	}
}

func (w *walker) set(args []word.Word) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.Kind != word.Known {
			w.doubt("set with words that are not known is not analysed")
			return
		}
		if a.Text == "--" || a.Text == "-" {
			return
		}
		if len(a.Text) < 2 || a.Text[0] != '-' && a.Text[0] != '+' {
			return
		}
		w.doubtUnless(strings.Trim(a.Text[1:], "euxvo") == "", "this option of set changes what later commands mean")
		if strings.HasSuffix(a.Text, "o") && i+1 < len(args) {
			i++
			switch args[i].Text {
			case "errexit", "nounset", "pipefail", "xtrace", "verbose":
			default:
				w.doubt("this option of set changes what later commands mean")
			}
		}
	}
}

func (w *walker) eval(s *state, args []word.Word) outcome {
	var texts []string
	for _, a := range args {
		if a.Kind != word.Known {
			w.doubt("text that is not known is evaluated")
			w.forget(s, touched{wild: true, moves: true})
			return same(s)
		}
		texts = append(texts, a.Text)
	}
	text := strings.Join(texts, " ")
	if strings.TrimSpace(text) == "" {
		return same(s)
	}
	return w.script(s, text, w.lang())
}

// lang is the language of the script that is walked.
func (w *walker) lang() syntax.LangVariant {
	if w.posix {
		return syntax.LangPOSIX
	}
	return syntax.LangBash
}

// later walks text that the shell runs at another time: a trap or the like. It may not change what else is known.
func (w *walker) later(s *state, text word.Word) {
	if text.Kind != word.Known {
		w.doubt("text that is not known is run later")
		return
	}
	if strings.TrimSpace(text.Text) == "" {
		return
	}
	if file, err := syntax.NewParser().Parse(strings.NewReader(text.Text), ""); err == nil {
		t := touches(file, false)
		w.doubtUnless(len(t.names) == 0 && !t.wild && !t.moves, "text that is run later changes variables or the directory")
	}
	n := w.anytime(s)
	n.dirs = nil
	if !w.moves && !w.roams && len(s.dirs) == 1 && s.dirs[0] == w.view.Workspace() {
		n.dirs = s.dirs
	}
	w.script(n, text.Text, w.lang())
}

func (w *walker) trap(s *state, args []word.Word) {
	if len(args) > 0 && args[0].Is("--") {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
	case args[0].Is("-") || args[0].Is("-l") || args[0].Is("-p"):
	case args[0].Kind != word.Known || strings.HasPrefix(args[0].Text, "-"):
		w.doubt("text that is not known is run later")
	default:
		w.doubtUnless(plainWords(args[1:], ""), "a trap on signals that are not known is not analysed")
		w.later(s, args[0])
	}
}

func (w *walker) alias(s *state, args []word.Word) {
	w.doubt("aliases change what later commands mean")
	for _, a := range args {
		if _, text, ok := strings.Cut(a.Text, "="); ok {
			w.later(s, word.Word{Kind: a.Kind, Text: text})
		}
	}
}

func (w *walker) mapfile(s *state, args []word.Word) {
	delete(s.vars, "MAPFILE")
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.Kind != word.Known:
			w.doubt("a variable is set whose name is no plain word")
			return
		case strings.HasPrefix(a.Text, "-C"):
			text := word.Lit(a.Text[2:])
			if text.Text == "" && i+1 < len(args) {
				i++
				text = args[i]
			}
			w.doubt("text is run for lines that are read")
			w.later(s, text)
		case strings.HasPrefix(a.Text, "-") && len(a.Text) == 2 && strings.Contains("dnOscu", a.Text[1:]):
			i++
		case !strings.HasPrefix(a.Text, "-"):
			w.names(s, args[i:i+1], "")
		}
	}
}

func (w *walker) commandBuiltin(s *state, r run) (outcome, bool) {
	args := r.words[1:]
	for len(args) > 0 && args[0].Kind == word.Known && strings.HasPrefix(args[0].Text, "-") {
		switch {
		case args[0].Text == "--":
			args = args[1:]
		case strings.Trim(args[0].Text[1:], "p") == "" && len(args[0].Text) > 1:
			args = args[1:]
			continue
		default: // -v and -V only tell where a program is
			w.free(s, r)
			w.doubtUnless(strings.Trim(args[0].Text[1:], "pvV") == "", "command with odd options is not analysed")
			return same(s), true
		}
		break
	}
	w.free(s, r)
	if len(args) == 0 {
		return same(s), true
	}
	if args[0].Kind != word.Known && r.words[1].MayBeOption() {
		w.doubt("the command is not known before it runs")
	}
	return w.run(s, run{words: args, env: r.env, in: r.in, program: true, nested: r.nested + 1}), true
}

func (w *walker) exec(s *state, r run) {
	args := r.words[1:]
	for len(args) > 0 && args[0].Kind == word.Known && strings.HasPrefix(args[0].Text, "-") {
		text := args[0].Text
		args = args[1:]
		if text == "--" {
			break
		}
		if strings.HasSuffix(text, "a") && len(args) > 0 {
			args = args[1:]
			w.doubt("a program gets another name")
		}
	}
	w.free(s, r)
	if len(args) > 0 {
		w.run(s, run{words: args, env: r.env, in: r.in, program: true, nested: r.nested + 1})
	}
}
