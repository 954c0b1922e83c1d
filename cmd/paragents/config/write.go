package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Setting is one value of a section.
type Setting struct{ Key, Value string }

// Write sets text values of a section in a configuration file, and leaves everything else in it as it is. The file, and the folders around it, are made if there are
// none. It is replaced at once and whole, and afterwards readable by its owner alone. A file in which that cannot be done for certain is not touched: the
// error says what to write by hand.
func Write(path, section string, settings []Setting) error {
	if real, err := filepath.EvalSymlinks(path); err == nil { // the file itself, not the link to it
		path = real
	}
	old, err := readFile(path, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", path, err)
	}
	data, err := edit(old, section, settings)
	if err != nil {
		keys := make([]string, len(settings))
		for i, s := range settings {
			keys[i] = section + "." + s.Key
		}
		return fmt.Errorf("change %s: %w; it is as it was: write %s into it by hand", path, err, strings.Join(keys, " and "))
	}
	if err := replace(path, data); err != nil {
		return fmt.Errorf("write %s: %w; it is as it was", path, err)
	}
	return nil
}

// replace puts a file in the place of another, in one step.
func replace(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// edit is the text with the settings in it. It is read again afterwards: nothing but them may be different.
func edit(old []byte, section string, settings []Setting) ([]byte, error) {
	var before map[string]any
	if err := yaml.Unmarshal(old, &before); err != nil {
		return nil, errors.New("it cannot be read")
	}
	out, err := insert(old, section, settings)
	if err != nil {
		return nil, err
	}
	var after map[string]any
	if err := yaml.Unmarshal(out, &after); err != nil {
		return nil, errors.New("its form is not known here")
	}
	for _, s := range settings {
		if got, ok := after[section].(map[string]any); !ok || got[s.Key] != s.Value {
			return nil, errors.New("its form is not known here")
		}
	}
	if !reflect.DeepEqual(without(before, section, settings), without(after, section, settings)) {
		return nil, errors.New("its form is not known here")
	}
	return out, nil
}

// without takes settings out of a document, those that name a file for them too; a section without anything left goes as well.
func without(doc map[string]any, section string, settings []Setting) map[string]any {
	out := map[string]any{}
	for key, value := range doc {
		inner, ok := value.(map[string]any)
		if key != section || !ok && value != nil {
			out[key] = value
			continue
		}
		rest := map[string]any{}
		for k, v := range inner {
			if !slices.ContainsFunc(settings, func(s Setting) bool { return k == s.Key || k == s.Key+"_file" }) {
				rest[k] = v
			}
		}
		if len(rest) > 0 {
			out[key] = rest
		}
	}
	return out
}

// insert writes the section anew: with what it had, in its own words, and with the settings. Its comments stay if each setting has a line of its own.
func insert(old []byte, section string, settings []Setting) ([]byte, error) {
	file, err := parser.ParseBytes(old, 0)
	if err != nil || len(file.Docs) > 1 {
		return nil, errors.New("it is not one YAML document")
	}
	var top []*ast.MappingValueNode
	if len(file.Docs) == 1 {
		top, _ = pairs(file.Docs[0].Body)
	}
	i := slices.IndexFunc(top, func(p *ast.MappingValueNode) bool { return p.Key.GetToken().Value == section })
	if i < 0 {
		if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
			old = append(slices.Clip(old), '\n')
		}
		return append(slices.Clip(old), section+":\n"+indented(settings)...), nil
	}
	lines := strings.SplitAfter(string(old), "\n")
	begin, end := line(top[i].Key), len(lines)+1 // lines count from 1
	if i+1 < len(top) {
		end = line(top[i+1].Key)
	}
	kept, ok := pairs(top[i].Value)
	if !ok && !empty(top[i].Value) {
		return nil, errors.New(section + " is not a section")
	}
	var b strings.Builder
	b.WriteString(section + ":\n" + indented(settings))
	for _, p := range kept {
		key := p.Key.GetToken().Value
		if slices.ContainsFunc(settings, func(s Setting) bool { return key == s.Key || key == s.Key+"_file" }) {
			continue
		}
		if _, nested := pairs(p.Value); nested {
			return nil, errors.New(section + "." + key + " is a section of its own")
		}
		b.WriteString("  " + key + ": " + strings.TrimSpace(p.Value.String()) + "\n")
	}
	for _, l := range lines[begin:max(begin, end-1)] { // what stands behind the section in lines of its own is somebody's remark
		if strings.HasPrefix(strings.TrimSpace(l), "#") || strings.TrimSpace(l) == "" {
			b.WriteString(l)
		}
	}
	return []byte(strings.Join(lines[:begin-1], "") + b.String() + strings.Join(lines[min(end-1, len(lines)):], "")), nil
}

func indented(settings []Setting) string {
	var b strings.Builder
	for _, s := range settings {
		b.WriteString("  " + s.Key + ": " + strconv.Quote(s.Value) + "\n")
	}
	return b.String()
}
