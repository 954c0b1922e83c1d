package demo

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"paragents/core/lazy"
)

// The arguments of the tools, as their schemas have them.
type (
	pathArgs struct {
		Path string `json:"path"`
	}
	globArgs struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path,omitempty"`
	}
	writeArgs struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	editArgs struct {
		Path string `json:"path"`
		Old  string `json:"old"`
		New  string `json:"new"`
		All  bool   `json:"all,omitempty"`
	}
	runArgs struct {
		Command string `json:"command"`
	}
)

// verb is one form of a request: what it looks like, and what to do. The groups are the pattern's; ok is false when it only looked so.
type verb struct {
	form *lazy.Regexp
	do   func(m *masked, groups []string) (steps []step, ok bool)
}

const (
	folderWords = `(?:the\s+)?(?:(?:folder|directory|dir|path)\s+)?`
	here        = `(?:here|(?:this|the|the current)\s+(?:folder|directory|workspace|project|repo|repository))`
	where       = `(?:\s+(?:in|of|under|from|inside|at|within)\s+(` + here + `|` + folderWords + `\S+?)(?:\s+(?:folder|directory))?)?`
	newFile     = `(?:(?:a|the)\s+)?(?:new\s+)?(?:file\s+)?(?:(?:called|named)\s+)?`
)

func form(s string) *lazy.Regexp { return lazy.Compile(`(?is)^` + s + `$`) }

var (
	lastMark  = lazy.Compile(`([\pL\d\x00])[.!?\s]+$`)
	hereOnly  = form(here)
	folderLed = lazy.Compile(`(?i)^` + folderWords)
)

// one understands a single request, as it stands or without the politeness and the full stop at its end.
func one(s string, m *masked) ([]step, bool) {
	bare := lastMark.ReplaceAllString(politeEnd.ReplaceAllString(s, ""), "$1")
	for _, v := range verbs {
		for _, s := range []string{s, bare} {
			if groups := v.form.FindStringSubmatch(s); groups != nil {
				if steps, ok := v.do(m, groups[1:]); ok {
					return steps, true
				}
			}
		}
	}
	return nil, false
}

// verbs in the order in which they are tried.
var verbs = []verb{
	{form(`\s*\$\s+(.+)`), run},
	{form(`(?:run|execute)(?:\s+the)?(?:\s+(?:shell\s+)?command)?:?\s+(.+?)(?:[,\s]+(?:please|for me)[.!]*)?`), run},
	{form(`(?:repeat after me|say):?\s+(.+)`), func(m *masked, g []string) ([]step, bool) {
		text := m.text(g[0])
		return speech("repeat it", repeat(text)), strings.TrimSpace(text) != ""
	}},
	{form(`count(?:\s+slowly)?(?:\s+from\s+(?:1|one))?(?:\s+up)?\s+to\s+(\d{1,6})\.?`), slow("count to", count)},
	{form(`(?:think|wait|sleep)(?:\s+for)?\s+(\d{1,6})\s*(?:s|sec|secs|seconds?)?\.?`), slow("think for", think)},
	{form(`edit\s+(?:the\s+)?(?:file\s+)?(\S+?):?\s+(?:and\s+|to\s+)?replace\s+(all\s+|every\s+)?(.+?)\s+(?:with|by)\s+(.+)`), edit},
	{form(`edit\s+(?:the\s+)?(?:file\s+)?(\S+?):?\s+(?:and\s+|to\s+)?change\s+(all\s+|every\s+)?(.+?)\s+(?:to|into)\s+(.+)`), edit},
	{form(`in\s+(?:the\s+)?(?:file\s+)?(\S+?)[,:]?\s+replace\s+(all\s+|every\s+)?(.+?)\s+(?:with|by)\s+(.+)`), edit},
	{form(`in\s+(?:the\s+)?(?:file\s+)?(\S+?)[,:]?\s+change\s+(all\s+|every\s+)?(.+?)\s+(?:to|into)\s+(.+)`), edit},
	{form(`replace\s+(all\s+|every\s+)?(.+?)\s+(?:with|by)\s+(.+)\s+in\s+(?:the\s+)?(?:file\s+)?(\S+)`), editBehind},
	{form(`change\s+(all\s+|every\s+)?(.+?)\s+(?:to|into)\s+(.+)\s+in\s+(?:the\s+)?(?:file\s+)?(\S+)`), editBehind},
	{form(`(?:create|make|write)\s+` + newFile + `(\S+)\s+(?:with|containing|that says|saying)(?:\s+the)?(?:\s+(?:text|content|contents))?:?\s+(.+)`),
		func(m *masked, g []string) ([]step, bool) { return write(m, []string{g[1], g[0]}) }},
	{form(`(?:write|put|save)\s+(?:(?:the\s+)?(?:text|words?|line|content)\s+)?(\x00\d+\x00)\s+(?:to|into|in)\s+` + newFile + `(\S+)`), write},
	{form(`(?:write|put|save)\s+(.+)\s+(?:to|into|in)\s+` + newFile + `(\S+)`), write},
	{form(`(?:find|list|show|glob|look\s+for)(?:\s+me)?(?:\s+(?:all|the|any|every))*(?:\s+files?)?(?:\s+(?:that\s+match|matching|named|called|like))?\s+(\S*(?:\*\S*|\?\S+))(?:\s+files)?` + where), glob},
	{form(`(?:find|look\s+for)(?:\s+me)?(?:\s+(?:all|the|any|every|a))*\s+files?\s+(?:that\s+match|matching|named|called|like)\s+(\S+)` + where), glob},
	{form(`(?:search|grep|look)\s+(?:in\s+|through\s+)?(?:(?:all|the)\s+)*(?:files|code|workspace|repository|repo|project|everything|everywhere|here)\s+for\s+(.+)`), grep},
	{form(`(?:search|grep|look)\s+(?:in\s+|through\s+)?` + folderWords + `(\S+)\s+for\s+(.+)`), func(m *masked, g []string) ([]step, bool) {
		return grep(m, []string{g[1], g[0]})
	}},
	{form(`(?:search\s+for|look\s+for|search|grep(?:\s+for)?)\s+(?:the\s+(?:words?|text|string)\s+)?(.+?)` + where), grep},
	{form(`find\s+(?:the\s+(?:word|text|string)\s+)?(\S+)` + where), grep}, // more words are a question
	{form(`(?:show|give|read|print|display|list)(?:\s+me)?(?:\s+the)?\s+contents?\s+of\s+(?:the\s+)?(folder|directory|dir|file)?\s*(\S+)`), look},
	{form(`(?:ls|dir)(?:\s+(\S+))?`), list},
	{form(`(?:list|show|give)(?:\s+me)?(?:\s+(?:all|the|every|my))*\s+(?:files?|folders?|directory|directories|contents?|everything|entries)(?:\s+and\s+(?:files|folders|directories))?(?:\s+(?:here|there))?` + where), list},
	{form(`list(?:\s+in)?(?:\s+` + folderWords + `(\S+))?`), list},
	{form(`(?:what|which)\s+files?\s+(?:are|is|do you see)(?:\s+(?:there|here))?` + where), list},
	{form(`what(?:'s|’s|\s+is)\s+(?:here|in\s+(` + here + `))`), list},
	{form(`what(?:'s|’s|\s+is)\s+(?:in|inside)\s+(?:the\s+)?(folder|directory|dir|file)?\s*(\S+)`), look},
	{form(`what\s+does\s+(?:the\s+)?(?:file\s+)?(\S+)\s+say`), read},
	{form(`(?:read|show|cat|open|print|display|view)(?:\s+me)?(?:\s+(?:the|what\s+is\s+in|what's\s+in))?(?:\s+(?:file|contents?\s+of|text\s+(?:of|in)))?(?:\s+the)?(?:\s+file)?\s+(\S+)(?:\s+(?:file|to\s+me))?`), read},
}

func run(m *masked, g []string) ([]step, bool) {
	command := m.text(g[0])
	return request("run_command", runArgs{command}, "`"+shorten(command)+"`"), command != ""
}

func read(m *masked, g []string) ([]step, bool) {
	name, ok := m.name(g[0])
	return request("read_file", pathArgs{name}, "`"+name+"`"), ok
}

func list(m *masked, g []string) ([]step, bool) {
	dir := place(m, g[0])
	if dir == "" {
		dir = "."
	}
	return request("list_dir", pathArgs{dir}, "Files in `"+dir+"`"), true
}

// look reads a file or lists a directory: what is not called either is a file when its name has an ending.
func look(m *masked, g []string) ([]step, bool) {
	name, ok := m.name(g[1])
	if g[0] == "file" || g[0] == "" && strings.Contains(strings.TrimLeft(name, "."), ".") {
		return read(m, g[1:])
	}
	steps, _ := list(m, g[1:])
	return steps, ok
}

func glob(m *masked, g []string) ([]step, bool) {
	pattern, ok := m.name(g[0])
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern // people mean: anywhere
	}
	return request("glob", globArgs{pattern, place(m, g[1])}, "Files like `"+pattern+"`"), ok
}

// grep looks for the text itself; the tool takes a regular expression.
func grep(m *masked, g []string) ([]step, bool) {
	dir := ""
	if len(g) > 1 {
		dir = place(m, g[1])
	}
	word := m.text(strings.TrimSuffix(g[0], "."))
	return request("grep", globArgs{regexp.QuoteMeta(word), dir}, "Search for `"+shorten(word)+"`"), word != ""
}

func write(m *masked, g []string) ([]step, bool) {
	name, ok := m.name(g[1])
	return request("write_file", writeArgs{name, m.text(g[0])}, "Writing `"+name+"`"), ok
}

// edit reads the file first: what was not read is not edited.
func edit(m *masked, g []string) ([]step, bool) {
	name, ok := m.name(g[0])
	look := request("read_file", pathArgs{name}, "Reading `"+name+"`")
	look[0].calls[0].quiet = true
	args := editArgs{Path: name, Old: m.text(g[2]), New: m.text(g[3]), All: g[1] != ""}
	return append(look, request("edit_file", args, "Editing `"+name+"`")...), ok
}

func editBehind(m *masked, g []string) ([]step, bool) {
	return edit(m, []string{g[3], g[0], g[1], g[2]})
}

func slow(title string, do func(int) func(*speaker)) func(*masked, []string) ([]step, bool) {
	return func(_ *masked, g []string) ([]step, bool) {
		n, err := strconv.Atoi(g[0])
		return speech(title+" "+g[0], do(n)), err == nil
	}
}

// place is the directory that s names; "" is the workspace.
func place(m *masked, s string) string {
	if s == "" || hereOnly.MatchString(strings.TrimRight(s, ".?!")) {
		return ""
	}
	name, _ := m.name(folderLed.ReplaceAllString(s, ""))
	return name
}

func request(tool string, args any, title string) []step {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(args) // strings always marshal
	return []step{{calls: []call{{tool: tool, arguments: strings.TrimSpace(b.String()), title: title}}}}
}

func speech(title string, do func(*speaker)) []step { return []step{{title: title, talk: do}} }
