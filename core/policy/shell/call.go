package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"paragents/core/policy/command"
	"paragents/core/policy/word"
)

// run is one simple command on its way to the table.
type run struct {
	words   []word.Word
	env     []command.Env
	in      stdin
	program bool // functions do not count: the name follows command, env and the like
	nested  int  // how many commands wrap this one
}

// maxWraps bounds wrappers within wrappers.
const maxWraps = 20

// call walks a simple command.
func (w *walker) call(s *state, c *syntax.CallExpr, in stdin) outcome {
	var words []word.Word
	for _, a := range c.Args {
		words = append(words, w.words(s, a)...)
	}
	var env []command.Env
	for _, a := range c.Assigns {
		if a.Name == nil || a.Array != nil || a.Index != nil || a.Append {
			w.doubt("arrays and += are not analysed")
			w.assignOdd(s, a)
			continue
		}
		v := w.single(s, a.Value)
		if len(words) == 0 && len(c.Args) == 0 {
			w.assigned(s, a.Name.Value, v, false)
			continue
		}
		w.special(a.Name.Value)
		env = append(env, command.Env{Name: a.Name.Value, Value: v})
	}
	if len(words) == 0 {
		for _, e := range env {
			// the command turned out to be empty, so the assignments last
			w.assigned(s, e.Name, e.Value, false)
		}
		return same(s)
	}
	return w.run(s, run{words: words, env: env, in: in})
}

// assignOdd walks an assignment that is not analysed.
func (w *walker) assignOdd(s *state, a *syntax.Assign) {
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				w.words(s, e.Value)
			}
			w.arithm(s, e.Index)
		}
	}
	if a.Value != nil {
		w.single(s, a.Value)
	}
	if a.Index != nil {
		w.arithm(s, a.Index)
	}
	if a.Name != nil {
		w.assigned(s, a.Name.Value, word.Word{Kind: word.Open}, false)
	}
}

// assigned notes that the script sets a variable.
func (w *walker) assigned(s *state, name string, v word.Word, export bool) {
	w.special(name)
	s.pwd = s.pwd || name == "PWD"
	if strings.HasPrefix(v.Text, "~") || strings.Contains(v.Text, ":~") {
		v = word.Word{Kind: word.Open}
	}
	s.set(name, v)
	if _, again := s.exported[name]; export || again || inherited[name] {
		if len(s.exported) >= maxVars {
			w.doubt("more variables are exported than are followed")
		}
		s.exported[name] = v
	}
}

// inherited are variables that are usually in the environment already, so that setting them reaches every command.
var inherited = map[string]bool{
	"HOME": true, "USER": true, "LOGNAME": true, "SHELL": true, "TMPDIR": true, "TERM": true, "LANG": true, "PWD": true,
	"EDITOR": true, "VISUAL": true, "PAGER": true, "BROWSER": true, "LESS": true, "LESSOPEN": true, "LESSCLOSE": true,
	"MANPAGER": true, "GOFLAGS": true, "GOPATH": true, "GOROOT": true, "GOBIN": true, "GOTOOLCHAIN": true, "GOENV": true,
	"GOPROXY": true, "GONOSUMDB": true, "GOMODCACHE": true, "GOCACHE": true, "CC": true, "CXX": true, "MAKEFLAGS": true,
	"NODE_OPTIONS": true, "NODE_PATH": true, "PYTHONPATH": true, "PYTHONSTARTUP": true, "PYTHONHOME": true,
	"PERL5OPT": true, "PERL5LIB": true, "RUBYOPT": true, "RUBYLIB": true, "JAVA_TOOL_OPTIONS": true, "CLASSPATH": true,
	"DOCKER_HOST": true, "KUBECONFIG": true, "SSH_ASKPASS": true, "http_proxy": true, "https_proxy": true,
	"HTTP_PROXY": true, "HTTPS_PROXY": true, "ALL_PROXY": true, "all_proxy": true, "CURL_HOME": true, "XDG_CONFIG_HOME": true,
}

// special asks about variables that change what the rest of the script means.
func (w *walker) special(name string) {
	switch name {
	case "PATH", "IFS", "BASH_ENV", "ENV", "PS4", "PS0", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "CDPATH", "GLOBIGNORE",
		"POSIXLY_CORRECT", "BASH_COMPAT", "EXECIGNORE", "FIGNORE", "HISTFILE", "TIMEFORMAT", "INPUTRC", "MAPFILE",
		"BASH_XTRACEFD", "BASH_LOADABLES_PATH", "BASH_ALIASES", "BASH_CMDS", "DIRSTACK", "auto_resume", "histchars",
		"OLDPWD", "RANDOM", "SECONDS", "LINENO", "OPTIND", "EPOCHSECONDS", "_":
		w.doubt("setting " + name + " changes what later commands mean")
		return
	}
	for _, p := range []string{"LD_", "DYLD_", "GIT_", "BASH_FUNC_"} {
		if strings.HasPrefix(name, p) {
			w.doubt("setting " + name + " can make other programs run")
		}
	}
}

// environment returns what the script has exported and what the command sets for itself.
func (s *state) environment(own []command.Env) []command.Env {
	if len(s.exported) == 0 {
		return own
	}
	var out []command.Env
	for name, v := range s.exported {
		out = append(out, command.Env{Name: name, Value: v})
	}
	slices.SortFunc(out, func(a, b command.Env) int { return strings.Compare(a.Name, b.Name) })
	return append(out, own...)
}

// run walks one command with its words expanded.
func (w *walker) run(s *state, r run) outcome {
	if r.nested > maxWraps {
		w.out.Refused = tooMuch
	}
	if r.nested > maxWraps || !w.step() {
		return same(s)
	}
	name := r.words[0]
	if name.Kind != word.Known {
		w.part(s, r, "the command is not known before it runs")
		return same(s)
	}
	if !r.program && s.funcs[name.Text] && !w.volatile[name.Text] {
		part := w.table.Look(r.words, nowhere{}).Part
		part.Free, part.Opaque, part.Risks, part.Env = true, "", nil, s.environment(r.env)
		w.out.Parts = append(w.out.Parts, part)
		return same(s)
	}
	if o, ok := w.builtin(s, r); ok {
		return o
	}
	w.look(s, r)
	return same(s)
}

// part adds a command that the table cannot judge.
func (w *walker) part(s *state, r run, why string) {
	words := r.words
	if words[0].Kind != word.Known {
		// arguments still count for deny rules on paths
		for _, a := range words[1:] {
			if a.Kind == word.Known && !strings.HasPrefix(a.Text, "-") {
				w.target(s, command.Effect{Kind: command.Mentions, Word: a})
			}
		}
		w.out.Parts = append(w.out.Parts, &command.Part{Words: words, Env: s.environment(r.env), Opaque: why})
		return
	}
	part := w.table.Look(words, nowhere{}).Part
	part.Env = s.environment(r.env)
	if part.Opaque == "" {
		part.Opaque = why
	}
	w.out.Parts = append(w.out.Parts, part)
}

// look asks the table about a program and follows what it says.
func (w *walker) look(s *state, r run) {
	l := w.table.Look(r.words, at{w, s})
	part := l.Part
	part.Env = s.environment(r.env)
	if name := r.words[0].Text; strings.Contains(name, "/") {
		w.byPath(s, part, name)
	}
	for _, e := range r.env {
		if e.Name == "HOME" {
			l.Part.Opaque = "the command gets another home"
		}
	}
	w.input(l, r)
	w.out.Parts = append(w.out.Parts, part)
	w.out.commands++
	w.current = w.out.commands
	for _, e := range l.Effects {
		w.target(s, e)
	}
	w.current = 0
	if l.Script.Text != "" {
		w.scriptFile(s, part, l.Script)
	}
	for _, in := range l.Inner {
		w.inner(s, r, in)
	}
}

// byPath notes where a program that is called by path lies.
func (w *walker) byPath(s *state, part *command.Part, name string) {
	paths := s.absolute(name)
	if len(paths) != 1 {
		if part.Opaque == "" {
			part.Opaque = "the program is named by a path in a directory that is not known"
		}
		return
	}
	part.Path = paths[0]
	w.scriptFile(s, part, word.Lit(name))
}

// input judges what a shell or an interpreter reads from its standard input.
func (w *walker) input(l *command.Look, r run) {
	if !l.Reads {
		return
	}
	if l.Shell && r.in.script && r.in.text.Kind == word.Known {
		l.Inner = append(l.Inner, command.Inner{Script: r.in.text, Bash: l.Bash})
		l.Part.Free = true
		return
	}
	if l.Part.Opaque == "" {
		l.Part.Opaque = "it runs what it reads from its standard input"
	}
}

// inner walks what a command runs on behalf of another.
func (w *walker) inner(s *state, r run, in command.Inner) {
	n := s.clone()
	if in.Dir.Text != "" || in.Dir.Kind != word.Known {
		n = n.chdir(in.Dir)
	}
	env := slices.Concat(r.env, in.Env)
	for _, e := range in.Env {
		w.special(e.Name)
	}
	if len(in.Words) > 0 {
		w.run(n, run{words: in.Words, env: env, in: r.in, program: true, nested: r.nested + 1})
		return
	}
	if in.Script.Kind != word.Known {
		w.doubt("the text of a script is not known")
		return
	}
	if in.Script.Text == "" {
		return
	}
	n = &state{vars: map[string]word.Word{}, dirs: n.dirs, funcs: map[string]bool{}, exported: n.exported}
	if home, ok := w.lookup(s, "HOME"); ok && !hasEnv(env, "HOME") {
		n.vars["HOME"] = home
	}
	for _, e := range env {
		n.exported[e.Name] = e.Value
	}
	// an inner shell has variables and functions of its own
	inner := *w
	inner.volatile, inner.changes, inner.wild, inner.roams, inner.moves = map[string]bool{}, map[string]bool{}, false, false, false
	inner.script(n.clone(), in.Script.Text, syntax.LangBash)
	if !in.Bash {
		inner.script(n, in.Script.Text, syntax.LangPOSIX)
	}
	w.links = inner.links
}

func hasEnv(env []command.Env, name string) bool {
	return slices.ContainsFunc(env, func(e command.Env) bool { return e.Name == name })
}

// declare walks export, local and the like as the parser finds them.
func (w *walker) declare(s *state, c *syntax.DeclClause) outcome {
	words := []word.Word{word.Lit(c.Variant.Value)}
	for _, a := range c.Args {
		switch {
		case a.Array != nil || a.Index != nil || a.Append:
			w.doubt("arrays and += are not analysed")
			w.assignOdd(s, a)
		case a.Name == nil:
			words = append(words, w.words(s, a.Value)...)
		case a.Naked:
			words = append(words, word.Lit(a.Name.Value))
		default:
			v := w.single(s, a.Value)
			v.Text = a.Name.Value + "=" + v.Text
			if v.Numeric {
				v.Numeric = false
			}
			words = append(words, v)
		}
	}
	o, _ := w.builtin(s, run{words: words})
	return o
}

// declareWords sets the variables of export, local and the like.
func (w *walker) declareWords(s *state, name string, args []word.Word) {
	export := name == "export"
	for _, a := range args {
		if a.Kind == word.Known && strings.HasPrefix(a.Text, "-") {
			w.doubtUnless(strings.Trim(a.Text[1:], "rxgpfF") == "", "this kind of variable is not analysed")
			export = export || strings.Contains(a.Text, "x")
			continue
		}
		variable, text, set := strings.Cut(a.Text, "=")
		if !syntax.ValidName(variable) || !set && a.Kind != word.Known || a.Kind == word.Many || a.Kind == word.Glob {
			w.doubt("a variable is set whose name is no plain word")
			continue
		}
		v := word.Word{Kind: a.Kind, Text: text}
		if !set {
			old, ok := w.lookup(s, variable)
			if v = old; !ok || name == "local" || name == "declare" || name == "typeset" {
				v = word.Word{Kind: word.Open}
			}
		}
		w.assigned(s, variable, v, export)
	}
}
