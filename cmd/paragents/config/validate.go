package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// validation collects what Validate finds.
type validation struct {
	c        *Config
	problems Problems
	warnings []Warning
}

func (v *validation) fail(key, text, hint string) {
	v.problems = append(v.problems, &Problem{Source: v.c.meta.source(key), Key: key, Text: text, Hint: hint})
}

func (v *validation) warn(key, text, hint string) {
	v.warnings = append(v.warnings, Warning{Source: v.c.meta.source(key), Key: key, Text: text, Hint: hint})
}

// missing reports a setting that another one needs.
func (v *validation) missing(key, why string) {
	v.problems = append(v.problems, &Problem{Key: key, Text: "is missing" + v.c.meta.because(key) + ": " + why})
}

// Validate says everything that is wrong with the configuration, as Problems, before anything connects. It looks at the directories of the
// workspaces and at nothing else outside. checkRule says what is wrong with a rule; nil: rules are not looked at. Load calls it; whoever
// changes a configuration afterwards calls it again.
func (c *Config) Validate(checkRule func(rule string) error) ([]Warning, error) {
	v := &validation{c: c}
	walk(reflect.ValueOf(c).Elem(), "", field{}, v.tags)
	v.llm()
	v.store()
	v.audit()
	v.workspaces()
	v.platforms()
	v.access()
	v.rules("rules", c.Rules, checkRule)
	for i, w := range c.Workspaces {
		v.rules(at("workspaces", i)+".rules", w.Rules, checkRule)
	}
	if c.Listen != "" {
		if _, port, err := net.SplitHostPort(c.Listen); err != nil || !portNumber(port) {
			v.fail("listen", quote(c.Listen)+" is not host:port", "write 127.0.0.1:8484, or :8484 for every interface")
		}
	}
	return v.warnings, v.problems.err()
}

func portNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// tags checks a value against the enum, min and max of its field.
func (v *validation) tags(value reflect.Value, path string, f field) {
	if f.enum != nil && !slices.Contains(f.enum, value.String()) {
		choice := strings.Join(slices.DeleteFunc(slices.Clone(f.enum), func(s string) bool { return s == "" }), ", ")
		hint := ""
		if near := nearest(value.String(), f.enum); near != "" {
			hint = "did you mean " + near + "?"
		}
		v.fail(path, quote(value.String())+" is not one of "+choice, hint)
	}
	below, above := outside(value, f)
	switch {
	case below && f.max != "", above && f.min != "":
		v.fail(path, shown(value)+" is out of range", "from "+f.min+" to "+f.max)
	case below:
		v.fail(path, shown(value)+" is out of range", "at least "+f.min)
	case above:
		v.fail(path, shown(value)+" is out of range", "at most "+f.max)
	}
}

// outside compares a number or a duration with the bounds of its field.
func outside(value reflect.Value, f field) (below, above bool) {
	compare := func(bound string) int {
		limit := reflect.New(value.Type()).Elem()
		if bound == "" {
			return 0
		}
		if wrong, _ := set(limit, bound, field{}); wrong != "" {
			return 0
		}
		if value.CanFloat() {
			return cmp.Compare(value.Float(), limit.Float())
		}
		return cmp.Compare(value.Int(), limit.Int())
	}
	if !value.CanInt() && !value.CanFloat() {
		return false, false
	}
	return compare(f.min) < 0, compare(f.max) > 0
}

// shown is a number or a duration as people write it.
func shown(value reflect.Value) string {
	if d, ok := value.Interface().(time.Duration); ok {
		return duration(d)
	}
	return fmt.Sprint(value.Interface())
}

// duration leaves out the zero units that Go writes.
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func (v *validation) llm() {
	l := v.c.LLM
	v.http("llm.base_url", l.BaseURL, true)
	if l.Model == "" && l.Provider != "demo" {
		v.missing("llm.model", "without it nobody can be asked")
	}
	if l.Preflight != "" && l.Provider == "demo" {
		v.fail("llm.preflight", "is of no use: the demo model foresees nothing", "take it away")
	}
	models := []string{l.Model}
	for i, f := range l.Fallbacks {
		path := at("llm.fallbacks", i)
		v.http(path+".base_url", f.BaseURL, true)
		if f.Model == "" {
			v.fail(path, "has no model", "add model: with the name of one that is there")
		}
		models = append(models, f.Model)
	}
	if v.c.Limits.Money == (MoneyBudget{}) || l.Provider == "demo" {
		return
	}
	slices.Sort(models)
	for _, model := range slices.Compact(models) {
		if _, ok := l.Price[model]; !ok && model != "" {
			v.warn("limits.money", "cannot be counted for "+quote(model)+", which has no price", "add it to llm.price")
		}
	}
}

// http checks an address that may be empty unless it is needed.
func (v *validation) http(key string, address URL, needed bool) {
	if address == "" && !needed {
		return
	}
	u, err := url.Parse(string(address))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		v.fail(key, quote(address.String())+" is not an address", "write it as https://host or https://host/path")
	case u.User != nil:
		v.fail(key, "holds a name or password, which would be seen in logs", "take away everything between // and @")
	}
}

// storeSchemes are the addresses that a store can have.
func storeSchemes() []string {
	return []string{"file", "redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"}
}

// store does not repeat store.url: any of it may be a part of a password.
func (v *validation) store() {
	s := v.c.Store
	scheme, rest, _ := strings.Cut(string(s.URL), ":")
	switch {
	case s.URL == "":
	case !slices.Contains(storeSchemes(), scheme):
		hint := "begin it with file:, redis://, rediss://, redis+sentinel:// or redis+cluster://"
		if near := nearest(scheme, storeSchemes()); near != "" {
			hint = "did you mean " + near + ":?"
		}
		v.fail("store.url", "is not the address of a store", hint)
	case rest == "" || scheme != "file" && (len(rest) < 3 || !strings.HasPrefix(rest, "//")):
		v.fail("store.url", "says no place", "write redis://localhost:6379/0 or file:PATH")
	}
	if s.Password.Reveal() != "" && s.URL.split().password != "" {
		v.fail("store.password", "is given here and in store.url", "keep one of the two")
	}
	if strings.HasPrefix(scheme, "redis") {
		if s.SentinelPassword.Reveal() != "" && !strings.HasSuffix(scheme, "+sentinel") {
			v.fail("store.sentinel_password", "is of no use: store.url names no Sentinels", "begin store.url with redis+sentinel://, or take it away")
		}
	} else if s.MinReplicas > 0 {
		v.fail("store.min_replicas", "needs Redis: a file has no replicas", "set store.url to a Redis, or take it away")
	}
	if !regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`).MatchString(s.Prefix) {
		v.fail("store.prefix", quote(s.Prefix)+" cannot stand in front of a key", "use up to 64 letters, digits and . _ : -")
	}
}

func (v *validation) audit() {
	sink := string(v.c.Audit.Sink)
	if path, isFile := strings.CutPrefix(sink, "file:"); !isFile {
		v.http("audit.sink", v.c.Audit.Sink, false)
	} else if strings.TrimPrefix(path, "//") == "" {
		v.fail("audit.sink", "names no file", "write file:PATH")
	}
	if v.c.Audit.Token.Reveal() != "" && !strings.HasPrefix(sink, "http") {
		v.fail("audit.token", "is of no use: audit.sink is no http address", "set audit.sink, or take it away")
	}
}

func (v *validation) workspaces() {
	if len(v.c.Workspaces) == 0 {
		v.fail("workspaces", "is empty, and agents need a place to work", "name a directory, or take the key away")
	}
	names := make(map[string]int)
	directories := make([]string, len(v.c.Workspaces)) // "": none
	for i, w := range v.c.Workspaces {
		path := at("workspaces", i)
		first, twice := names[w.Name]
		switch {
		case w.Name == "":
			v.fail(path, "has no name", "add name:")
		case !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`).MatchString(w.Name):
			v.fail(path+".name", quote(w.Name)+" cannot be typed as in:NAME", "use up to 64 letters, digits and . _ -, a letter or digit first")
		case twice:
			v.fail(path+".name", quote(w.Name)+" is also the name of "+at("workspaces", first), "give each its own")
		default:
			names[w.Name] = i
		}
		dir := v.directory(path, w.Path)
		for j, other := range directories[:i] {
			switch {
			case dir == "" || other == "":
			case other == dir:
				v.fail(path+".path", "is the directory of "+at("workspaces", j)+" too", "one directory is one workspace")
			case within(dir, other), within(other, dir):
				v.warn(path+".path", "overlaps with "+at("workspaces", j)+": sessions of one do not see what those of the other are writing", "")
			}
		}
		directories[i] = dir
	}
}

// directory is where the path of a workspace leads; "" when it is no directory.
func (v *validation) directory(workspace, path string) string {
	key := workspace + ".path"
	switch info, err := os.Stat(path); {
	case path == "":
		v.fail(workspace, "has no path", "add path: with its directory")
	case strings.HasPrefix(path, "~"):
		v.fail(key, "~ is for shells only", "write ${HOME}"+path[1:])
	case err != nil:
		v.fail(key, fmt.Sprintf("%s: %v", strconv.Quote(path), bare(err)), "make the directory, or correct the path")
	case !info.IsDir():
		v.fail(key, strconv.Quote(path)+" is not a directory", "name the directory that agents work in")
	default:
		if dir, err := filepath.EvalSymlinks(path); err == nil {
			return dir
		}
		return filepath.Clean(path)
	}
	return ""
}

func within(inner, outer string) bool {
	rel, err := filepath.Rel(outer, inner)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func (v *validation) rules(path string, r Rules, check func(string) error) {
	if check == nil {
		return
	}
	lists := []struct {
		name  string
		rules []string
	}{{"deny", r.Deny}, {"ask", r.Ask}, {"allow", r.Allow}}
	for _, list := range lists {
		for i, rule := range list.rules {
			if err := check(rule); err != nil {
				v.fail(at(join(path, list.name), i), quote(rule)+": "+err.Error(), "")
			}
		}
	}
}

func (v *validation) platforms() {
	s, d, t := v.c.Slack, v.c.Discord, v.c.Telegram
	v.http("slack.api_url", s.APIURL, false)
	v.http("discord.api_url", d.APIURL, false)
	v.http("telegram.api_url", t.APIURL, false)
	v.http("telegram.webhook_url", t.WebhookURL, false)
	if strings.HasPrefix(s.BotToken.Reveal(), "xapp-") {
		v.fail("slack.bot_token", "is an app-level token", "it belongs to slack.app_token; the bot token begins with xoxb-")
	}
	if strings.HasPrefix(s.AppToken.Reveal(), "xoxb-") {
		v.fail("slack.app_token", "is a bot token", "it belongs to slack.bot_token; the app-level token begins with xapp-")
	}
	switch set := func(s Secret) bool { return s.Reveal() != "" }; {
	case !set(s.BotToken):
		if set(s.AppToken) || set(s.SigningSecret) {
			v.missing("slack.bot_token", "without it Slack stays off, although other secrets of it are set")
		}
	case s.Mode == "socket" && !set(s.AppToken):
		v.missing("slack.app_token", "slack.mode socket connects with it")
	case s.Mode == "http" && !set(s.SigningSecret):
		v.missing("slack.signing_secret", "slack.mode http checks with it who calls")
	}
	if d.PublicKey != "" && !regexp.MustCompile(`^[0-9a-fA-F]{64}$`).MatchString(d.PublicKey) {
		v.fail("discord.public_key", quote(d.PublicKey)+" is not a public key", "it has 64 hex digits, and stands on the application's page")
	}
	if d.ApplicationID != "" && !digits(d.ApplicationID) {
		v.fail("discord.application_id", quote(d.ApplicationID)+" is not an id", "it has digits only, and stands on the application's page")
	}
	if token := t.SecretToken.Reveal(); token != "" && !regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`).MatchString(token) {
		v.fail("telegram.secret_token", "has characters that Telegram does not take", "use 1 to 256 of A-Z a-z 0-9 _ -")
	}
	if t.BotToken.Reveal() != "" && t.Mode == "webhook" {
		if t.WebhookURL == "" {
			v.missing("telegram.webhook_url", "telegram.mode webhook tells Telegram to call it")
		}
		if t.SecretToken.Reveal() == "" {
			v.missing("telegram.secret_token", "telegram.mode webhook checks with it who calls")
		}
		if v.c.Listen == "" {
			v.missing("listen", "telegram.mode webhook is called there")
		}
	}
	if s.BotToken.Reveal() != "" && s.Mode == "http" && v.c.Listen == "" {
		v.missing("listen", "slack.mode http is called there")
	}
}
