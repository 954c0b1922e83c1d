package phrase

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"paragents/core"
)

// Called is how people know a person: by the name that the platform shows, which may change hands, and by the id, which does not.
func Called(ctx context.Context, adapter core.Adapter, p core.Person) string {
	if n, ok := adapter.(core.Namer); ok && p != "" {
		if name := n.Called(ctx, p); name != "" {
			return name + " (" + p.ID() + ")"
		}
	}
	return p.ID()
}

func Owners(list []core.Rival) string {
	names := make([]string, len(list))
	for i, o := range list {
		names[i] = Code(string(o.Session)) + " " + Escape(o.Title)
	}
	return strings.Join(names, ", ")
}

func Sessions(refs []core.Ref) string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = Code(string(r))
	}
	return strings.Join(names, ", ")
}

// Trim takes the sentinel's word off the front of an error that is meant for people.
func Trim(err error) string {
	text := err.Error()
	for _, s := range []error{core.ErrRefused, core.ErrForbidden, core.ErrDecided, core.ErrNotFound} {
		text = strings.TrimPrefix(text, s.Error()+": ")
	}
	return text
}

// Plain is named for errors, whose markup is made literal.
func Plain(s core.Session) string { return string(s.Ref) + " " + s.Title }

// Named is a session as people read it: its ref and its title, always together.
func Named(s core.Session) string { return Code(string(s.Ref)) + " " + Escape(s.Title) }

// Old is an age as people say it.
func Old(d time.Duration) string {
	if d < 2*time.Hour {
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	}
	return fmt.Sprintf("%d hours", int(d.Hours()))
}

// Person is how a person is named in messages: by their own id.
func Person(p core.Person) string {
	if p == "" {
		return "nobody"
	}
	if !strings.Contains(string(p), ":") {
		return Escape(string(p))
	}
	return Escape(p.ID())
}

// Personal reports whether an error is an answer to the person, and not a failure.
func Personal(err error) bool {
	return errors.Is(err, core.ErrRefused) || errors.Is(err, core.ErrForbidden) || errors.Is(err, core.ErrDecided) || errors.Is(err, core.ErrNotFound)
}

func Files(paths []string) string {
	const most = 5
	rest := ""
	if len(paths) > most {
		rest = fmt.Sprintf(More, len(paths)-most)
		paths = paths[:most]
	}
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = Code(p)
	}
	return strings.Join(quoted, ", ") + rest
}

// Ago is an age in one unit.
func Ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Count is a number of things.
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
