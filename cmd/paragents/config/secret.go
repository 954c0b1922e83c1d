package config

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
)

const hidden = "[hidden]"

// Secret is a text that no way of printing shows; only Reveal does. The zero Secret is "not set", and prints as nothing.
type Secret struct{ text string }

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal is the text itself, for whoever has to present it.
func (s Secret) Reveal() string { return s.text }

func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return hidden
}

// Format hides the text from every verb, %d and %#v too.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) } //nolint:errcheck // a fmt.State keeps its own error

// MarshalText hides the text from JSON, YAML and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides the text from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// URL is an address that may carry a password. Printed in any way, the password and every query value that could be one are replaced.
type URL string

// Reveal is the address with its password.
func (u URL) Reveal() string { return string(u) }

func (u URL) String() string {
	p := u.split()
	out := p.head
	if p.hasPassword {
		out += ":" + hidden
	}
	out += p.host
	for i, pair := range p.query {
		if key, _, ok := strings.Cut(pair, "="); ok && secretParameter(key) {
			pair = key + "=" + hidden
		}
		out += string("?&"[min(i, 1)]) + pair
	}
	return out
}

// parts of an address: head is the scheme and the user's name, host all from the @ on, without the query.
type parts struct {
	head, password, host string
	hasPassword          bool
	query                []string
}

// split goes by hand: the lists of hosts in addresses of Sentinel and Cluster are none for net/url, and a password that was written without
// escapes has to be found too, so everything up to the last @ is taken for it.
func (u URL) split() (p parts) {
	rest := string(u)
	if strings.HasPrefix(rest, "file:") {
		return parts{head: rest}
	}
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		p.head, rest = scheme+"://", after
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		var name string
		name, p.password, p.hasPassword = strings.Cut(rest[:at], ":")
		p.head += name
		rest = rest[at:]
	}
	host, query, ok := strings.Cut(rest, "?")
	p.host = host
	if ok {
		p.query = strings.Split(query, "&")
	}
	return p
}

// Format hides the password from every verb.
func (u URL) Format(f fmt.State, _ rune) { io.WriteString(f, u.String()) } //nolint:errcheck // a fmt.State keeps its own error

// MarshalText hides the password from JSON, YAML and the like.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// LogValue hides the password from slog.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

func secretParameter(key string) bool {
	key = strings.ToLower(key)
	for _, word := range []string{"pass", "secret", "token", "key"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}

// passwords are the secrets in the address, as written and as meant.
func (u URL) passwords() []string {
	p := u.split()
	written := []string{p.password}
	for _, pair := range p.query {
		if key, value, _ := strings.Cut(pair, "="); secretParameter(key) {
			written = append(written, value)
		}
	}
	var found []string
	for _, s := range written {
		if s == "" {
			continue
		}
		found = append(found, s)
		if plain, err := url.PathUnescape(s); err == nil && plain != s {
			found = append(found, plain)
		}
	}
	return found
}

// Secrets are all configured secrets in plain text, passwords in addresses too, for whoever keeps them out of chats and logs.
func (c *Config) Secrets() []string {
	var list []string
	walk(reflect.ValueOf(c).Elem(), "", field{}, func(v reflect.Value, _ string, _ field) {
		switch value := v.Interface().(type) {
		case Secret:
			if value.Reveal() != "" {
				list = append(list, value.Reveal())
			}
		case URL:
			list = append(list, value.passwords()...)
		}
	})
	return list
}
