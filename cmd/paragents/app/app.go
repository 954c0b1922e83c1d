// Package app puts Paragents together from the configuration: store, agent, scheduler, bot and adapters. It decides nothing else.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"paragents/bot"
	"paragents/bot/attend"
	"paragents/bot/screen"
	"paragents/bot/setting"
	"paragents/cmd/paragents/config"
	"paragents/cmd/paragents/metric"
	"paragents/core"
	"paragents/core/access"
	"paragents/core/agent"
	"paragents/core/fleet"
	"paragents/core/janitor"
	"paragents/core/llm"
	"paragents/core/llm/demo"
	"paragents/core/llm/openai"
	"paragents/core/policy"
	"paragents/core/policy/redact"
	"paragents/core/sandbox"
	"paragents/core/scheduler"
	"paragents/core/state"
	"paragents/core/tool"
	"paragents/core/tool/command"
	"paragents/core/tool/file"
	"paragents/core/worktree"
	"paragents/store"
	"paragents/store/local"
	"paragents/store/redis"
)

// Setup is what every subcommand is given.
type Setup struct {
	ConfigPath string
	Version    string
	Stderr     io.Writer
	Level      slog.Level
	JSON       bool // log lines as JSON
}

// Load reads the configuration and prints its warnings.
func (s *Setup) Load() (*config.Config, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	userDir, err := os.UserConfigDir()
	if err != nil {
		userDir = "" // no home: no configuration there
	}
	cfg, warnings, err := config.Load(config.Options{Path: s.ConfigPath, Dir: dir, Environ: os.Environ(), UserConfigDir: userDir,
		Confirmed: confirmed, CheckRule: func(rule string) error { _, err := policy.ParseRule(rule); return err }})
	for _, w := range warnings {
		if w.Key == "llm" && !s.JSON { // the demo model says itself that it is one
			continue
		}
		fmt.Fprintln(s.Stderr, "paragents: warning:", w)
	}
	return cfg, err
}

// Logger writes to Stderr: JSON lines for a service, short lines for a person.
func (s *Setup) Logger() *slog.Logger {
	opts := &slog.HandlerOptions{Level: s.Level}
	if s.JSON {
		return slog.New(slog.NewJSONHandler(s.Stderr, opts))
	}
	return slog.New(slog.NewTextHandler(s.Stderr, opts))
}

// Store opens the configured store.
func (s *Setup) Store(ctx context.Context, cfg *config.Config, log *slog.Logger) (store.Store, string, error) {
	address := cfg.Store.Address()
	path, isFile := strings.CutPrefix(address, "file:")
	if address != "" && !isFile {
		st, err := redis.Open(ctx, redis.Config{URL: address, SentinelUsername: cfg.Store.SentinelUsername, SentinelPassword: cfg.Store.SentinelPassword.Reveal(),
			Prefix: cfg.Store.Prefix, MinReplicas: cfg.Store.MinReplicas, Logger: log})
		if err != nil {
			return nil, "", err
		}
		for _, w := range st.Warnings(ctx) {
			fmt.Fprintln(s.Stderr, "paragents: warning:", w)
		}
		return st, "", nil
	}
	if !isFile {
		var err error
		if path, err = local.DefaultPath(cfg.Path()); err != nil {
			return nil, "", err
		}
	}
	st, err := local.Open(ctx, local.Config{Path: strings.TrimPrefix(path, "//"), Logger: log})
	if err != nil {
		return nil, "", err
	}
	return st, path, nil
}

// App is everything together.
type App struct {
	Config    *config.Config
	Store     store.Store
	Scheduler *scheduler.Scheduler
	Screen    *screen.Screen
	Desk      *bot.Desk
	Adapters  []core.Adapter
	Log       *slog.Logger
	sandbox   *sandbox.Runner
	meter     *metric.Meter
	premises  *premises
	janitor   *janitor.Janitor
	attendant *attend.Attendant
}

// Options say how the parts are put together for one subcommand.
type Options struct {
	Adapters []core.Adapter
	Reaches  func(core.Place) bool
	Serve    []string // only these workspaces; empty: all
	// Admins are people who are admins whatever the configuration says: whoever has the machine's files has that.
	Admins []core.Person
	// Courier and Progress replace the screen's, for runs that have no place.
	Courier  scheduler.Courier
	Progress func(core.Letter)
}

// New puts the parts together around an open store. path is the state file, if there is one.
func (s *Setup) New(cfg *config.Config, st store.Store, path string, log *slog.Logger, o Options) (*App, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	model, isDemo, err := newModel(cfg, log)
	if err != nil {
		return nil, err
	}
	meter := metric.New()
	model, counted := meter.Model(model), meter.Store(st)
	spaces, shown, err := workspaces(cfg, o.Serve...)
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	commands := cfg.Limits.MaxCommands
	if commands == 0 {
		commands = 2 * runtime.NumCPU()
	}
	var alive *os.File
	if l, ok := st.(*local.Store); ok {
		alive = l.Alive()
	}
	forecast, err := newForecast(cfg, meter, log)
	if err != nil {
		return nil, err
	}
	runner := sandbox.New(sandbox.Config{Exe: exe, Lease: cfg.Lease, Alive: alive, Log: log})
	git := worktree.New(runner)
	ag := agent.New(agent.Config{Git: git, Model: model, Forecast: forecast, Tools: Tools(), Workspaces: spaces, Managed: policy.Layer{Name: "managed", Deny: cfg.Rules.Deny,
		Ask: cfg.Rules.Ask, Allow: cfg.Rules.Allow}, Protected: protected(cfg, path), Sandbox: runner, Fetch: fetcher(o.Adapters), History: historian(o.Adapters), Redact: redactor(cfg).String, Home: home, MaxCommands: commands,
		Limits: agent.Limits{Turns: cfg.Limits.Turns, Time: cfg.Limits.Time, Tokens: int64(cfg.Limits.Tokens.Prompt),
			Money: cfg.Limits.Money.Prompt, Price: dearest(cfg)}, Logger: log})
	rights := rights(cfg, o.Admins)
	premises := newPremises(st, path != "", spaces, log)
	terms := func() fleet.Terms { return terms(cfg, premises.served(), o.Adapters) }
	a := &App{premises: premises, Config: cfg, Store: st, Adapters: o.Adapters, Log: log, sandbox: runner, meter: meter}
	rights.Others = func(platform string) []access.Access { return granted(a.Scheduler.Others(platform)) }
	screen, desk := bot.New(setting.Config{Git: git, Store: counted, Adapters: o.Adapters, Access: rights,
		Workspaces: shown, At: at(cfg), Notify: cfg.Approvals.Notify, Demo: isDemo, Redact: redactor(cfg).String, Logger: log,
		Explain: func(workspace string, stored []state.StoredRule, call string) (string, error) {
			return Explain(cfg, workspace, stored, call)
		},
		Settings: func() string { return config.Show(cfg) }})
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	sc := scheduler.Config{Store: counted, Agent: ag, Courier: o.Courier, Progress: o.Progress, Lease: cfg.Lease, Grace: cfg.ShutdownGrace,
		MaxInFlight: cfg.Limits.MaxInFlight, MaxQueue: cfg.Limits.MaxQueue, MaxPerPerson: cfg.Limits.MaxPerPerson, MaxPerWorkspace: cfg.Limits.MaxPerWorkspace,
		Expire: cfg.Approvals.Expire, Remind: remind(cfg), Serves: premises.serves, Reaches: o.Reaches,
		Copies: screen.Copies, Foresee: ag.Foresee, Conflicts: conflicts(cfg), Isolated: isolated(cfg), Fold: folds(spaces), Beat: runner.Beat, Lost: runner.KillAll, Terms: terms, Host: host, Version: s.Version, Logger: log}
	if sc.Courier == nil {
		sc.Courier, sc.Progress = screen.Courier(), screen.Progress
	}
	a.Scheduler, a.Screen, a.Desk = scheduler.New(sc), screen, desk
	desk.Serve(a.Scheduler)
	a.attendant = attend.New(attend.Config{Store: counted, Scheduler: a.Scheduler, Accept: desk.Accept, Logger: log})
	a.janitor = janitor.New(janitor.Config{Store: counted, Git: git, Serves: premises.dirs, Alone: a.Scheduler.Alone, Logger: log})
	return a, nil
}

// protected are the paths that no tool may touch: the configuration, the folder of the state file, and the file that audit entries go to, if there are such.
func protected(cfg *config.Config, state string) []string {
	paths := slices.Clone(cfg.Files())
	if cfg.Path() != "" {
		paths = append(paths, cfg.Path())
	}
	if state != "" {
		paths = append(paths, filepath.Dir(state))
	}
	if file := sinkFile(cfg); file != "" {
		paths = append(paths, file)
	}
	return paths
}

// redactor knows every secret of the configuration.
func redactor(cfg *config.Config) *redact.Redactor {
	secrets := map[string]string{}
	for i, s := range cfg.Secrets() {
		secrets[fmt.Sprintf("SECRET%d", i+1)] = s
	}
	return redact.New(secrets)
}

// fetcher opens attachments through the adapter of their place.
func fetcher(adapters []core.Adapter) func(context.Context, core.Place, core.Attachment) (io.ReadCloser, error) {
	return func(ctx context.Context, p core.Place, a core.Attachment) (io.ReadCloser, error) {
		for _, ad := range adapters {
			if ad.Capabilities().Platform == p.Platform {
				return ad.Fetch(ctx, p, a)
			}
		}
		return nil, fmt.Errorf("fetch attachment: this replica does not speak to %s", p.Platform)
	}
}

// historian reads earlier messages through the adapter of their place, if it can.
func historian(adapters []core.Adapter) func(context.Context, core.Place, string, int) ([]core.Inbound, bool, error) {
	return func(ctx context.Context, p core.Place, before string, n int) ([]core.Inbound, bool, error) {
		for _, ad := range adapters {
			if h, ok := ad.(core.Historian); ok && ad.Capabilities().Platform == p.Platform {
				return h.History(ctx, p, before, n)
			}
		}
		return nil, false, nil
	}
}

// Close ends what is left of the commands.
func (a *App) Close() { a.sandbox.KillAll() }

// Tools are all tools there are; a workspace's capabilities say which are offered.
func Tools() []tool.Tool { return append(file.Tools(), command.Tools()...) }

// newModel makes the configured model.
func newModel(cfg *config.Config, log *slog.Logger) (m llm.Model, isDemo bool, err error) {
	if cfg.LLM.Provider == "demo" {
		return demo.New(), true, nil
	}
	providers := []openai.Provider{{BaseURL: cfg.LLM.BaseURL.Reveal(), APIKey: cfg.LLM.APIKey.Reveal(), Model: cfg.LLM.Model}}
	for _, f := range cfg.LLM.Fallbacks {
		providers = append(providers, openai.Provider{BaseURL: f.BaseURL.Reveal(), APIKey: f.APIKey.Reveal(), Model: f.Model})
	}
	m, err = openai.New(openai.Config{Providers: providers, Logger: log})
	return m, false, err
}

// newForecast makes the model that is asked what a prompt will write; nil: none is configured.
func newForecast(cfg *config.Config, meter *metric.Meter, log *slog.Logger) (llm.Model, error) {
	if cfg.LLM.Preflight == "" || cfg.LLM.Provider == "demo" {
		return nil, nil
	}
	m, err := openai.New(openai.Config{Providers: []openai.Provider{{BaseURL: cfg.LLM.BaseURL.Reveal(), APIKey: cfg.LLM.APIKey.Reveal(), Model: cfg.LLM.Preflight}}, Logger: log})
	if err != nil {
		return nil, err
	}
	return meter.Model(m), nil
}

// workspaces are the configured directories, for the agent, and for people. Of those that are not to be served here the directory is not looked at.
func workspaces(cfg *config.Config, only ...string) ([]agent.Workspace, []setting.Workspace, error) {
	for _, name := range only {
		if !slices.ContainsFunc(cfg.Workspaces, func(w config.Workspace) bool { return w.Name == name }) {
			return nil, nil, fmt.Errorf("serve %s: there is no such workspace in the configuration", name)
		}
	}
	var spaces []agent.Workspace
	var shown []setting.Workspace
	for _, w := range cfg.Workspaces {
		dir, err := filepath.Abs(w.Path)
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		served := len(only) == 0 || slices.Contains(only, w.Name)
		if err != nil && served {
			return nil, nil, fmt.Errorf("workspace %s: %w; make the directory, or correct its path", w.Name, err)
		}
		if w.Sandbox == "require" && w.Capabilities.Shell {
			return nil, nil, fmt.Errorf("workspace %s: sandbox is require, and this version cannot confine commands; set sandbox: auto to run them by the rules alone, or capabilities.shell: false", w.Name)
		}
		caps := map[string]bool{"filesystem": w.Capabilities.Filesystem, "shell": w.Capabilities.Shell}
		var names []string
		for name, on := range caps {
			if on {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if served {
			spaces = append(spaces, agent.Workspace{Name: w.Name, Dir: dir, Capabilities: caps,
				Rules: policy.Layer{Name: "workspace", Deny: w.Rules.Deny, Ask: w.Rules.Ask, Allow: w.Rules.Allow}})
		}
		shown = append(shown, setting.Workspace{Name: w.Name, Dir: dir, Capabilities: names, Deny: append(slices.Clone(cfg.Rules.Deny), w.Rules.Deny...),
			Ask: append(slices.Clone(cfg.Rules.Ask), w.Rules.Ask...), Allow: append(slices.Clone(cfg.Rules.Allow), w.Rules.Allow...), Busy: w.Busy})
	}
	return spaces, shown, nil
}

// grants are the configured roles.
func grants(cfg *config.Config) access.Grants {
	roles := func(viewers, operators, approvers, admins []core.Person) access.Roles {
		r := access.Roles{}
		for role, people := range map[access.Role][]core.Person{access.Viewer: viewers, access.Operator: operators, access.Approver: approvers, access.Admin: admins} {
			for _, p := range people {
				r[p] = max(r[p], role)
			}
		}
		return r
	}
	c := cfg.Access
	g := access.Grants{Everywhere: roles(c.Viewers, c.Operators, c.Approvers, c.Admins), Places: map[string]access.Roles{}}
	for key, p := range c.Places {
		if place, err := config.ParsePlace(key); err == nil { // checked when it was loaded
			g.Places[access.PlaceKey(place)] = roles(p.Viewers, p.Operators, p.Approvers, p.Admins)
		}
	}
	return g
}

// at says what the configuration has for a place.
func at(cfg *config.Config) func(core.Place) (string, string) {
	places := map[string]config.PlaceAccess{}
	for key, p := range cfg.Access.Places {
		if place, err := config.ParsePlace(key); err == nil {
			places[access.PlaceKey(place)] = p
		}
	}
	return func(p core.Place) (string, string) {
		c := places[access.PlaceKey(p)]
		return c.Workspace, c.ThreadReplies
	}
}

// Me is the person at this terminal: user@host.
func Me() core.Person {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	if name == "" {
		name = "somebody"
	}
	return core.Person("terminal:" + name + "@" + host)
}

// Settle waits until no session of a person's has anything to run or to say, at most limit.
func (a *App) Settle(ctx context.Context, who core.Person, limit time.Duration) error {
	end := time.After(limit)
	for {
		busy, err := a.Scheduler.Busy(ctx, who)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil && !busy {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-end:
			return errors.Join(err, fmt.Errorf("still at work after %s; it goes on when the terminal is started again", limit))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
