// Package grammar reads commands as people write them, with a slash or without.
package grammar

import (
	"slices"
	"strings"
	"unicode"
)

// Command is a command as written.
type Command struct {
	Name string   // canonical, of the table below
	Rest string   // everything behind the name, trimmed
	Args []string // Rest in words
}

// Entry is one command as it is written and described.
type Entry struct {
	Name     string
	Usage    string
	Help     string   // what it does
	Everyday bool     // menus show it by name
	Aliases  []string // other names
}

// all is every command.
var all = []Entry{
	{"new", "new [in:<workspace>] [--isolated] <text>", "begin a session here", true, nil},
	{"submit", "submit [in:<workspace>] [--isolated] <text>", "begin a session in the background", false, []string{"bg"}},
	{"prompt", "prompt <text>", "write to the active session", false, []string{"ask"}},
	{"steer", "steer <text>", "tell the running prompt something", false, nil},
	{"list", "list [all] [page]", "show sessions", true, []string{"sessions", "ls"}},
	{"switch", "switch <ref>", "make another session the active one", true, []string{"open", "use"}},
	{"status", "status [ref]", "show one session", true, nil},
	{"rename", "rename <text>", "give the active session another title", false, nil},
	{"close", "close [ref]", "close a session", false, nil},
	{"approvals", "approvals", "show what waits for you", true, []string{"pending"}},
	{"approve", "approve [ref] [session|always]", "say yes to an action", true, nil},
	{"deny", "deny [ref] [reason]", "say no to an action", true, []string{"reject"}},
	{"pause", "pause [ref]", "hold a prompt", false, nil},
	{"resume", "resume [ref]", "let a prompt go on", false, []string{"continue"}},
	{"cancel", "cancel [ref]", "end a prompt", false, nil},
	{"wait", "wait [ref]", "let a prompt in conflict wait until the others are done", false, nil},
	{"override", "override [ref]", "let a prompt write what another session is writing", false, nil},
	{"withdraw", "withdraw [ref]", "take back the question of who holds what a prompt in conflict would write", false, nil},
	{"isolate", "isolate [ref]", "move a prompt in conflict to a session with a git worktree of its own", false, nil},
	{"merge", "merge [ref]", "merge what an isolated session did", false, nil},
	{"keep", "keep [ref]", "leave an isolated session's worktree where it is", false, nil},
	{"discard", "discard [ref]", "throw away what an isolated session did", false, nil},
	{"resolve", "resolve [ref]", "have an isolated session resolve its merge conflict", false, nil},
	{"diff", "diff [ref]", "show what a session changed", true, nil},
	{"undo", "undo [ref]", "put back what a prompt changed", true, nil},
	{"retry", "retry [ref]", "do a prompt again", false, nil},
	{"stop", "stop [ref]", "stop what the session does", true, nil},
	{"run-held", "run-held [ref]", "let the prompts run that stop held", false, nil},
	{"drop-held", "drop-held [ref]", "cancel the prompts that stop held", false, nil},
	{"permissions", "permissions [Tool(call)]", "show the rules that hold here, or what they say about a call", false, []string{"rules"}},
	{"revoke", "revoke <rule>", "take a stored rule back", false, nil},
	{"freeze", "freeze [workspace <name>|person <id>|all] <reason>", "stop everything at once", false, nil},
	{"thaw", "thaw [workspace <name>|person <id>|all]", "let what is frozen go on", false, nil},
	{"verify", "verify <ref>", "prove that what was shown is what ran", false, nil},
	{"access", "access revoke <person>", "take everything away from a person", false, nil},
	{"workspaces", "workspaces", "show the workspaces", false, nil},
	{"mode", "mode [plan|ask|edits]", "say what the session may do unasked", false, nil},
	{"usage", "usage [ref]", "show what a session used", false, nil},
	{"log", "log [ref]", "show what a session did", false, nil},
	{"audit", "audit", "show the last decisions", false, nil},
	{"replicas", "replicas", "show the running processes", false, nil},
	{"pair", "pair <code> [role]", "let the person with this code in", false, nil},
	{"setup", "setup", "show what is connected", false, nil},
	{"show-config", "show-config", "show the configuration, without secrets", false, []string{"config"}},
	{"start", "start", "show the first steps", false, nil},
	{"help", "help", "show this", true, []string{"?", "commands"}},
	{"quit", "quit", "leave the terminal; sessions keep", false, []string{"exit", "q", "bye"}},
}

// Parse reads a command without the mark (slash or mention) that made it one. Names are told by letters alone: case, "-" and "_" are the same, and so is
// "more " in front. ok is false when there is no such command; Name then holds what was written.
func Parse(text string) (c Command, ok bool) {
	word, rest := CutWord(text)
	name := canonical(word)
	if name == "more" && rest != "" {
		word, rest = CutWord(rest)
		name = canonical(word)
	}
	c = Command{Name: name, Rest: rest, Args: strings.Fields(rest)}
	for _, g := range all {
		if name == g.Name || slices.Contains(g.Aliases, name) {
			c.Name = g.Name
			return c, true
		}
	}
	return c, false
}

func CutWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

func canonical(word string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(word, "/")), "_", "-")
}

// Nearest is the command whose name is most like what was written, for the error text; "" when none is.
func Nearest(written string) string {
	best, at := "", 3
	for _, g := range all {
		if d := distance(written, g.Name); d < at || strings.HasPrefix(g.Name, written) && len(written) > 1 && at > 0 {
			best, at = g.Name, d
			if strings.HasPrefix(g.Name, written) {
				at = 0
			}
		}
	}
	return best
}

// distance is the number of letters to add, drop or change between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

// stopWords are messages that stop by themselves, whatever else is going on: nobody should have to know a command for that.
var stopWords = []string{"stop", "stop!", "halt", "abort", "/stop"}

// IsStop reports whether a message is only a stop word.
func IsStop(text string) bool {
	return slices.Contains(stopWords, strings.ToLower(strings.TrimSpace(text)))
}

// InWorkspace takes "in:<workspace>" off the front of a text.
func InWorkspace(text string) (workspace, rest string) {
	word, tail := CutWord(text)
	if name, ok := strings.CutPrefix(strings.ToLower(word), "in:"); ok && name != "" {
		return word[len("in:"):], tail
	}
	return "", text
}

// Isolated takes "--isolated" off the front of a text, also as telephones write it.
func Isolated(text string) (isolated bool, rest string) {
	word, tail := CutWord(text)
	switch strings.ToLower(word) {
	case "--isolated", "—isolated", "–isolated":
		return true, tail
	}
	return false, text
}

func Usage(name string) string {
	for _, g := range all {
		if g.Name == name {
			return g.Usage
		}
	}
	return name
}

// All are the commands, in the order in which they are shown.
func All() []Entry { return slices.Clone(all) }
