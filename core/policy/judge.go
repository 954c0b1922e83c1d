package policy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"paragents/core/policy/command"
	"paragents/core/policy/files"
	"paragents/core/policy/shell"
	"paragents/core/policy/word"
)

// maxShown is the number of bytes of a command that a person can be expected to read in a message.
const maxShown = 10_000

// Judge says whether a call may run. It is deterministic, has no effect, and needs no lock.
func (p *Policy) Judge(call Call, w World) Verdict {
	t := &tally{policy: p, view: files.NewView(w), world: w}
	switch call.Tool {
	case "Bash":
		t.bash(call)
	case "Read":
		t.file(call.Input, false)
	case "Write", "Edit":
		t.file(call.Input, true)
	case "WebFetch":
		t.fetch(call.Input, true)
	case "MCP":
		t.mcp(call.Input)
	default:
		t.named(call.Tool)
	}
	return t.decide()
}

// bash judges a command line by all that it is made of.
func (t *tally) bash(call Call) {
	dir := call.Dir
	if dir == "" {
		dir = t.view.Workspace()
	}
	a := shell.Analyze(call.Input, dir, t.view, t.policy.table)
	if a.Refused != "" {
		t.refuse(a.Refused)
	}
	for _, why := range a.Reasons {
		t.doubt(why)
	}
	if len(call.Input) > maxShown {
		t.doubt("the command is longer than a person can check in a message")
	}
	t.tokens(a.Tokens)
	for _, part := range a.Parts {
		t.part(part)
	}
	for _, r := range a.Reads {
		t.verdict.Reads = append(t.verdict.Reads, r.String())
		t.path("Read", files.NewSet(t.view, r), r.String())
	}
	for _, w := range a.Writes {
		set := files.NewSet(t.view, w)
		t.verdict.Writes = append(t.verdict.Writes, shownForms(set)...)
		t.path("Write", set, w.String())
	}
	for _, m := range a.Mentions {
		t.mention(m)
	}
	if t.policy.options.BuiltIns {
		for _, r := range a.Removes {
			t.removal(r)
		}
	}
	for _, u := range a.URLs {
		if !u.Known {
			t.verdict.URLs = append(t.verdict.URLs, u.Text+"…")
			t.doubt("a URL is not known")
			continue
		}
		t.fetch(u.Text, false)
	}
	t.verdict.Parts = unique(t.verdict.Parts)
	t.verdict.Reads = unique(t.verdict.Reads)
	t.verdict.Writes = unique(t.verdict.Writes)
	t.verdict.URLs = unique(t.verdict.URLs)
	t.verdict.Scripts = unique(a.Scripts)
}

// shownForms returns every form of a written set, for a person and for comparing claims.
func shownForms(s *files.Set) []string {
	if s.Extent == files.Anything || s.Extent == files.Matching || s.Extent == files.Trees {
		return []string{s.String()}
	}
	var out []string
	for _, f := range s.Forms.Paths {
		out = append(out, files.Target{Path: f, Extent: s.Extent}.String())
	}
	return out
}

// tokens denies text that does not parse if it names a denied program.
func (t *tally) tokens(tokens []string) {
	if len(tokens) == 0 {
		return
	}
	denied := map[string]*rule{}
	for _, r := range t.policy.rules["Bash"] {
		if name, alone := r.bash.Program(); r.list == denyList && alone {
			denied[name] = r
		}
	}
	for _, token := range tokens {
		if r := denied[word.Fold(path.Base(token))]; r != nil {
			t.speak(r, files.Yes, token)
		}
	}
}

func (t *tally) part(part *command.Part) {
	subject := part.String()
	t.verdict.Parts = append(t.verdict.Parts, subject)
	covered := part.Free
	for _, r := range t.policy.rules["Bash"] {
		if r.list == allowList {
			if !covered && r.bash.Covers(t.view, part) {
				covered = true
				t.allowed(r, subject)
			}
			continue
		}
		if a := r.bash.Match(t.view, part); a != files.No && !t.lifted(r, func(by *rule) bool { return by.bash.Covers(t.view, part) }) {
			t.speak(r, a, subject)
		}
	}
	switch {
	case part.Opaque != "":
		t.doubt(part.Opaque)
	case !covered:
		t.miss(subject, t.offerPart(part)...)
	}
}

// lifted reports whether a built-in rule is lifted by an allow rule of the managed layer that covers the same thing.
func (t *tally) lifted(r *rule, covers func(*rule) bool) bool {
	if !r.lift {
		return false
	}
	for _, by := range t.policy.rules[r.Tool] {
		if by.list == allowList && by.layer == managed && covers(by) {
			return true
		}
	}
	return false
}

// path judges a set of files for Read or Write.
func (t *tally) path(tool string, set *files.Set, subject string) {
	var allow []files.Pattern
	var first *rule
	for _, r := range t.policy.rules[tool] {
		if r.list == allowList {
			allow = append(allow, r.path)
			if first == nil && set.Covered([]files.Pattern{r.path}) {
				first = r
			}
			continue
		}
		if a := t.pathRule(r, set); a != files.No {
			t.speak(r, a, subject)
		}
	}
	if set.Forms.Circle {
		t.doubt(fmt.Sprintf("links of %s lead in a circle", subject))
		return
	}
	switch {
	case first != nil:
		t.allowed(first, subject)
	case set.Covered(allow):
	case tool == "Read" && t.policy.options.ReadDefault && readable(set):
	default:
		t.miss(fmt.Sprintf("%s %s", verb(tool), subject), t.offerPath(tool, set)...)
	}
}

func (t *tally) pathRule(r *rule, set *files.Set) files.Answer {
	a := set.Match(r.path)
	if a == files.No || r.sure && a == files.Maybe || r.not && set.Covered([]files.Pattern{r.outside}) {
		return files.No
	}
	if t.lifted(r, func(by *rule) bool { return set.Covered([]files.Pattern{by.path}) }) {
		return files.No
	}
	return a
}

func verb(tool string) string {
	if tool == "Write" {
		return "to write"
	}
	return "to read"
}

// mention judges an argument of an unknown program that may be a path: only deny and ask rules count.
func (t *tally) mention(m files.Target) {
	if m.Extent == files.Anything {
		return
	}
	set := files.NewSet(t.view, m)
	for _, r := range t.policy.rules["Read"] {
		if r.list == denyList || r.list == askList {
			if a := t.pathRule(r, set); a != files.No {
				t.speak(r, a, m.String())
			}
		}
	}
	for _, r := range t.policy.rules["Write"] {
		if r.list == denyList || r.list == askList {
			if t.pathRule(r, set) != files.No {
				t.speak(r, files.Maybe, m.String())
			}
		}
	}
}

// file judges a call of a file tool.
func (t *tally) file(input string, write bool) {
	if input == "" || strings.ContainsRune(input, 0) {
		t.refuse("the path is empty or holds a NUL byte")
		return
	}
	if !utf8.ValidString(input) || shell.Invisible(input) {
		t.doubt("the path holds control or invisible characters")
	}
	text := input
	switch {
	case text == "~" || strings.HasPrefix(text, "~/"):
		text = t.view.Home() + text[1:]
		if t.view.Home() == "" {
			t.doubt("there is no home directory")
		}
	case strings.HasPrefix(text, "~"):
		t.doubt("the home of another user is not known")
		fallthrough
	case !strings.HasPrefix(text, "/"):
		text = t.view.Workspace() + "/" + text
	}
	set := files.NewSet(t.view, files.Target{Path: text})
	if write {
		t.verdict.Writes = shownForms(set)
		t.path("Write", set, set.String())
		return
	}
	t.verdict.Reads = shownForms(set)
	t.path("Read", set, set.String())
}

// mcp judges a call of a tool of an MCP server, server:tool.
func (t *tally) mcp(input string) {
	server, tool, ok := strings.Cut(input, ":")
	if !ok || !toolName(server) || !toolName(tool) {
		t.refuse("an MCP call names a server and a tool, of letters, digits, _ - and .")
		return
	}
	covered := false
	for _, r := range t.policy.rules["MCP"] {
		if r.list == allowList {
			if !covered && word.Match(r.mcp[0], server) && word.Match(r.mcp[1], tool) {
				covered = true
				t.allowed(r, input)
			}
			continue
		}
		if word.Match(word.Fold(r.mcp[0]), word.Fold(server)) && word.Match(word.Fold(r.mcp[1]), word.Fold(tool)) {
			t.speak(r, files.Yes, input)
		}
	}
	if !covered {
		t.miss(input, offer{rule: "MCP(" + input + ")"})
	}
}

// named judges a tool that only its name is judged by.
func (t *tally) named(tool string) {
	covered := false
	for _, name := range slices.Sorted(maps.Keys(t.policy.rules)) {
		for _, r := range t.policy.rules[name] {
			if r.list == allowList && name == tool {
				covered = true
				t.allowed(r, tool)
			}
			if r.list != allowList && word.Fold(name) == word.Fold(tool) {
				t.speak(r, files.Yes, tool)
			}
		}
	}
	if covered {
		return
	}
	if !toolName(tool) {
		t.refuse("the tool has no valid name")
		return
	}
	t.miss("the tool "+tool, offer{rule: tool})
}
