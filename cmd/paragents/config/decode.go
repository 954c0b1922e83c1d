package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"paragents/core"
)

// What one file may be. The parser's time grows with the square of some of these.
const (
	maxFile   = 256 << 10 // bytes
	maxTokens = 20_000
	maxDepth  = 16
)

const syntaxHint = "check quotes, brackets and indentation (blanks, no tabs); between { and } a text with : needs quotes"

// meta is what the configuration knows about itself.
type meta struct {
	path       string            // of the configuration, absolute
	files      []string          // that were read, absolute
	foreign    *Foreign          // nil: none
	workspaces bool              // a file gave the list, so it is not the default any more
	sources    map[string]Source // by key; no entry: the default
	unset      map[string]string // variables that a secret named and that are not set, by key
}

// decoder reads one layer over the configuration that the earlier layers left.
type decoder struct {
	file     string // as shown
	dir      string // where relative paths start
	env      map[string]string
	meta     *meta
	problems *Problems
}

func (d *decoder) fail(n ast.Node, key, text, hint string) {
	*d.problems = append(*d.problems, &Problem{Source: Source{File: d.file, Line: line(n)}, Key: key, Text: text, Hint: hint})
}

func line(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// parse reads one YAML document. nil without an error: there is none.
func (d *decoder) parse(data []byte) ast.Node {
	text := strings.TrimPrefix(string(data), "\ufeff")
	tokens := lexer.Tokenize(text)
	if len(tokens) > maxTokens || tooDeep(tokens) {
		d.problem(0, "has more in it than a configuration can have", fmt.Sprintf("at most %d bytes, %d words and %d levels", maxFile, maxTokens, maxDepth))
		return nil
	}
	file, err := parser.Parse(tokens, 0)
	var syntax *yaml.SyntaxError
	switch {
	case errors.As(err, &syntax):
		// Only the message: the library's full text shows the lines around, which may hold secrets.
		at := 0
		if syntax.Token != nil && syntax.Token.Position != nil {
			at = syntax.Token.Position.Line
		}
		d.problem(at, "is not YAML: "+strings.ReplaceAll(harmless(syntax.Message), `\"`, `"`), syntaxHint)
		return nil
	case err != nil:
		d.problem(0, "is not YAML", syntaxHint)
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			d.problem(line(doc.Body), "has a second document", "take away everything from the line --- on")
			return nil
		}
		body = doc.Body
	}
	return body
}

func (d *decoder) problem(line int, text, hint string) {
	*d.problems = append(*d.problems, &Problem{Source: Source{File: d.file, Line: line}, Text: text, Hint: hint})
}

// tooDeep bounds what can be nested without indentation: brackets, and entries or keys on one line.
func tooDeep(tokens token.Tokens) bool {
	depth, row, onLine := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			if t.Position.Line != row {
				row, onLine = t.Position.Line, 0
			}
			onLine++
		}
		if depth > maxDepth || onLine > maxDepth {
			return true
		}
	}
	return false
}

// pairs are the keys and values of a section, or ok is false because it is none.
func pairs(n ast.Node) (list []*ast.MappingValueNode, ok bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// scalarText is the text of a single value as it was written; ok is false for everything else.
func scalarText(n ast.Node) (text string, ok bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// empty reports whether nothing was written, which leaves a value as it was.
func empty(n ast.Node) bool {
	_, null := n.(*ast.NullNode)
	return n == nil || null
}

// value reads a node into v.
func (d *decoder) value(n ast.Node, v reflect.Value, path string, f field) {
	if empty(n) {
		return
	}
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.fail(n, path, "is an anchor, an alias or a tag, which are not read here", "write the value itself")
		return
	}
	d.meta.sources[path] = Source{File: d.file, Line: line(n)}
	t := v.Type()
	switch {
	case scalar(t):
		text, ok := scalarText(n)
		if !ok {
			d.fail(n, path, "is not a single value", "put it in quotes if it is meant as one")
			return
		}
		d.scalar(n, text, v, path, f)
	case t.Kind() == reflect.Struct:
		d.section(n, v, path)
	case t.Kind() == reflect.Slice:
		d.list(n, v, path)
	case t.Kind() == reflect.Map:
		d.table(n, v, path)
	}
}

// scalar reads a text into v. Rules reach it as texts without a field, and are taken as written.
func (d *decoder) scalar(n ast.Node, text string, v reflect.Value, path string, f field) {
	text, unset, err := interpolate(text, d.env)
	switch {
	case err != nil:
		d.fail(n, path, err.Error(), "write it as ${NAME}")
		return
	case unset != "" && !is[Secret](v.Type()):
		d.fail(n, path, "needs the environment variable "+unset+", which is not set", "set it, or write the value itself")
		return
	case unset != "":
		d.meta.unset[path] = unset
		text = ""
	}
	if text, hint := set(v, text, f); text != "" {
		d.fail(n, path, text, hint)
	}
}

// section reads key: value lines into a struct.
func (d *decoder) section(n ast.Node, v reflect.Value, path string) {
	list, ok := pairs(n)
	if !ok {
		d.fail(n, path, "is not a section", "write its settings below it, indented, as key: value")
		return
	}
	seen := make(map[string]bool)
	for _, pair := range list {
		key := pair.Key.GetToken().Value
		f, ok := find(v.Type(), key)
		if !ok {
			d.fail(pair.Key, join(path, name(key)), "unknown key", meant(path, key, v.Type()))
			continue
		}
		if seen[f.name] {
			d.fail(pair.Key, join(path, key), "is given twice", "keep one of the two")
			continue
		}
		seen[f.name] = true
		switch {
		case key != f.name:
			d.secretFile(pair.Value, v.Field(f.index), join(path, f.name))
		default:
			d.value(pair.Value, v.Field(f.index), join(path, f.name), f)
		}
	}
}

// find is the field for a key; its name is the key without "_file" where the key is a secret's file.
func find(t reflect.Type, key string) (field, bool) {
	for _, f := range fields(t) {
		if f.name == key || is[Secret](f.typ) && f.name+"_file" == key {
			return f, true
		}
	}
	return field{}, false
}

// meant is the hint for an unknown key: the nearest one here, the same word elsewhere, or all that there are.
func meant(path, key string, t reflect.Type) string {
	if near := nearest(key, keys(t)); near != "" {
		return "did you mean " + join(path, near) + "?"
	}
	elsewhere := ""
	walk(reflect.ValueOf(*Default()), "", field{}, func(_ reflect.Value, p string, f field) {
		if f.name == key && p != key && elsewhere == "" {
			elsewhere = p
		}
	})
	if elsewhere != "" {
		return "did you mean " + elsewhere + "?"
	}
	return "known here: " + strings.Join(keys(t), ", ")
}

// list reads a sequence. Rules are added to those of earlier files, workspaces go to the one of the same name, everything else is replaced.
func (d *decoder) list(n ast.Node, v reflect.Value, path string) {
	sequence, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(n, path, "is not a list", "write it as [a, b] or as lines that begin with -")
		return
	}
	switch v.Interface().(type) {
	case []Workspace:
		d.workspaces(sequence, v, path)
		return
	case []string: // rules
	default:
		v.Set(reflect.MakeSlice(v.Type(), 0, len(sequence.Values)))
	}
	for _, item := range sequence.Values {
		if empty(item) {
			d.fail(item, path, "has an empty entry", "take it away")
			continue
		}
		i := v.Len()
		element := fresh(v.Type().Elem())
		if text, ok := scalarText(item); ok && is[string](element.Type()) {
			d.meta.sources[at(path, i)] = Source{File: d.file, Line: line(item)}
			element.SetString(text)
		} else {
			d.value(item, element, at(path, i), field{})
		}
		v.Set(reflect.Append(v, element))
	}
}

// table reads a mapping with free keys.
func (d *decoder) table(n ast.Node, v reflect.Value, path string) {
	list, ok := pairs(n)
	if !ok {
		d.fail(n, path, "is not a table", "write its entries below it, indented, as key: value")
		return
	}
	entries := reflect.MakeMap(v.Type())
	for _, pair := range list {
		key := pair.Key.GetToken().Value
		element := fresh(v.Type().Elem())
		d.meta.sources[entry(path, key)] = Source{File: d.file, Line: line(pair.Key)}
		d.value(pair.Value, element, entry(path, key), field{})
		entries.SetMapIndex(reflect.ValueOf(key), element)
	}
	v.Set(entries)
}

// set turns a text into a value. It returns what is wrong with the text, and a hint.
func set(v reflect.Value, text string, f field) (wrong, hint string) {
	switch {
	case is[Secret](v.Type()):
		v.Set(reflect.ValueOf(NewSecret(strings.TrimSpace(text))))
	case is[time.Duration](v.Type()):
		dur, err := time.ParseDuration(text)
		if err != nil {
			return quote(text) + " is not a duration", "write a number with a unit, such as 15s, 30m or 168h"
		}
		v.SetInt(int64(dur))
	case v.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			return quote(text) + " is not a switch", "write true or false"
		}
		v.SetBool(text == "true")
	case v.Kind() == reflect.Int:
		number, err := strconv.Atoi(text)
		if err != nil {
			return quote(text) + " is not a whole number", "write it with digits only, such as 20"
		}
		v.SetInt(int64(number))
	case v.Kind() == reflect.Float64:
		number, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
			return quote(text) + " is not a number", "write it with digits and a point, such as 0.25"
		}
		v.SetFloat(number)
	case is[[]core.Person](v.Type()): // from the environment
		var people []core.Person
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				people = append(people, core.Person(part))
			}
		}
		v.Set(reflect.ValueOf(people))
	default:
		v.SetString(text)
	}
	return "", ""
}
