package bot_test

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"paragents/core"
	"paragents/core/reader"
	"paragents/core/state"
)

// heard is what the bot has said since the last line, in an order that does not depend on which of two things at one moment came first: by place, what answers a
// person before the news of sessions, and these by session.
func (j *journey) heard() []string {
	j.name()
	said := j.chat.take()
	before := map[string]string{} // the session that the last news at a place were of: further pieces do not say
	for i, h := range said {
		if !h.desk {
			said[i].session = cmp.Or(j.owner(strings.Join(h.lines, "\n")), before[h.place.Key()])
			before[h.place.Key()] = said[i].session
		}
	}
	key := func(h heard) string {
		return fmt.Sprintf("%v %s %v %s", h.place != j.here, h.place.Key(), !h.desk, h.session)
	}
	slices.SortStableFunc(said, func(a, b heard) int { return strings.Compare(key(a), key(b)) })
	var out []string
	for i, h := range said {
		place := placeName(h.place)
		switch {
		case h.what == " edits":
			if next := i + 1; next < len(said) && said[next].what == h.what && said[next].id == h.id && said[next].place == h.place {
				continue // it has changed again before anybody could look
			}
			h.what += " " + j.nums[place+" "+h.id]
		case h.id != "":
			j.count[place]++
			n := fmt.Sprint(j.count[place])
			j.ids[place+" "+n], j.nums[place+" "+h.id] = h.id, n
		}
		for _, line := range h.format(placeName(j.here)) {
			out = append(out, strings.TrimRight(j.plain(line), " "))
		}
	}
	return out
}

// name gives everything that has a random ref a name, in the order in which it was made.
func (j *journey) name() {
	ctx := context.Background()
	s := j.replica
	if s == nil {
		return
	}
	views, err := s.scheduler.List(ctx, state.Sessions, 1000, true)
	if err != nil {
		j.t.Fatal(err)
	}
	slices.SortFunc(views, func(a, b reader.View) int { return a.Session.Created.Compare(b.Session.Created) })
	for _, v := range views {
		session := j.call("S", string(v.Session.Ref), "")
		ids := v.Session.Queue
		if v.Session.Last != "" {
			ids = append([]core.PromptID{v.Session.Last}, ids...)
		}
		for _, id := range ids {
			p, _, err := s.scheduler.Prompt(ctx, id)
			if err != nil {
				j.t.Fatal(err)
			}
			j.call("P", string(p.Ref), session)
			for _, id := range p.Pending {
				a, err := s.scheduler.Approval(ctx, id)
				if err != nil {
					j.t.Fatal(err)
				}
				j.call("A", string(a.Ref), session)
			}
		}
	}
}

// call names a ref, and remembers whose session it belongs to.
func (j *journey) call(kind, ref, session string) string {
	if name, ok := j.names[ref]; ok {
		return name
	}
	j.count[kind]++
	name := fmt.Sprint(kind, j.count[kind])
	j.names[ref], j.refs[name] = name, ref
	j.refs[name+"'s session"] = session
	return name
}

// owner is the session that a text is about.
func (j *journey) owner(text string) string {
	first, at := "", len(text)
	for ref, name := range j.names {
		if i := strings.Index(text, ref); i >= 0 && i < at {
			first, at = name, i
		}
	}
	if s := j.refs[first+"'s session"]; s != "" {
		return s
	}
	return first
}

var (
	pairing = regexp.MustCompile(`paragents pair ([a-z0-9]{8})`)
	random  = []struct {
		is *regexp.Regexp
		as string
	}{
		{regexp.MustCompile(`\d\d:\d\d:\d\d`), "HH:MM:SS"},
		{regexp.MustCompile(`\d{4}-\d\d-\d\d( \d\d:\d\d)?`), "DATE"},
		{regexp.MustCompile(`receipt [0-9a-f]{12}`), "receipt DIGEST"},
		{regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{26}\b`), "ULID"},
		{regexp.MustCompile(`\d+ tokens`), "N tokens"},
		{regexp.MustCompile(`\d+ received`), "N received"},
		{regexp.MustCompile(`digest [0-9a-f]{12}`), "digest DIGEST"},
		{regexp.MustCompile(`· (\d+h)?(\d+m)?[\d.]+m?s\b`), "· TIME"},
	}
)

// plain is a line without what differs from one time to the next.
func (j *journey) plain(line string) string {
	if m := pairing.FindStringSubmatch(line); m != nil {
		j.call("C", m[1], "")
	}
	for ref, name := range j.names {
		line = strings.ReplaceAll(line, ref, name)
	}
	line = strings.ReplaceAll(line, j.dir, "/WORKSPACE")
	for _, r := range random {
		line = r.is.ReplaceAllString(line, r.as)
	}
	return line
}
