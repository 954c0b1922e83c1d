package policy

import (
	"fmt"
	"strings"

	"paragents/core/policy/command"
	"paragents/core/policy/files"
	"paragents/core/policy/web"
)

// Rule is one parsed rule, Tool or Tool(pattern).
type Rule struct {
	Tool    string // Edit is read as Write
	Pattern string // empty for every use of the tool

	bash command.Pattern
	path files.Pattern
	url  web.Pattern
	mcp  [2]string // server, tool
}

// String returns the rule as it is written.
func (r Rule) String() string {
	if r.Pattern == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Pattern + ")"
}

// ParseRule reads a rule. The error names the rule and what is expected.
func ParseRule(text string) (Rule, error) {
	table, err := command.Load()
	if err != nil {
		return Rule{}, err
	}
	return (&Policy{table: table}).parse(text)
}

func (p *Policy) parse(text string) (Rule, error) {
	r := Rule{Tool: strings.TrimSpace(text)}
	if tool, rest, ok := strings.Cut(r.Tool, "("); ok {
		pattern, closed := strings.CutSuffix(rest, ")")
		if !closed || strings.TrimSpace(pattern) == "" {
			return Rule{}, fmt.Errorf("parse rule %q: want Tool or Tool(pattern)", text)
		}
		r.Tool, r.Pattern = tool, pattern
	}
	if r.Pattern == "*" {
		r.Pattern = ""
	}
	if r.Tool == "Edit" {
		r.Tool = "Write"
	}
	if !toolName(r.Tool) || strings.ContainsFunc(r.Pattern, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return Rule{}, fmt.Errorf("parse rule %q: want Tool or Tool(pattern)", text)
	}
	var err error
	switch r.Tool {
	case "Bash":
		r.bash, err = p.table.ParsePattern(r.Pattern)
	case "Read", "Write":
		r.path = files.ParsePattern(r.Pattern)
	case "WebFetch":
		r.url, err = web.ParsePattern(r.Pattern)
	case "MCP":
		r.mcp, err = parseMCP(r.Pattern)
	default:
		if r.Pattern != "" {
			err = fmt.Errorf("the tool %s takes no pattern", r.Tool)
		}
	}
	if err != nil {
		return Rule{}, fmt.Errorf("parse rule %q: %w", text, err)
	}
	return r, nil
}

func toolName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	return name != "" && strings.Trim(name, letters) == ""
}

// parseMCP reads server, server:tool or *, with stars within names.
func parseMCP(pattern string) ([2]string, error) {
	if pattern == "" {
		return [2]string{"*", "*"}, nil
	}
	server, tool, ok := strings.Cut(pattern, ":")
	if !ok {
		tool = "*"
	}
	if !toolName(strings.ReplaceAll(server, "*", "x")) || !toolName(strings.ReplaceAll(tool, "*", "x")) {
		return [2]string{}, fmt.Errorf("want server or server:tool, of letters, digits, _ - . and *")
	}
	return [2]string{server, tool}, nil
}
