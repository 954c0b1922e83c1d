package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// is reports whether a type is T.
func is[T any](t reflect.Type) bool { return t == reflect.TypeFor[T]() }

// field is one key of a section, as its tags describe it.
type field struct {
	name     string
	index    int // in the struct
	typ      reflect.Type
	doc      string
	enum     []string // empty: anything
	min, max string   // empty: unbounded
}

// fields lists the keys of a section in their order.
func fields(t reflect.Type) []field {
	var list []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, ok := sf.Tag.Lookup("yaml")
		if !ok {
			continue
		}
		f := field{name: name, index: i, typ: sf.Type, doc: sf.Tag.Get("doc"), min: sf.Tag.Get("min"), max: sf.Tag.Get("max")}
		if enum, ok := sf.Tag.Lookup("enum"); ok {
			f.enum = strings.Split(enum, "|")
		}
		list = append(list, f)
	}
	return list
}

// keys lists what may be written in a section: its fields, and a "_file" beside each secret.
func keys(t reflect.Type) []string {
	var list []string
	for _, f := range fields(t) {
		list = append(list, f.name)
		if is[Secret](f.typ) {
			list = append(list, f.name+"_file")
		}
	}
	return list
}

// scalar reports whether a value of the type is one text in the file and one variable in the environment.
func scalar(t reflect.Type) bool {
	if is[Secret](t) {
		return true
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64, reflect.String:
		return true
	}
	return false
}

// fresh is a new element of a list or map, with its defaults.
func fresh(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch e := v.Addr().Interface().(type) {
	case *Workspace:
		*e = defaultWorkspace("", "")
	case *Fallback:
		e.BaseURL = OpenAI
	case *PlaceAccess:
		e.ThreadReplies = "owner"
	}
	return v
}

// join makes the path of a key in a section.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// at makes the path of an element of a list.
func at(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// entry makes the path of an entry of a table. Keys are free, so they are made harmless to print.
func entry(path, key string) string {
	return path + "[" + harmless(key) + "]"
}

// sortedKeys are the keys of a table, whose order decides nothing.
func sortedKeys(table reflect.Value) []string {
	list := make([]string, 0, table.Len())
	for _, key := range table.MapKeys() {
		list = append(list, key.String())
	}
	slices.Sort(list)
	return list
}

// walk calls visit for every value in the configuration, sections and lists before what is in them.
func walk(v reflect.Value, path string, f field, visit func(v reflect.Value, path string, f field)) {
	visit(v, path, f)
	switch {
	case scalar(v.Type()):
	case v.Kind() == reflect.Struct:
		for _, f := range fields(v.Type()) {
			walk(v.Field(f.index), join(path, f.name), f, visit)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), at(path, i), field{}, visit)
		}
	case v.Kind() == reflect.Map:
		for _, key := range sortedKeys(v) {
			walk(v.MapIndex(reflect.ValueOf(key)), entry(path, key), field{}, visit)
		}
	}
}
