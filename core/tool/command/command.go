// Package command holds the tool that runs a shell command in the workspace.
package command

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"

	"paragents/core/sandbox"
	"paragents/core/tool"
)

//go:embed run_command.md
var text string

const schema = `{"type":"object","additionalProperties":false,"required":["command"],"properties":{
"command":{"type":"string","description":"command for bash, run in the workspace"},
"timeout_s":{"type":"integer","minimum":1,"description":"seconds after which it is ended; the configured limit if left out, and at most that"}}}`

const (
	maxCommand = 64 << 10                 // bytes; the judge of commands refuses more
	outputRoom = tool.OutputLimit - 1<<10 // bytes of output in the result; the rest is for notes
	maxLine    = 80                       // characters of Plan.Line
)

// Tools returns the tool of the capability "shell".
func Tools() []tool.Tool { return []tool.Tool{runCommand{}} }

type runCommand struct{}

func (runCommand) Spec() tool.Spec {
	return tool.Spec{Name: "run_command", Description: text, Schema: json.RawMessage(schema), Capability: "shell"}
}

func (runCommand) Plan(_ context.Context, env *tool.Env, arguments json.RawMessage) (tool.Plan, error) {
	var args struct {
		Command string `json:"command"`
		Timeout int    `json:"timeout_s"`
	}
	if err := tool.Args(arguments, &args); err != nil {
		return tool.Plan{}, err
	}
	switch {
	case strings.TrimSpace(args.Command) == "":
		return tool.Plan{}, errors.New("the command is empty; nothing runs")
	case strings.ContainsRune(args.Command, 0):
		return tool.Plan{}, errors.New("the command holds a NUL byte, which no shell takes; write such bytes with printf")
	case len(args.Command) > maxCommand:
		return tool.Plan{}, fmt.Errorf("the command has more than %d bytes; write a script with write_file and run that", maxCommand)
	case args.Timeout < 0:
		return tool.Plan{}, errors.New("timeout_s is negative; give seconds, or leave it out")
	}
	limit := env.Timeout
	if args.Timeout > 0 && args.Timeout < int(limit/time.Second) {
		limit = time.Duration(args.Timeout) * time.Second
	}
	return tool.Plan{
		Checks: []tool.Check{{Tool: "Bash", Input: args.Command}},
		Show:   args.Command,
		Line:   "run " + oneLine(args.Command),
		Dir:    env.Dir,
		Run: func(ctx context.Context) (tool.Result, error) {
			return run(ctx, env, args.Command, limit)
		},
	}, nil
}

// oneLine shortens a command for a list. What is judged and approved is the whole.
func oneLine(command string) string {
	line := strings.Join(strings.Fields(command), " ")
	if utf8.RuneCountInString(line) > maxLine {
		line = string([]rune(line)[:maxLine-1]) + "…"
	}
	return line
}

func run(ctx context.Context, env *tool.Env, command string, limit time.Duration) (tool.Result, error) {
	release, err := env.Slot(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	defer release()
	file, path, err := tool.Keep(env, "command")
	if err != nil {
		return tool.Result{}, err
	}
	before := scan(ctx, env.Root)
	out, err := env.Run.Run(ctx, sandbox.Command{
		Argv: shell(command), Dir: env.Dir, Env: sandbox.Env(os.Environ()), Timeout: limit, Output: file, Limit: outputRoom,
	})
	if closed := file.Close(); closed != nil && err == nil {
		err = fmt.Errorf("keep output: %w", closed)
	}
	wrote := changed(before, scan(context.WithoutCancel(ctx), env.Root))
	if err != nil {
		return tool.Result{Changed: wrote}, errors.Join(err, env.Root.Remove(path))
	}
	res := result(env, path, out, limit)
	res.Changed = wrote
	return res, nil
}

// shell is how a command is run. It ends the options, so that a command which begins with a dash is none.
func shell(command string) []string {
	if _, err := exec.LookPath("bash"); err != nil {
		return []string{"sh", "-c", "--", command}
	}
	return []string{"bash", "--norc", "--noprofile", "-c", "--", command}
}

// result is what the model reads: the output, then how the command ended.
func result(env *tool.Env, path string, out sandbox.Outcome, limit time.Duration) tool.Result {
	where := "all of it is in " + path + ", for people"
	if out.Kept < out.Size {
		where = fmt.Sprintf("the first %d bytes are in %s, for people", out.Kept, path)
	}
	body, cut := tool.Excerpt(out.Head, out.Tail, out.Size, where, outputRoom)
	exact := body == string(out.Head)+string(out.Tail)
	var notes []string
	switch {
	case out.TimedOut:
		notes = append(notes, fmt.Sprintf("timed out: ended after %v", limit))
	case out.Signal != "":
		notes = append(notes, "ended by a signal: "+out.Signal)
	default:
		notes = append(notes, fmt.Sprintf("exit status %d", out.Exit))
	}
	if out.Leftover {
		notes = append(notes, "it left processes running in the background, which were ended: nothing runs on after a command")
	}
	if exact {
		_ = env.Root.Remove(path) // nothing in it that is not here; if it stays, no harm is done
	} else if !cut {
		notes = append(notes, "bytes that are not text are shown as \uFFFD or ␀; the exact output is in "+path)
	}
	if body == "" {
		body = "(no output)"
	}
	if !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	return tool.Result{Output: body + "[" + strings.Join(notes, "; ") + "]", Cut: cut}
}
