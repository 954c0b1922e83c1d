package shell_test

import (
	"math/rand/v2"
	"strings"
)

// grammar writes shell scripts that do little harm and mean as much as possible.
type grammar struct{ *rand.Rand }

func (g *grammar) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *grammar) script() string {
	n := 1 + g.IntN(3)
	var b strings.Builder
	for i := range n {
		if i > 0 && strings.HasSuffix(b.String(), "\n") {
			continue
		}
		if i > 0 {
			b.WriteString(g.pick("; ", "\n", " && ", " || ", "\n\n", " & ", ";\n"))
		}
		b.WriteString(g.statement(3))
	}
	return b.String() + g.pick("", "\n", " ", " # end", ";")
}

func (g *grammar) statement(depth int) string {
	if depth <= 0 {
		return g.simple(0)
	}
	switch g.IntN(26) {
	case 0:
		return "( " + g.statement(depth-1) + g.pick("; ", "\n") + g.statement(depth-1) + " )"
	case 1:
		return "{ " + g.statement(depth-1) + "; }"
	case 2:
		return "if " + g.simple(depth-1) + "; then " + g.statement(depth-1) + "; else " + g.statement(depth-1) + "; fi"
	case 3:
		return "for x in " + g.pick("a b", "one two", "\"$Y\" c", "*.txt", "$(one)") + "; do " + g.statement(depth-1) + "; done"
	case 4:
		return "case " + g.word(depth-1) + " in a*) " + g.statement(depth-1) + ";; *) " + g.statement(depth-1) + g.pick(";;", ";&", ";;&", "") + " esac"
	case 5:
		return "fn() { " + g.statement(depth-1) + "; }; fn " + g.word(depth-1)
	case 6:
		return g.simple(depth-1) + " | " + g.simple(depth-1)
	case 7:
		return "! " + g.simple(depth-1)
	case 8:
		return g.pick("X=", "Y=", "Z=") + g.word(depth-1)
	case 9:
		return "X=" + g.pick("one", "evil", "a.txt", "'a b'", "-x", "3", "$Y") + "; " + g.simple(depth-1)
	case 10:
		return "cd " + g.pick("d", "l", "..", "d/..", "l/..", "src/sub", "$X", "nowhere", "-", "") + g.pick("; ", " && ", " || ") + g.simple(depth-1)
	case 11:
		return "eval " + g.pick("'", `"`) + g.pick("one a", "X=two; $X", "cd d; touch e", "evil $X") + g.pick("'", `"`)
	case 12:
		return g.pick("bash", "sh") + " -c '" + strings.ReplaceAll(g.statement(depth-1), "'", `"`) + "'"
	case 13:
		return "trap '" + strings.ReplaceAll(g.simple(0), "'", "") + "' EXIT"
	case 14:
		return "while " + g.pick("[ $i -lt 2 ]", "[ \"$X\" = y ]", "false", "read X") + "; do i=$((i+1)); " + g.simple(depth-1) + "; done < a.txt"
	case 15:
		return "i=0; while [ $i -lt 2 ]; do i=$((i+1)); " + g.simple(depth-1) + "; done"
	case 16:
		return "cat <<" + g.pick("E", "'E'", `"E"`, "-E") + "\n" + g.pick("text", "$X", "$(one in)", "${V:-$(two)}", "'$(one q)'", `\$(evil)`) + "\nE\n"
	case 17:
		return g.pick("bash", "sh") + " <<'E'\n" + g.statement(depth-1) + "\nE\n"
	case 18:
		return g.pick("export", "local", "readonly", "declare") + " " + g.pick("X=one", "Y=\"$X\"", "Q=$(one)", "X") + "; " + g.simple(depth-1)
	case 19:
		return "unset X; " + g.simple(depth-1)
	case 20:
		return "time " + g.simple(depth-1)
	}
	return g.simple(depth)
}

func (g *grammar) simple(depth int) string {
	var b strings.Builder
	if g.IntN(12) == 0 {
		b.WriteString(g.pick("LC_ALL=C ", "A=1 ", "X=two "))
	}
	switch g.IntN(9) {
	case 0:
		b.WriteString(g.fileTool(depth))
	case 1:
		b.WriteString(g.wrapper() + g.pick("one", "two", "evil") + " " + g.word(depth))
	case 2:
		b.WriteString(g.pick("echo", "printf '%s'", ":", "true", "test -n", "[ -f") + " " + g.word(depth))
		if strings.HasPrefix(b.String(), "[") || strings.Contains(b.String(), "[ -f") {
			b.WriteString(" ]")
		}
	default:
		b.WriteString(g.pick("one", "two", "three", "o'n'e", `"two"`, "t\\wo", "$X", "one", "one"))
		for range g.IntN(3) {
			b.WriteString(" " + g.word(depth))
		}
	}
	for range g.IntN(2) {
		b.WriteString(" " + g.redirect(depth))
	}
	return b.String()
}

func (g *grammar) wrapper() string {
	return g.pick("command ", "env ", "env A=1 ", "timeout 5 ", "nice ", "nice -n 3 ", "nohup ", "xargs ", "xargs -n1 ", "exec ", "builtin ",
		"env -S ", "command -p ", "timeout -k 1 5 ", "xargs -I{} ", "env - ", "find d -name c.txt -exec ")
}

func (g *grammar) fileTool(depth int) string {
	f := func() string {
		return g.pick("a.txt", "b.txt", "d/c.txt", "new", "d", "l/n", "d/", "src", "*.txt", "'q r'", "$X", "out/x", "./-f", g.word(0))
	}
	switch g.IntN(16) {
	case 0:
		return "touch " + f() + " " + f()
	case 1:
		return "cp " + g.pick("", "-r ", "-b ", "-t d ", "-S .o ") + f() + " " + f()
	case 2:
		return "mv " + g.pick("", "-b ", "-t d ") + f() + " " + f()
	case 3:
		return "rm " + g.pick("", "-r ", "-f ", "-rf ") + f()
	case 4:
		return "mkdir " + g.pick("", "-p ") + g.pick("m", "d/m", "m/n", "l/m")
	case 5:
		return "ln " + g.pick("-s ", "", "-sf ") + f() + " " + f()
	case 6:
		return "tee " + f() + " < a.txt"
	case 7:
		return "sed " + g.pick("-i ", "-i.bak ", "-n ", "-i -e ", "-ni ") + g.pick("s/a/b/", "p", "'1d;s/x/y/'", "'s/a/b/w o'", "'w o'") + " " + f()
	case 8:
		return "sort " + g.pick("-o s ", "", "-os ", "--output=s ") + f()
	case 9:
		return "dd if=a.txt of=" + g.pick("o", "d/o", "$X") + " status=none"
	case 10:
		return "split -l 1 a.txt " + g.pick("", "p", "d/p")
	case 11:
		return "gzip " + g.pick("", "-k ", "-c ") + f()
	case 12:
		return "tar " + g.pick("cf t.tar ", "-cf t.tar ", "-c -f d/t.tar ") + f()
	case 13:
		return "find " + g.pick("d", ".", "src d") + g.pick(" -delete", " -name '*.txt' -exec touch {} +", " -exec one {} ';'", " -fprint o", " -type f", " -exec sed -i s/a/b/ {} \\;")
	case 14:
		return "find . -name '*.txt' | xargs " + g.pick("touch", "one", "rm -f", "-n1 two x")
	}
	return "cat " + f()
}

func (g *grammar) redirect(depth int) string {
	return g.pick(">", ">>", "2>", "&>", ">|", "<", ">&", "2>&1 >", "<>", "&>>", "> ", "1>", "3<", "<<< ") +
		g.pick("r1", "a.txt", "d/r", "/dev/null", "\"$X\"", "l/r", "-", "'r 2'", g.word(0))
}

func (g *grammar) word(depth int) string {
	if depth > 0 && g.IntN(4) == 0 {
		inner := g.simple(depth - 1)
		return g.pick("$("+inner+")", `"$(`+inner+`)"`, "<("+inner+")", "${V:-$("+inner+")}", "`"+g.pick("one", "two a")+"`", "a$("+inner+")b",
			`"${V:-$(`+inner+`)}"`, ">("+inner+")")
	}
	return g.pick("a", "-x", "--long=v", "'s q'", `"d q"`, "$X", `"$X"`, "${X}", "a$X", `"a$X"`, "*.txt", "d/*", "{a,b}", "a{1,2}b", "x{,y}", "~", "~/f",
		"$HOME/f", "$PWD", "$((1+2))", `\*`, "a\\ b", "$'t\\x41b'", "''", `""`, "#h", "a#b", "$@", `"$@"`, "$#", "$?", "[ab].txt", "a\\\nb",
		"a \\\n b", "{}", "{a", "}", "=", "X=1", "!", "%", "^", "${X:-d}", "${X#a}", "${#X}", "${X:+alt}", `"${X:-d e}"`, "é", "a:b", "@", "+x", ",",
		"x=~/y", "-", "--", "$'a\\nb'", "${X=v}", "1", "2", "a.txt", "d/c.txt", "?.txt", ".[a-z]*", "one", "evil", "a=b")
}

// mutate changes one to three places of a script at random.
func (g *grammar) mutate(script string) string {
	pieces := []string{"'", `"`, "`", "$", "(", ")", "{", "}", "\\", "\n", ";", "&", "|", "<", ">", "#", " ", "!", "*", "?", "[", "]", "~", "=", "$(", "((", "))",
		"[[", "]]", "<(", ">&", "<<", "<<E\n", "\nE\n", "\\\n", "${", ":-", "evil", " evil ", "one", "!(", "+(", "coproc ", "time ", "time -p -- ", "function f ",
		"case ", "esac", "do", "done", "then", "fi", "$[", "$'", `$"`, "&>", ">|", "-", "x=", "{a,", ",b}", "..", "\t", "'$(evil)'", "${X/a/$(evil)}", "a[$(evil)]",
		"select ", "until ", " in ", ";;", "|&", "&&", "||", "2>&1", "<<<", ">&-", "x>()", "# c \\\n"}
	b := script
	for range 1 + g.IntN(3) {
		at := g.IntN(len(b) + 1)
		end := min(len(b), at+g.IntN(3))
		switch g.IntN(3) {
		case 0:
			b = b[:at] + pieces[g.IntN(len(pieces))] + b[at:]
		case 1:
			b = b[:at] + b[end:]
		default:
			b = b[:at] + pieces[g.IntN(len(pieces))] + b[end:]
		}
	}
	return strings.ReplaceAll(b, "\x00", "")
}
