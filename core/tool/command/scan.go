package command

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// What a command changed is found by looking at the workspace before and after it: names, sizes and times. Git's own files and the bot's are left out, and so is everything in a
// workspace that has too many files.
const (
	maxScan    = 20_000
	maxChanged = 500 // paths that are reported
)

// stamp is what tells one state of a file from another.
type stamp struct {
	size int64
	time time.Time
	mode fs.FileMode
}

// scan notes every file of a workspace; nil when there are too many, or the context ended.
func scan(ctx context.Context, root *os.Root) map[string]stamp {
	found := map[string]stamp{}
	err := fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil || len(found) > maxScan:
			return fs.SkipAll
		case err != nil: // it is gone by now, or not for us
			return nil
		case e.IsDir():
			if e.Name() == ".git" || strings.EqualFold(e.Name(), ".paragents") {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := e.Info(); err == nil {
			found[path] = stamp{info.Size(), info.ModTime(), info.Mode()}
		}
		return nil
	})
	if err != nil || ctx.Err() != nil || len(found) > maxScan {
		return nil
	}
	return found
}

// changed are the files that were made, changed or removed between two scans, sorted; nothing when one of them is missing.
func changed(before, after map[string]stamp) []string {
	if before == nil || after == nil {
		return nil
	}
	var out []string
	for path, s := range after {
		if was, ok := before[path]; !ok || was != s {
			out = append(out, path)
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), maxChanged)]
}
