package preflight

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"paragents/core/lazy"
)

// found is a shell command in a text.
type found struct {
	text       string
	confidence float64
}

// hole stands in prose for what was taken out.
const hole = "\uFFFC"

var (
	fence     = lazy.Compile("^\\s*(```+|~~~+)\\s*([\\w+-]*)")
	shells    = set("sh bash shell zsh console terminal shell-session")
	bullet    = lazy.Compile(`^\s*(?:[-*•]\s+|\d{1,3}[.)、]\s*)?`)
	codeSpan  = lazy.Compile("`([^`]+)`")
	runPhrase = lazy.Compile(`(?i)(?:\b(?:run|execute|exec)(?:\s+(?:the|this|these|following|commands?|shell|bash))*(?:\s*[:：]|\s)|\b(?:running|commands?|cmd|do|try)\s*[:：]|(?:执行|运行|跑)(?:一下|下)?(?:以下)?(?:命令)?[:：]?)\s*`)
	gitWord   = lazy.Compile(`\bgit\s+[a-z][a-z-]+`)
	// negation ends in what forbids the thing that follows.
	negation = lazy.Compile(`(?i)(?:\b(?:do not|don['’]?t|never|without|not|avoid|cannot|can['’]?t|stop|no)\W+(?:\w+\W+){0,2}|(?:不要|不用|不必|不得|(?:^|[^能])不能|(?:^|[^可])不可|无需|禁止|请?勿|避免|没有|先不|(?:^|[^特分识级类区个性告])别)[^，。；！？,;]{0,8})$`)
	question = lazy.Compile(`(?i)^\W*(?:how|what|what's|why|where|when|which|who|does|did|is|are|was|were|should|explain)\b|怎么|怎样|如何|为什么|为何|是否|什么是|是什么|什么意思`)
)

// forbidden reports whether what precedes a thing in its line forbids it.
func forbidden(before string) bool {
	return negation.MatchString(before[max(0, len(before)-96):])
}

// extract takes the commands out of a text: fenced blocks of shell, lines after "$ ", lines that are commands as a whole, inline code, and
// what follows "run". The prose is the rest by lines. Quoted lines, very long
// ones and other blocks are neither.
func extract(text string) (commands []found, prose string) {
	var out strings.Builder
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if m := fence.FindStringSubmatch(line); m != nil {
			var block []string
			for i++; i < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[i]), m[1]); i++ {
				block = append(block, lines[i])
			}
			if script := blockScript(strings.ToLower(m[2]), block); script != "" {
				commands = append(commands, found{script, certain})
			}
			out.WriteString(hole + "\n")
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(line), ">") || len(line) > maxLine {
			continue
		}
		line, in := lineCommands(line, maxCommands-len(commands))
		commands = append(commands, in...)
		out.WriteString(line + "\n")
	}
	return commands, out.String()
}

// blockScript is the shell script in a fenced block; empty if it is something else.
func blockScript(lang string, block []string) string {
	var prompted []string
	first := ""
	for _, l := range block {
		l = strings.TrimSpace(l)
		if rest, ok := strings.CutPrefix(l, "$ "); ok {
			prompted = append(prompted, rest)
		}
		if first == "" && !strings.HasPrefix(l, "#") {
			first = l
		}
	}
	switch {
	case !shells[lang] && (lang != "" || len(prompted) == 0 && !isCommand(first, inCode)):
		return ""
	case len(prompted) > 0:
		return strings.Join(prompted, "\n")
	}
	return strings.TrimSpace(strings.Join(block, "\n"))
}

// lineCommands takes the commands out of a line, at most so many, and leaves holes.
func lineCommands(line string, most int) (prose string, commands []found) {
	confidence := certain
	if question.MatchString(line) {
		confidence = weak
	}
	start := len(bullet.FindString(line))
	if rest, ok := strings.CutPrefix(line[start:], "$ "); ok {
		return hole, []found{{strings.TrimSpace(rest), certain}}
	}
	if cmd, n := cutCommand(line[start:]); isCommand(cmd, asLine) && !told(line[start+n:]) {
		c := found{cmd, certain}
		if start+n < len(line) {
			c.confidence = confidence
		}
		commands = append(commands, c)
		line = line[:start] + hole + line[start+n:]
	}
	take := func(find *lazy.Regexp, command func(at []int) (cmd string, from, to int)) {
		for pos := 0; pos < len(line) && len(commands) < most; {
			at := find.FindStringSubmatchIndex(line[pos:])
			if at == nil {
				return
			}
			for i := range at {
				at[i] += pos
			}
			cmd, from, to := command(at)
			if cmd == "" {
				pos = max(at[1], pos+1)
				continue
			}
			if !forbidden(line[:at[0]]) {
				commands = append(commands, found{cmd, confidence})
			}
			line = line[:from] + hole + line[to:]
			pos = from + len(hole)
		}
	}
	take(codeSpan, func(at []int) (string, int, int) {
		cmd := strings.TrimSpace(line[at[2]:at[3]])
		before := strings.ToLower(strings.TrimRight(line[:at[0]], " :："))
		asked := strings.HasSuffix(before, "run") || strings.HasSuffix(before, "行")
		if isCommand(cmd, inCode) || asked && isCommand(cmd, afterRun) {
			return cmd, at[0], at[1]
		}
		return "", 0, 0
	})
	take(runPhrase, func(at []int) (string, int, int) {
		cmd, n := cutCommand(line[at[1]:])
		if isCommand(cmd, afterRun) {
			return cmd, at[0], at[1] + n
		}
		return "", 0, 0
	})
	take(gitWord, func(at []int) (string, int, int) {
		cmd, n := cutCommand(line[at[0]:])
		if isCommand(cmd, asLine) && !told(line[at[0]+n:]) {
			return cmd, at[0], at[0] + n
		}
		return "", 0, 0
	})
	return line, commands
}

// prosaic are words that end a command within a sentence.
var prosaic = set("and then but or the this that is are was were to for of with in if please so which when before after until because using into from whether what how it its my your as on")

// told reports whether prose goes on to tell what a command did, instead of asking for it.
func told(rest string) bool { return tells[strings.TrimRight(firstWord(rest), ".,:;!?")] }

var tells = set("fails failed is was are does doesn't did didn't shows says said gives gave returns returned hangs breaks broke works worked")

// cutCommand returns the command that prose begins with and its length: up to where the sentence goes on as such. What echo and printf say
// is taken as it is.
func cutCommand(text string) (cmd string, n int) {
	says := strings.HasPrefix(text, "echo ") || strings.HasPrefix(text, "printf ")
	var quote, last rune
	end := len(text)
	for i, r := range text {
		rest := text[i+utf8.RuneLen(r):]
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case (r == '\'' || r == '"') && !unicode.IsLetter(last) && strings.ContainsRune(rest, r):
			quote = r
		case r == '`' || strings.HasPrefix(hole, string(r)):
			end = i
		case says:
		case strings.ContainsRune("，。；！？、（）", r):
			end = i
		case unicode.Is(unicode.Han, r) && (last == ' ' || last == 0 || last == '\'' || last == '"'):
			end = i
		case (r == ',' || r == ';') && strings.HasPrefix(rest, " ") && last != ' ' && (r == ',' || !isCommand(strings.TrimSpace(rest), asLine)):
			end = i
		case (r == '.' || r == '!' || r == '?') && !strings.ContainsRune(" /.\x00", last) && (strings.TrimSpace(rest) == "" || sentence(rest)):
			end = i
		case last == ' ' && (prosaic[firstWord(text[i:])] || told(text[i:])):
			end = i
		}
		if end < len(text) {
			break
		}
		last = r
	}
	return strings.TrimSpace(text[:end]), end
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

// sentence reports whether text goes on as a new sentence does.
func sentence(text string) bool {
	rest := strings.TrimLeft(text, " ")
	r, _ := utf8.DecodeRuneInString(rest)
	return rest != text && (unicode.IsUpper(r) || unicode.Is(unicode.Han, r))
}

// How strict isCommand is: by where the text stands.
type strictness int

const (
	inCode   strictness = iota // marked as code
	afterRun                   // where a command is expected
	asLine                     // in prose, where a sentence may begin with the name of a program
)

var (
	// plain programs need only an argument to be one; languages a script or an option; grouped ones a sub-command; wordy ones are English words.
	plain     = set("cp mv rm mkdir rmdir ln chmod chown tee echo printf touch sed awk grep rg curl wget tar unzip gzip rsync scp ssh jq xargs nohup dd truncate pytest gofmt pandoc ffmpeg sudo")
	languages = set("python python3 bash sh zsh node ruby perl deno")
	grouped   = set("git go npm npx yarn pnpm cargo docker kubectl gh pip pip3 uv poetry make")
	wordy     = set("cat head tail sort find cut split diff patch install export source zip convert ls cd")
	subs      = set(`add am apply bisect branch checkout cherry-pick clean clone commit diff fetch init log merge mv pull push rebase reset restore revert rm
		show stash status switch tag worktree build run test install ci exec start compose mod get fmt vet generate tool work pr issue repo release up publish
		create ps images update sync lock list check clippy bench lint dev all clean deploy`)
	operator = lazy.Compile(`(?:^|\s)(?:\|\|?|&&|\d?>>?|&>>?|<)\s*\S|\S;\s`)
)

func isCommand(cmd string, s strictness) bool {
	words := strings.Fields(cmd)
	for len(words) > 1 && (wrappers[words[0]] || assigns.MatchString(words[0])) {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	name, args := words[0], words[1:]
	script := strings.HasPrefix(name, "./") || strings.HasSuffix(name, ".sh") && strings.Contains(name, "/")
	known := plain[name] || languages[name] || grouped[name] || wordy[name] || script
	if !known {
		return false
	}
	if len(args) == 0 {
		return s != asLine && (name == "make" || plain[name] || name == "ls") || s == afterRun && script
	}
	_, isPath, _ := pathOf(args[0])
	option := strings.HasPrefix(args[0], "-")
	switch {
	case plain[name], script, s == inCode:
		return true
	case languages[name]:
		return option || isPath
	case grouped[name]:
		return option || subs[args[0]] || s == afterRun && name != "go"
	}
	return option || operator.MatchString(cmd) || isPath && (name == "cat" || s == afterRun)
}

var assigns = lazy.Compile(`^[A-Za-z_]\w*=`)
