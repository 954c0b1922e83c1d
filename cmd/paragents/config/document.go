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
	if regexp.MustCompile(`^[A-Za-z/]([A-Za-z0-9_./:@+-]*[A-Za-z0-9_/])?$`).MatchString(s) && !word(s) {
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
	case "true", "false", "yes", "no", "y", "n", "on", "off", "null", "nan", "inf":
		return true
	}
	return false
}

// schema is the part of JSON Schema that describes the configuration.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        string             `json:"type"`
	Enum        []string           `json:"enum,omitempty"`
	Default     any                `json:"default,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Minimum     json.Number        `json:"minimum,omitempty"`
	Maximum     json.Number        `json:"maximum,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	// Additional is false for sections, and what the entries are for tables.
	Additional any `json:"additionalProperties,omitempty"`
}

// Schema is the JSON Schema of the file, for editors.
func Schema() []byte {
	s := describe(reflect.ValueOf(*Default()), field{doc: "Configuration of Paragents. ${NAME} in a text is replaced by that environment variable, except in rules."})
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", FileName
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	encoder.Encode(s) //nolint:errcheck // plain data into memory
	return b.Bytes()
}

// describe makes the schema of a value whose content is the default.
func describe(v reflect.Value, f field) *schema {
	s := &schema{Description: f.doc, Enum: f.enum}
	t := v.Type()
	switch {
	case is[Secret](t):
		s.Type = "string"
	case is[time.Duration](t):
		s.Type, s.Pattern, s.Default = "string", `^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$|^0$|\$\{`, duration(time.Duration(v.Int()))
		s.Description = strings.TrimSpace(s.Description + " " + between(f))
	case t.Kind() == reflect.String:
		s.Type, s.Default = "string", v.String()
	case t.Kind() == reflect.Bool:
		s.Type, s.Default = "boolean", v.Bool()
	case t.Kind() == reflect.Int:
		s.Type, s.Default = "integer", v.Int()
		s.Minimum, s.Maximum = json.Number(f.min), json.Number(f.max)
	case t.Kind() == reflect.Float64:
		s.Type, s.Default = "number", v.Float()
		s.Minimum, s.Maximum = json.Number(f.min), json.Number(f.max)
	case t.Kind() == reflect.Slice:
		s.Type, s.Items = "array", describe(fresh(t.Elem()), field{})
	case t.Kind() == reflect.Map:
		s.Type, s.Additional = "object", describe(fresh(t.Elem()), field{})
	default:
		s.Type, s.Additional, s.Properties = "object", false, make(map[string]*schema)
		for _, f := range fields(t) {
			s.Properties[f.name] = describe(v.Field(f.index), f)
			if is[Secret](f.typ) {
				s.Properties[f.name+"_file"] = &schema{Type: "string", Description: "File that holds " + f.name + "."}
			}
		}
		switch v.Interface().(type) {
		case Workspace:
			s.Required = []string{"name", "path"}
		case Fallback:
			s.Required = []string{"model"}
		}
	}
	return s
}

// between says the bounds of a duration, for which JSON Schema has no word.
func between(f field) string {
	switch {
	case f.min != "" && f.max != "":
		return "From " + f.min + " to " + f.max + "."
	case f.max != "":
		return "At most " + f.max + "."
	}
	return ""
}
