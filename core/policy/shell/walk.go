package shell

import (
	"maps"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"paragents/core/policy/word"
)

// stdin is what a command finds on its standard input.
type stdin struct {
	given  bool      // something else than nothing
	text   word.Word // what, if known
	script bool      // text is set
}

// stmts walks statements one after the other.
func (w *walker) stmts(s *state, list []*syntax.Stmt) outcome {
	return w.list(s, list, stdin{})
}

func (w *walker) list(s *state, list []*syntax.Stmt, in stdin) outcome {
	o := same(s)
	for _, st := range list {
		o = w.stmt(o.either(), st, in)
	}
	return o
}

func (w *walker) stmt(s *state, st *syntax.Stmt, in stdin) outcome {
	if !w.step() {
		return same(s)
	}
	run := s
	if st.Background {
		run = s.clone()
	}
	for _, r := range st.Redirs {
		in = w.redirect(run, r, in)
	}
	o := same(run)
	if st.Cmd != nil {
		o = w.command(run, st.Cmd, in)
	}
	if st.Background {
		return same(s)
	}
	if st.Negated {
		o.ok, o.fail = o.fail, o.ok
	}
	return o
}

func (w *walker) command(s *state, cmd syntax.Command, in stdin) outcome {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		return w.call(s, c, in)
	case *syntax.Block:
		return w.list(s, c.Stmts, in)
	case *syntax.Subshell:
		w.list(s.clone(), c.Stmts, in)
	case *syntax.BinaryCmd:
		return w.binary(s, c, in)
	case *syntax.IfClause:
		return same(w.ifClause(s, c, in))
	case *syntax.WhileClause:
		return same(w.while(s, c, in))
	case *syntax.ForClause:
		return same(w.forLoop(s, c, in))
	case *syntax.CaseClause:
		return same(w.caseClause(s, c, in))
	case *syntax.FuncDecl:
		w.function(s, c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return w.stmt(s, undashed(c.Stmt), in)
		}
	case *syntax.DeclClause:
		return w.declare(s, c)
	default:
		w.other(s, cmd)
	}
	return same(s)
}

// undashed returns what time runs without the options in front, which the parser takes for the command.
func undashed(st *syntax.Stmt) *syntax.Stmt {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 || !strings.HasPrefix(call.Args[0].Lit(), "-") {
		return st
	}
	next, bare := *st, *call
	bare.Args = bare.Args[1:]
	next.Cmd = &bare
	return undashed(&next)
}

// other walks commands outside the subset for the sake of what stands within them.
func (w *walker) other(s *state, cmd syntax.Command) {
	w.doubt("the command uses a part of the shell language that is not analysed")
	w.forget(s, touches(cmd, false))
	syntax.Walk(cmd, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			w.stmt(s.clone(), n, stdin{given: true})
			return false
		case *syntax.Word:
			w.single(s.clone(), n)
			return false
		}
		return true
	})
}

func (w *walker) binary(s *state, c *syntax.BinaryCmd, in stdin) outcome {
	switch c.Op {
	case syntax.AndStmt:
		x := w.stmt(s, c.X, in)
		y := w.stmt(x.ok.clone(), c.Y, in)
		return outcome{y.ok, join(x.fail, y.fail)}
	case syntax.OrStmt:
		x := w.stmt(s, c.X, in)
		y := w.stmt(x.fail.clone(), c.Y, in)
		return outcome{join(x.ok, y.ok), y.fail}
	}
	w.stmt(s.clone(), c.X, in)
	w.stmt(s.clone(), c.Y, stdin{given: true})
	return same(s)
}

func (w *walker) ifClause(s *state, c *syntax.IfClause, in stdin) *state {
	cond := w.list(s, c.Cond, in)
	then := w.list(cond.ok.clone(), c.Then, in).either()
	rest := cond.fail
	switch {
	case c.Else == nil:
	case len(c.Else.Cond) == 0:
		rest = w.list(rest.clone(), c.Else.Then, in).either()
	default:
		rest = w.ifClause(rest.clone(), c.Else, in)
	}
	return join(then, rest)
}

func (w *walker) while(s *state, c *syntax.WhileClause, in stdin) *state {
	t := touches(c, false)
	w.forget(s, t)
	cond := w.list(s, c.Cond, in)
	body := cond.ok
	if c.Until {
		body = cond.fail
	}
	w.list(body.clone(), c.Do, in)
	out := cond.either().clone()
	w.forget(out, t)
	return out
}

func (w *walker) forLoop(s *state, c *syntax.ForClause, in stdin) *state {
	loop, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		w.doubt("this form of loop is not analysed")
		w.forget(s, touches(c, false))
		w.list(s.clone(), c.Do, in)
		return s
	}
	var items []word.Word
	for _, i := range loop.Items {
		items = append(items, w.words(s, i)...)
	}
	literal := len(items) > 0 && len(items) <= maxUnroll
	for _, i := range items {
		literal = literal && i.Kind == word.Known
	}
	t := touches(c, false)
	w.forget(s, t)
	w.special(loop.Name.Value)
	if !literal {
		items = []word.Word{{Kind: word.Open}}
	}
	for _, i := range items {
		body := s.clone()
		body.set(loop.Name.Value, i)
		w.list(body, c.Do, in)
	}
	return s
}

func (w *walker) caseClause(s *state, c *syntax.CaseClause, in stdin) *state {
	w.single(s, c.Word)
	t := touches(c, false)
	out := s
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			w.single(s, p)
		}
		branch := s.clone()
		if item.Op != syntax.Break {
			w.forget(branch, t)
		}
		out = join(out, w.list(branch, item.Stmts, in).either())
	}
	for _, item := range c.Items {
		if item.Op != syntax.Break {
			out = out.clone()
			w.forget(out, t)
			break
		}
	}
	return out
}

// function walks the body of a function where it is written, with what holds at any time.
func (w *walker) function(s *state, c *syntax.FuncDecl) {
	if c.Name == nil {
		w.doubt("this form of function is not analysed")
		return
	}
	if shellOwn(c.Name.Value) {
		w.doubt("a function takes the name of a command of the shell")
	}
	w.stmt(w.anytime(s), c.Body, stdin{given: true})
	s.funcs[c.Name.Value] = true
}

// anytime is what is known about code that runs at another time than where it is written.
func (w *walker) anytime(s *state) *state {
	n := s.clone()
	maps.DeleteFunc(n.vars, func(name string, _ word.Word) bool { return name != "HOME" || w.changes[name] })
	n.funcs, n.pwd = map[string]bool{}, true
	if w.moves || w.roams || w.wild {
		n.dirs = nil
	}
	return n
}

// redirect notes what a redirection reads or writes and returns the standard input after it.
func (w *walker) redirect(s *state, r *syntax.Redirect, in stdin) stdin {
	input := r.N == nil || r.N.Value == "0"
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		text := word.Lit("")
		if r.Hdoc != nil {
			text = w.hereDoc(s, r)
		}
		if input {
			return stdin{given: true, script: true, text: text}
		}
		return in
	case syntax.WordHdoc:
		text := w.single(s, r.Word)
		if input {
			return stdin{given: true, script: true, text: text}
		}
		return in
	}
	targets := w.words(s, r.Word)
	if len(targets) != 1 {
		targets = []word.Word{{Kind: word.Open}}
	}
	to := targets[0]
	switch r.Op {
	case syntax.RdrIn:
		w.redirRead(s, to)
		if input {
			return stdin{given: true}
		}
	case syntax.RdrInOut:
		w.redirRead(s, to)
		w.redirWrite(s, to)
		if input {
			return stdin{given: true}
		}
	case syntax.DplIn, syntax.DplOut:
		if to.Kind == word.Known && (digits(to.Text) || to.Text == "-" || strings.HasSuffix(to.Text, "-") && digits(strings.TrimSuffix(to.Text, "-"))) {
			if input && r.Op == syntax.DplIn {
				return stdin{given: true}
			}
			return in
		}
		if r.Op == syntax.DplIn {
			w.redirRead(s, to)
			return stdin{given: true}
		}
		w.redirWrite(s, to)
	default:
		w.redirWrite(s, to)
	}
	return in
}

// hereDoc expands the text of a here-document.
func (w *walker) hereDoc(s *state, r *syntax.Redirect) word.Word {
	if quotedDelimiter(r.Word) {
		var b strings.Builder
		for _, p := range r.Hdoc.Parts {
			if l, ok := p.(*syntax.Lit); ok {
				b.WriteString(l.Value)
			}
		}
		return word.Lit(b.String())
	}
	pieces := w.pieces(s, r.Hdoc.Parts, true, false)
	for i := range pieces {
		pieces[i].Many = false
		if strings.Contains(pieces[i].Text, `\`) || strings.Contains(pieces[i].Text, `"`) {
			// backslashes before quotes mean something else here than within quotes
			pieces[i].Unknown = true
		}
	}
	if out := word.Assemble(pieces, false); len(out) > 0 {
		return out[0]
	}
	return word.Lit("")
}

func quotedDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok || strings.Contains(l.Value, `\`) {
			return true
		}
	}
	return false
}

// procSubst walks the commands of a process substitution.
func (w *walker) procSubst(s *state, p *syntax.ProcSubst) {
	w.list(s.clone(), p.Stmts, stdin{given: p.Op == syntax.CmdOut})
}
