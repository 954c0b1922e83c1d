package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"paragents/core/tool"
)

const grepSchema = `{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
"pattern":{"type":"string","description":"regular expression (RE2), matched line by line"},
"path":{"type":"string","description":"file or directory to search; the workspace if left out"},
"glob":{"type":"string","description":"only files whose path below path matches; without a slash, whose name matches"}}}`

const (
	maxMatches  = 500       // lines that one result shows
	maxLine     = 300       // bytes of a line that are shown
	maxGrepFile = 4 << 20   // bytes; larger files are left out
	maxGrepAll  = 512 << 20 // bytes read in one call
)

func planGrep(env *tool.Env, arguments json.RawMessage) (tool.Plan, error) {
	var args struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path"`
		Glob    string `json:"glob"`
	}
	if err := tool.Args(arguments, &args); err != nil {
		return tool.Plan{}, err
	}
	if args.Pattern == "" {
		return tool.Plan{}, errors.New("the pattern is empty; give a regular expression")
	}
	re, err := regexp.Compile(args.Pattern)
	if err != nil {
		return tool.Plan{}, fmt.Errorf("the pattern is no RE2 regular expression: %w", err)
	}
	if args.Glob != "" {
		if err := validGlob(args.Glob); err != nil {
			return tool.Plan{}, err
		}
	}
	if args.Path == "" {
		args.Path = "."
	}
	p, err := find(env, args.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	show := fmt.Sprintf("search for %s in %s", inLine(args.Pattern), p)
	if args.Glob != "" {
		show += ", files " + inLine(args.Glob)
	}
	s := &search{re: re, glob: args.Glob, out: lines{max: maxMatches}}
	return tool.Plan{Checks: p.checks("Read"), Show: show, Line: show, Run: func(ctx context.Context) (tool.Result, error) {
		if err := p.again(env); err != nil {
			return tool.Result{}, err
		}
		return s.run(ctx, env, p)
	}}, nil
}

// search is one grep on its way.
type search struct {
	re      *regexp.Regexp
	glob    string
	out     lines
	buffer  []byte
	total   int64
	large   int // files left out for their size
	private int // and because reading them is not allowed without asking
}

func (s *search) run(ctx context.Context, env *tool.Env, p place) (tool.Result, error) {
	info, err := env.Root.Lstat(p.real)
	if err != nil {
		return tool.Result{}, explain(p.asked, err)
	}
	var cut string
	if info.IsDir() {
		cut, err = s.tree(ctx, env, p)
	} else {
		err = s.single(env, p)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return tool.Result{}, err
	}
	var private, large string
	if s.private > 0 {
		private = fmt.Sprintf("left out because the rules ask before they are read: %d; name one as path to ask for it", s.private)
	}
	if s.large > 0 {
		large = fmt.Sprintf("left out because they have more than %d bytes: %d", maxGrepFile, s.large)
	}
	return s.out.result("no line matches", cut, private, large), nil
}

func (s *search) single(env *tool.Env, p place) error {
	dir, name, err := descend(env.Root, p.real, false)
	if err != nil {
		return explain(p.asked, err)
	}
	defer dir.Close()
	if err := s.file(dir, name, p.asked); err != nil && !errors.Is(err, errEnough) {
		return explain(p.asked, err)
	}
	return nil
}

func (s *search) tree(ctx context.Context, env *tool.Env, p place) (cut string, err error) {
	if env.Readable == nil {
		return "", errors.New("directories cannot be searched here, because it is not known what may be read; name one file as path")
	}
	w := walk{visit: func(dir *os.Root, rel string, e fs.DirEntry) error {
		if !e.Type().IsRegular() || !s.wants(rel) {
			return nil
		}
		if !env.Readable(path.Join(p.real, rel)) {
			s.private++
			return nil
		}
		if s.total > maxGrepAll {
			return errEnough
		}
		// A file that cannot be read, or is gone by now, is passed over.
		if err := s.file(dir, e.Name(), p.join(rel)); errors.Is(err, errEnough) {
			return err
		}
		return nil
	}}
	err = w.below(ctx, env, p)
	if s.total > maxGrepAll {
		w.cut = fmt.Sprintf("stopped after %d bytes", maxGrepAll)
	}
	return w.cut, err
}

func (s *search) wants(rel string) bool {
	if s.glob == "" {
		return true
	}
	if !strings.Contains(s.glob, "/") {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(s.glob, rel)
}

// file adds the lines of a file that match. Shown is how the model names it.
func (s *search) file(dir *os.Root, name, shown string) error {
	f, info, err := open(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() > maxGrepFile {
		s.large++
		return nil
	}
	buf := bytes.NewBuffer(s.buffer[:0])
	n, err := io.Copy(buf, io.LimitReader(f, maxGrepFile))
	s.buffer, s.total = buf.Bytes(), s.total+n
	if err != nil {
		return err
	}
	if bytes.IndexByte(s.buffer[:min(len(s.buffer), sniff)], 0) >= 0 {
		return nil // binary
	}
	number := 0
	for line := range bytes.Lines(s.buffer) {
		number++
		line = bytes.TrimRight(line, "\r\n")
		if !s.re.Match(line) {
			continue
		}
		text := string(line)
		if len(line) > maxLine {
			text = strings.ToValidUTF8(text[:maxLine], "") + "…"
		}
		if !s.out.add(fmt.Sprintf("%s:%d: %s", shown, number, text)) {
			return errEnough
		}
	}
	return nil
}
