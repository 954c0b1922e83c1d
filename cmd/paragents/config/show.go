package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Show is the whole configuration as YAML that Load reads, with secrets hidden. Behind each value that is not the default stands where it
// came from.
func Show(c *Config) string {
	s := shower{c: c}
	s.section(reflect.ValueOf(c).Elem(), "", 0)
	return s.out.String()
}

type shower struct {
	c   *Config
	out bytes.Buffer
}

// line writes one line, with the source of the value at path; "": none is said.
func (s *shower) line(depth int, text, path string) {
	s.out.WriteString(strings.Repeat("  ", depth) + text)
	if source := s.c.meta.sources[path].String(); source != "" && path != "" {
		s.out.WriteString("  # " + harmless(source))
	}
	s.out.WriteByte('\n')
}

func (s *shower) section(v reflect.Value, path string, depth int) {
	for _, f := range fields(v.Type()) {
		s.value(v.Field(f.index), f.name, join(path, f.name), depth)
	}
}

// value writes one key and what is in it. Only single values say where they came from, and lists that are one variable.
func (s *shower) value(v reflect.Value, key, path string, depth int) {
	switch {
	case scalar(v.Type()):
		s.line(depth, key+": "+text(v), path)
	case v.Kind() == reflect.Struct:
		s.line(depth, key+":", "")
		s.section(v, path, depth+1)
	case v.Len() == 0:
		s.line(depth, key+": "+map[reflect.Kind]string{reflect.Slice: "[]", reflect.Map: "{}"}[v.Kind()], path)
	case v.Kind() == reflect.Map:
		s.line(depth, key+":", "")
		for _, k := range sortedKeys(v) {
			s.value(v.MapIndex(reflect.ValueOf(k)), plain(k), entry(path, k), depth+1)
		}
	default:
		at := ""
		if s.c.meta.sources[path].Env != "" {
			at = path
		}
		s.line(depth, key+":", at)
		s.elements(v, path, depth+1)
	}
}

func (s *shower) elements(v reflect.Value, path string, depth int) {
	for i := range v.Len() {
		if scalar(v.Type().Elem()) {
			s.line(depth, "- "+text(v.Index(i)), at(path, i))
			continue
		}
		begin := s.out.Len()
		s.section(v.Index(i), at(path, i), depth+1)
		s.out.Bytes()[begin+2*depth] = '-'
	}
}

// text is a single value as YAML.
func text(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Duration:
		return duration(value)
	case fmt.Stringer: // Secret and URL
		return plain(value.String())
	}
	if v.Kind() == reflect.String {
		return plain(v.String())
	}
	return fmt.Sprint(v.Interface())
}

// plain is a text as YAML: as it is where nothing can be taken for anything else, in JSON's quotes otherwise.
func plain(s string) string {
	if regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./:@+-]*[A-Za-z0-9_/]$`).MatchString(s) && !word(s) {
		return s
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.Encode(s) //nolint:errcheck // a text into memory
	return strings.TrimSuffix(b.String(), "\n")
}

// word reports whether YAML, old or new, means something else by it.
func word(s string) bool {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "nan", "inf":
		return true
	}
	return false
}
