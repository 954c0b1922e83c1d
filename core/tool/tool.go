// Package tool says what a tool is. Each tool is small, knows nothing of people, rules or platforms, and never asks by itself: the one
// gate stands in front of all of them.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"paragents/core"
	"paragents/core/sandbox"
)

// Spec is how a tool presents itself to the model and to the gate.
type Spec struct {
	Name        string
	Description string          // for the model; lies beside the tool as an embedded Markdown file of its name
	Schema      json.RawMessage // JSON Schema of the arguments
	Capability  string          // the switch of the workspace that offers it: filesystem, shell, git …
	// ReadOnly: no side effect. Such calls of one turn run in parallel and leave no intent.
	ReadOnly bool
}

// Check is one thing that a call does, in the terms of the rules: Tool is "Bash", "Read", "Write", "WebFetch", "MCP" or the tool's own name,
// Input the command, path, URL or server:tool.
type Check struct {
	Tool  string
	Input string
}

// Plan is a call understood: what the gate judges, what a person is shown, and what will run. Making a plan changes nothing.
type Plan struct {
	Checks []Check
	Show   string   // the whole action; shown in full before anybody can approve it
	Line   string   // the action in one short line, for lists and progress
	Dir    string   // absolute directory it runs in
	Writes []string // paths it will write, relative to the workspace, as far as known
	// Run does it. It is called at most once, and only when the gate has said yes. Errors are for the model: they say what to do instead.
	Run func(ctx context.Context) (Result, error)
}

// Result is what a call returned. Output is valid UTF-8, at most OutputLimit bytes.
type Result struct {
	Output string
	Cut    bool // the whole output lies in the run directory; Output says where
	// Seen are the files whose content the model now knows, with the SHA-256 of it, by path relative to the workspace.
	Seen map[string]string
	// Changed are the paths that were written, relative to the workspace.
	Changed []string
	// Changes are those of them whose content before the call was kept (KeepBefore), so that it can be shown and put back.
	Changes []core.Change
}

// OutputLimit is the most that a result brings into the context, in bytes.
const OutputLimit = 40 << 10

// Env is what a tool may use. It belongs to one prompt.
type Env struct {
	Root *os.Root // the workspace; opened by the owner of the Env, who closes it
	Dir  string   // its absolute path, links resolved
	// RunDir takes whole outputs; it lies under .paragents in the workspace and is made when first needed.
	RunDir string
	Run    *sandbox.Runner
	// Seen is the digest of a file's content that this session last saw, "" when it never did.
	Seen func(path string) string
	// Readable reports whether the rules let a file be read without asking, by path relative to the workspace. grep asks it for each
	// file below a directory and leaves out the others; without it, it searches single files only.
	Readable func(path string) bool
	// Timeout of a command when the model names none, and the longest that it may name.
	Timeout time.Duration
	// Slot limits commands that run at the same time on this replica: it waits for a free one and returns how to give it back.
	Slot func(ctx context.Context) (release func(), err error)
}

// Tool is one tool.
type Tool interface {
	Spec() Spec
	// Plan reads the arguments. An error is told to the model as the call's result, and nothing runs.
	Plan(ctx context.Context, env *Env, arguments json.RawMessage) (Plan, error)
}

// ErrArguments marks arguments that do not fit the schema.
var ErrArguments = errors.New("arguments do not fit the schema")

// Args decodes arguments strictly into v; the error says what was wrong in words that help the model.
func Args(raw json.RawMessage, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%w: %v; send one JSON object with the named fields", ErrArguments, err)
	}
	if dec.More() {
		return fmt.Errorf("%w: more than one JSON value; send one JSON object", ErrArguments)
	}
	return nil
}
