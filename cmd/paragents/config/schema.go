package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

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
