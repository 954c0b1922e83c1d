package file

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"

	"paragents/core/tool"
)

const listSchema = `{"type":"object","additionalProperties":false,"required":["path"],"properties":{
"path":{"type":"string","description":"directory, relative to the workspace; . is the workspace"}}}`

const maxList = 1000 // entries that one result shows

func planList(env *tool.Env, arguments json.RawMessage) (tool.Plan, error) {
	var args struct {
		Path string `json:"path"`
	}
	if err := tool.Args(arguments, &args); err != nil {
		return tool.Plan{}, err
	}
	p, err := find(env, args.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	show := "list " + p.String()
	return tool.Plan{Checks: p.checks("Read"), Show: show, Line: show, Run: func(context.Context) (tool.Result, error) {
		if err := p.again(env); err != nil {
			return tool.Result{}, err
		}
		return list(env, p)
	}}, nil
}

func list(env *tool.Env, p place) (tool.Result, error) {
	dir, err := openDir(env, p)
	if err != nil {
		return tool.Result{}, explain(p.asked, err)
	}
	defer dir.Close()
	all, cut, err := entries(dir)
	if err != nil {
		return tool.Result{}, explain(p.asked, err)
	}
	out := lines{max: maxList}
	for _, e := range all {
		if !out.add(describe(dir, e)) {
			break
		}
	}
	note := ""
	if cut {
		note = fmt.Sprintf("the directory holds more than %d entries; only some of them were looked at", maxDirEntries)
	}
	return out.result("the directory is empty", note), nil
}

// describe is an entry with what it is: "name/", "name -> target", "name (12 bytes)".
func describe(dir *os.Root, e fs.DirEntry) string {
	switch e.Type() {
	case fs.ModeDir:
		return e.Name() + "/"
	case fs.ModeSymlink:
		if target, err := dir.Readlink(e.Name()); err == nil {
			return e.Name() + " -> " + target
		}
	case 0:
		if info, err := dir.Lstat(e.Name()); err == nil {
			return fmt.Sprintf("%s (%d bytes)", e.Name(), info.Size())
		}
	}
	return e.Name() + " (no regular file)"
}
