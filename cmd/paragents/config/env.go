package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"paragents/core"
)

const envPrefix = "PARAGENTS_"

// envName is the variable for a key: PARAGENTS_STORE_MIN_REPLICAS for store.min_replicas.
func envName(path string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// environment reads KEY=value lines. A variable that is set to nothing counts as not set: that is what compose files make of a missing one.
func environment(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, pair := range environ {
		if key, value, ok := strings.Cut(pair, "="); ok && value != "" {
			env[key] = value
		}
	}
	return env
}

// interpolate replaces each ${NAME}. unset is the first variable that has no value; text is of no use then.
func interpolate(text string, env map[string]string) (out, unset string, err error) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "${")
		b.WriteString(before)
		if !ok {
			return b.String(), unset, nil
		}
		variable, after, closed := strings.Cut(rest, "}")
		if !closed || !variableName(variable) {
			return "", "", errors.New("has ${ without the name of an environment variable and } behind it")
		}
		value, ok := env[variable]
		if !ok && unset == "" {
			unset = variable
		}
		b.WriteString(value)
		text = after
	}
}

func variableName(s string) bool {
	for i, r := range s {
		letter := r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// secretFile reads the value of a "_file" key: the name of a file that holds a secret. path is the key of the secret itself.
func (d *decoder) secretFile(n ast.Node, v reflect.Value, path string) {
	var name string
	key := path + "_file"
	d.value(n, reflect.ValueOf(&name).Elem(), key, field{})
	if name == "" {
		return
	}
	source := d.meta.sources[key]
	if wrong := d.readSecret(name, v, path, source); wrong != "" {
		d.fail(n, key, wrong, "name a readable file that holds nothing but the secret")
	}
}

// readSecret sets v from a file and says what is wrong with it.
func (d *decoder) readSecret(name string, v reflect.Value, path string, source Source) (wrong string) {
	file := absolute(d.dir, name)
	data, err := readFile(file, 64<<10)
	if err != nil {
		return fmt.Sprintf("read %s: %v", quote(name), err)
	}
	set(v, string(data), field{})
	source.Via = name
	d.meta.sources[path] = source
	d.meta.files = append(d.meta.files, file)
	delete(d.meta.unset, path)
	return ""
}

// readFile reads a regular file of at most so many bytes. Its errors do not repeat the name.
func readFile(name string, most int64) ([]byte, error) {
	info, err := os.Stat(name) // before opening: a pipe would wait for its writer
	if err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if err != nil {
		return nil, bare(err)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, bare(err)
	}
	defer file.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, bare(err)
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("larger than %d bytes", most)
	}
	return data, nil
}

// bare takes the operation and the name off a file error.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// absolute reads a path from the directory dir.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// environ reads the variables over the configuration, each a whole value: nothing is interpolated in them.
func (d *decoder) environ(c *Config) []Warning {
	known := map[string]bool{envPrefix + "CONFIG": true}
	var names []string
	walkSettings(reflect.ValueOf(c).Elem(), "", field{}, func(v reflect.Value, path string, f field) {
		variable := envName(path)
		known[variable] = true
		names = append(names, variable)
		source := Source{Env: variable}
		text, given := d.env[variable]
		if given {
			if wrong, hint := set(v, text, f); wrong != "" {
				*d.problems = append(*d.problems, &Problem{Source: source, Key: path, Text: wrong, Hint: hint})
			}
			d.meta.sources[path] = source
			delete(d.meta.unset, path)
		}
		if !is[Secret](v.Type()) {
			return
		}
		source.Env += "_FILE"
		known[source.Env] = true
		names = append(names, source.Env)
		file, ok := d.env[source.Env]
		switch {
		case ok && given:
			*d.problems = append(*d.problems, &Problem{Source: source, Key: path, Text: "is given twice", Hint: "keep " + variable + " or " + source.Env})
		case ok:
			if wrong := d.readSecret(file, v, path, source); wrong != "" {
				*d.problems = append(*d.problems, &Problem{Source: source, Key: path, Text: wrong, Hint: "name a readable file that holds nothing but the secret"})
			}
		}
	})
	return d.unknownVariables(known, names)
}

// walkSettings visits what a variable can set: the single values and the lists of people of sections, not those of list elements.
func walkSettings(v reflect.Value, path string, f field, visit func(v reflect.Value, path string, f field)) {
	switch t := v.Type(); {
	case scalar(t), is[[]core.Person](t):
		visit(v, path, f)
	case t.Kind() == reflect.Struct:
		for _, f := range fields(t) {
			walkSettings(v.Field(f.index), join(path, f.name), f, visit)
		}
	}
}

// unknownVariables warns of names that look like a setting and are none. Others may have variables with this prefix too (Kubernetes sets
// PARAGENTS_PORT for a service of that name), so that is no mistake.
func (d *decoder) unknownVariables(known map[string]bool, names []string) []Warning {
	var warnings []Warning
	for variable := range d.env {
		rest, ours := strings.CutPrefix(variable, envPrefix)
		if !ours || known[variable] {
			continue
		}
		section, _, _ := strings.Cut(rest, "_")
		near := nearestVariable(rest, names)
		_, isSection := find(reflect.TypeFor[Config](), strings.ToLower(section))
		if near == "" && !isSection {
			continue
		}
		hint := "see `paragents config show`"
		if near != "" {
			hint = "did you mean " + near + "?"
		}
		warnings = append(warnings, Warning{Source: Source{Env: variable}, Text: "is not a setting", Hint: hint})
	}
	slices.SortFunc(warnings, func(a, b Warning) int { return strings.Compare(a.Source.Env, b.Source.Env) })
	return warnings
}

// nearestVariable compares without the prefix, which would hide every difference.
func nearestVariable(rest string, names []string) string {
	short := make([]string, len(names))
	for i, n := range names {
		short[i] = strings.ToLower(strings.TrimPrefix(n, envPrefix))
	}
	if near := nearest(strings.ToLower(rest), short); near != "" {
		return envName(near)
	}
	return ""
}
