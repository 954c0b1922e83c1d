package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"paragents/core/tool"
)

const globSchema = `{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
"pattern":{"type":"string","description":"glob pattern, relative to path; ** crosses directories"},
"path":{"type":"string","description":"directory to search; the workspace if left out"}}}`

const maxGlob = 1000 // paths that one result shows

func planGlob(env *tool.Env, arguments json.RawMessage) (tool.Plan, error) {
	var args struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path"`
	}
	if err := tool.Args(arguments, &args); err != nil {
		return tool.Plan{}, err
	}
	if err := validGlob(args.Pattern); err != nil {
		return tool.Plan{}, err
	}
	if args.Path == "" {
		args.Path = "."
	}
	p, err := find(env, args.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	show := fmt.Sprintf("find %s in %s", inLine(args.Pattern), p)
	return tool.Plan{Checks: p.checks("Read"), Show: show, Line: show, Run: func(ctx context.Context) (tool.Result, error) {
		if err := p.again(env); err != nil {
			return tool.Result{}, err
		}
		return glob(ctx, env, p, args.Pattern)
	}}, nil
}

func validGlob(pattern string) error {
	switch {
	case pattern == "":
		return errors.New("the pattern is empty; **/*.go, for example, finds the Go files of all directories")
	case strings.HasPrefix(pattern, "/"):
		return errors.New("the pattern is absolute; give one that is relative to path")
	case !doublestar.ValidatePattern(pattern):
		return fmt.Errorf("the pattern %q is not well formed: a bracket or brace is not closed", pattern)
	}
	for elem := range strings.SplitSeq(pattern, "/") {
		if elem == ".." || elem == "." {
			return fmt.Errorf("the pattern %q holds %s; give the directory as path", pattern, elem)
		}
	}
	return nil
}

func glob(ctx context.Context, env *tool.Env, p place, pattern string) (tool.Result, error) {
	out := lines{max: maxGlob}
	w := walk{visit: func(_ *os.Root, rel string, e fs.DirEntry) error {
		if !doublestar.MatchUnvalidated(pattern, rel) {
			return nil
		}
		name := p.join(rel)
		if e.IsDir() {
			name += "/"
		}
		if !out.add(name) {
			return errEnough
		}
		return nil
	}}
	if err := w.below(ctx, env, p); err != nil {
		return tool.Result{}, err
	}
	return out.result("nothing matches", w.cut), nil
}
