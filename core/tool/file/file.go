// Package file holds the tools that read, list, search and write files of the workspace.
//
// They reach files only through the root handle of the workspace, and only regular ones. A path is cleaned, its links are followed by hand
// to one that has none, and that one is opened element by element, so that what was judged is what is opened however links are swapped
// meanwhile.
//
// Whoever writes a file must know it: the session has read it, and its SHA-256 is still what was read. Reading a part of a file counts,
// with the digest of the whole; grep does not count. A file that is new needs no reading, but must still be missing when it is written.
package file

import (
	"context"
	_ "embed" // the descriptions
	"encoding/json"

	"paragents/core/tool"
)

//go:embed read_file.md
var readText string

//go:embed list_dir.md
var listText string

//go:embed glob.md
var globText string

//go:embed grep.md
var grepText string

//go:embed write_file.md
var writeText string

//go:embed edit_file.md
var editText string

// Tools returns the tools of the capability "filesystem".
func Tools() []tool.Tool {
	spec := func(name, text, schema string, readOnly bool) tool.Spec {
		return tool.Spec{Name: name, Description: text, Schema: json.RawMessage(schema), Capability: "filesystem", ReadOnly: readOnly}
	}
	return []tool.Tool{
		fileTool{spec("read_file", readText, readSchema, true), planRead},
		fileTool{spec("list_dir", listText, listSchema, true), planList},
		fileTool{spec("glob", globText, globSchema, true), planGlob},
		fileTool{spec("grep", grepText, grepSchema, true), planGrep},
		fileTool{spec("write_file", writeText, writeSchema, false), planWrite},
		fileTool{spec("edit_file", editText, editSchema, false), planEdit},
	}
}

type fileTool struct {
	spec tool.Spec
	plan func(env *tool.Env, arguments json.RawMessage) (tool.Plan, error)
}

func (t fileTool) Spec() tool.Spec { return t.spec }

func (t fileTool) Plan(_ context.Context, env *tool.Env, arguments json.RawMessage) (tool.Plan, error) {
	p, err := t.plan(env, arguments)
	p.Dir = env.Dir
	return p, err
}
