package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"paragents/core/tool"
)

const editSchema = `{"type":"object","additionalProperties":false,"required":["path","old","new"],"properties":{
"path":{"type":"string","description":"file, relative to the workspace"},
"old":{"type":"string","description":"text to replace, exactly as it stands in the file; it must occur once"},
"new":{"type":"string","description":"text to put there"},
"all":{"type":"boolean","description":"replace every occurrence"}}}`

func planEdit(env *tool.Env, arguments json.RawMessage) (tool.Plan, error) {
	var args struct {
		Path string  `json:"path"`
		Old  string  `json:"old"`
		New  *string `json:"new"`
		All  bool    `json:"all"`
	}
	if err := tool.Args(arguments, &args); err != nil {
		return tool.Plan{}, err
	}
	switch {
	case args.Old == "":
		return tool.Plan{}, errors.New("old is empty; give the text to replace, or use write_file for a whole file")
	case args.New == nil:
		return tool.Plan{}, errors.New("new is missing; an empty string removes the old text")
	case args.Old == *args.New:
		return tool.Plan{}, errors.New("old and new are the same; nothing is to be done")
	}
	c, err := newChange(env, args.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	if !c.exists {
		return tool.Plan{}, fmt.Errorf("%s does not exist; write_file makes a new file", c.place)
	}
	if err := c.replace(args.Old, *args.New, args.All); err != nil {
		return tool.Plan{}, err
	}
	return c.plan(env)
}

// replace makes the new content. In a file whose lines all end in CR LF, the texts do so too, whatever the model sent.
func (c *change) replace(from, to string, all bool) error {
	if n := bytes.Count(c.before, []byte("\n")); n > 0 && n == bytes.Count(c.before, []byte("\r\n")) {
		from, to = crlf(from), crlf(to)
	}
	switch n := bytes.Count(c.before, []byte(from)); {
	case n == 0:
		return fmt.Errorf("old does not occur in %s%s", c.place, c.near(from))
	case n > 1 && !all:
		return fmt.Errorf("old occurs %d times in %s (%s); give more of the text around it, or set all", n, c.place, c.where(from))
	}
	c.after = bytes.ReplaceAll(c.before, []byte(from), []byte(to))
	return nil
}

func crlf(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

// where names the lines in which a text begins, the first few of them.
func (c *change) where(text string) string {
	var at []string
	from := 0
	for len(at) < 5 {
		i := bytes.Index(c.before[from:], []byte(text))
		if i < 0 {
			return "lines " + strings.Join(at, ", ")
		}
		at = append(at, fmt.Sprint(1+bytes.Count(c.before[:from+i], []byte("\n"))))
		from += i + len(text)
	}
	return "lines " + strings.Join(at, ", ") + " …"
}

// near says where the first line of a text that does not occur stands with other blanks.
func (c *change) near(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	first = strings.TrimSpace(first)
	number := 0
	for line := range bytes.Lines(c.before) {
		number++
		if first != "" && string(bytes.TrimSpace(line)) == first {
			return fmt.Sprintf("; its first line stands in line %d, so blanks or the lines after it differ: copy them exactly", number)
		}
	}
	return "; copy it exactly, blanks and line ends too"
}
