// Package config is the configuration of Paragents: one documented struct, its defaults, and what reads, checks, describes and shows it.
//
// A value comes from the defaults, then from a file, then from the environment, and the configuration knows which of them it was. Load
// reads and checks everything before anything connects, and reports all mistakes at once, each with file, line, key and a next step.
package config

import (
	"net/url"
	"strings"
	"time"

	"paragents/core"
)

// Config is the whole configuration. The doc tags are what the JSON Schema says; the enum, min and max tags are what Validate accepts.
// Durations are written with a unit (15s, 30m, 168h). A Secret "x" can also be given as "x_file", the name of a file that holds it.
type Config struct {
	LLM        LLM         `yaml:"llm" doc:"The language model that agents think with."`
	Store      Store       `yaml:"store" doc:"Where sessions, approvals and everything else that must survive is kept."`
	Workspaces []Workspace `yaml:"workspaces" doc:"The directories that agents work in. None given: one, default, in the current directory."`
	Rules      Rules       `yaml:"rules" doc:"The operator's rules, for every workspace; nothing else lifts what is denied or asked here."`
	Slack      Slack       `yaml:"slack" doc:"Slack; off without bot_token."`
	Discord    Discord     `yaml:"discord" doc:"Discord; off without bot_token."`
	Telegram   Telegram    `yaml:"telegram" doc:"Telegram; off without bot_token."`
	Access     Access      `yaml:"access" doc:"Who may do what. People are ids, never names: telegram:123, discord:123, slack:T0AB/U0CD, terminal:user@host; slack:* is everyone there."`
	Approvals  Approvals   `yaml:"approvals" doc:"How long a question waits, and who may answer it."`
	Audit      Audit       `yaml:"audit" doc:"The record of what was asked, decided and run is kept in the store for 400 days."`
	Limits     Limits      `yaml:"limits" doc:"Upper bounds. Reaching one of a prompt's asks a person whether to go on."`

	Lease         time.Duration `yaml:"lease" min:"6s" max:"5m" doc:"How long a replica that fell silent keeps its sessions; renewed three times in that time. The same on all replicas."`
	ShutdownGrace time.Duration `yaml:"shutdown_grace" max:"10m" doc:"How long running prompts get to reach a safe point when the process is told to stop."`
	Listen        string        `yaml:"listen" doc:"host:port for webhooks, /metrics, /healthz and /readyz; empty: none."`

	meta meta
}

// LLM is the section llm.
type LLM struct {
	BaseURL   URL              `yaml:"base_url" doc:"Address of an OpenAI-compatible endpoint."`
	APIKey    Secret           `yaml:"api_key" doc:"Key for base_url. Not set: OPENAI_API_KEY, if base_url is OpenAI's own."`
	Model     string           `yaml:"model" doc:"Model to ask."`
	Provider  string           `yaml:"provider" enum:"|openai|demo" doc:"openai asks base_url; demo is built in and needs no network. Empty: openai when there is a key or another base_url, else demo."`
	Preflight string           `yaml:"preflight" doc:"Cheap model at base_url that is asked once a prompt which files it will write, before it begins; empty: only the text is read."`
	Fallbacks []Fallback       `yaml:"fallbacks" doc:"Endpoints to ask next, in order, when the one before cannot answer."`
	Price     map[string]Price `yaml:"price" doc:"What a model costs, by its name; needed to count money."`
}

// Fallback is one entry of llm.fallbacks.
type Fallback struct {
	BaseURL URL    `yaml:"base_url" doc:"Address of an OpenAI-compatible endpoint."`
	APIKey  Secret `yaml:"api_key" doc:"Key for this endpoint."`
	Model   string `yaml:"model" doc:"Model to ask there."`
}

// Price is what a model costs, in any one currency.
type Price struct {
	In     float64 `yaml:"in" min:"0" doc:"Money per million tokens sent."`
	Out    float64 `yaml:"out" min:"0" doc:"Money per million tokens received."`
	Cached float64 `yaml:"cached" min:"0" doc:"Money per million tokens sent that the provider had in its cache."`
}

// Store is the section store.
type Store struct {
	URL              URL    `yaml:"url" doc:"file:PATH, redis://, rediss://, redis+sentinel:// or redis+cluster://. Empty: a file in the user's state folder."`
	Password         Secret `yaml:"password" doc:"Password of the Redis data nodes, unless it stands in url."`
	SentinelUsername string `yaml:"sentinel_username" doc:"User name at the Sentinels; empty: none."`
	SentinelPassword Secret `yaml:"sentinel_password" doc:"Password of the Sentinels, which is not the one of the data nodes."`
	MinReplicas      int    `yaml:"min_replicas" min:"0" max:"16" doc:"Redis replicas that must have a write before anything is done on the strength of it; 0: none. Set it to all that a primary has if a fail-over is to lose nothing."`
	Prefix           string `yaml:"prefix" doc:"Name of this deployment in a Redis that it shares: in front of every key."`
}

// Address is store.url with store.password in it, in plain text, for whoever connects.
func (s Store) Address() string {
	head := s.URL.split().head
	if s.Password.Reveal() == "" || head == "" || strings.HasPrefix(head, "file:") {
		return string(s.URL)
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(string(s.URL), head), ":"), "@")
	return head + ":" + url.PathEscape(s.Password.Reveal()) + "@" + rest
}

// Workspace is one entry of workspaces.
type Workspace struct {
	Name         string       `yaml:"name" doc:"What people call it: letters, digits, '.', '_' and '-'."`
	Path         string       `yaml:"path" doc:"Its directory; a relative one starts at the current directory."`
	Capabilities Capabilities `yaml:"capabilities" doc:"What is offered to the model at all. What is off cannot be asked for."`
	Rules        Rules        `yaml:"rules" doc:"Rules for this workspace."`
	Isolation    string       `yaml:"isolation" enum:"shared|worktree" doc:"shared: sessions work in the directory itself; worktree: each in a git worktree of its own."`
	Conflicts    string       `yaml:"conflicts" enum:"ask|wait|override" doc:"What happens to a prompt that would write what another one is writing."`
	Busy         string       `yaml:"busy" enum:"queue|steer|interrupt" doc:"What a message to a session at work does: wait its turn, be told to the model now, or stop what runs."`
	Sandbox      string       `yaml:"sandbox" enum:"auto|require" doc:"auto: commands run confined as far as this version can; require: no start where it cannot."`
}

// Capabilities are switches, one for each group of tools.
type Capabilities struct {
	Filesystem bool `yaml:"filesystem" doc:"Read, search and edit files."`
	Shell      bool `yaml:"shell" doc:"Run commands."`
	Git        bool `yaml:"git" doc:"Git as tools of its own."`
	Python     bool `yaml:"python" doc:"Run Python."`
	GitHub     bool `yaml:"github" doc:"Call the GitHub API."`
	Web        bool `yaml:"web" doc:"Fetch web pages."`
	MCP        bool `yaml:"mcp" doc:"Use MCP servers."`
	Schedule   bool `yaml:"schedule" doc:"Set up prompts that run later."`
	Spawn      bool `yaml:"spawn" doc:"Start sub-agents."`
}

// Rules are the three lists of a layer, in which deny is stronger than ask, and ask than allow. They are taken as written: no ${...} is
// replaced in them. A later file adds to the lists of an earlier one.
type Rules struct {
	Deny  []string `yaml:"deny" doc:"Refused, whoever asks."`
	Ask   []string `yaml:"ask" doc:"A person is asked each time."`
	Allow []string `yaml:"allow" doc:"Runs without a question, unless a deny or ask rule speaks."`
}

// Slack is the section slack.
type Slack struct {
	BotToken      Secret `yaml:"bot_token" doc:"Bot token, xoxb-…"`
	AppToken      Secret `yaml:"app_token" doc:"App-level token, xapp-…; for mode socket."`
	SigningSecret Secret `yaml:"signing_secret" doc:"Signing secret of the app; for mode http."`
	APIURL        URL    `yaml:"api_url" doc:"Other address of the Slack API; empty: Slack's own."`
	Mode          string `yaml:"mode" enum:"socket|http" doc:"socket: the bot connects to Slack; http: Slack calls listen."`
}

// Discord is the section discord.
type Discord struct {
	BotToken      Secret `yaml:"bot_token" doc:"Token of the bot user."`
	ApplicationID string `yaml:"application_id" doc:"Application id, for its commands; empty: asked of Discord."`
	PublicKey     string `yaml:"public_key" doc:"Public key of the application, 64 hex digits; only when Discord calls listen with interactions."`
	APIURL        URL    `yaml:"api_url" doc:"Other address of the Discord API; empty: Discord's own."`
}

// Telegram is the section telegram.
type Telegram struct {
	BotToken    Secret `yaml:"bot_token" doc:"Token from BotFather."`
	APIURL      URL    `yaml:"api_url" doc:"Other address of the Bot API; empty: Telegram's own."`
	Mode        string `yaml:"mode" enum:"polling|webhook" doc:"polling: the bot asks Telegram; webhook: Telegram calls listen."`
	WebhookURL  URL    `yaml:"webhook_url" doc:"Public https address that leads to listen; for mode webhook."`
	SecretToken Secret `yaml:"secret_token" doc:"What Telegram has to say with each call, 1 to 256 of A-Z a-z 0-9 _ -; for mode webhook."`
}

// Access is the section access. Of several roles the highest counts: viewer < operator < approver < admin.
type Access struct {
	Admins    []core.Person          `yaml:"admins" doc:"May do everything, also give rights and store rules."`
	Approvers []core.Person          `yaml:"approvers" doc:"May also decide approvals of others."`
	Operators []core.Person          `yaml:"operators" doc:"May write prompts."`
	Viewers   []core.Person          `yaml:"viewers" doc:"May look."`
	Places    map[string]PlaceAccess `yaml:"places" doc:"What is different in one channel: slack:T0AB/C0EF, discord:GUILD/CHANNEL, telegram:-100123."`
}

// PlaceAccess is one entry of access.places; its key is read by ParsePlace. Its roles are added to those of everywhere.
type PlaceAccess struct {
	Workspace     string        `yaml:"workspace" doc:"Workspace of new sessions here; empty: the first one."`
	Admins        []core.Person `yaml:"admins" doc:"Admins here."`
	Approvers     []core.Person `yaml:"approvers" doc:"Approvers here."`
	Operators     []core.Person `yaml:"operators" doc:"Operators here."`
	Viewers       []core.Person `yaml:"viewers" doc:"Viewers here."`
	ThreadReplies string        `yaml:"thread_replies" enum:"owner|everyone|mention" doc:"Whose messages in a thread are prompts without a mention: the owner's, everyone's, nobody's."`
}

// Approvals is the section approvals.
type Approvals struct {
	Expire     time.Duration `yaml:"expire" min:"1m" max:"8760h" doc:"How long a question waits before it expires; it is never answered by that."`
	ApproveOwn bool          `yaml:"approve_own" doc:"Whether the author of a prompt may approve what it asks for."`
	Notify     string        `yaml:"notify" enum:"thread|dm|channel" doc:"Where a question is shown besides the thread of its prompt: nowhere (thread), to each approver of the place alone, up to ten (dm), in the channel around the thread (channel)."`
	Remind     time.Duration `yaml:"remind" min:"0s" max:"168h" doc:"When a question that waits is brought up again; 0s: never."`
}

// Audit is the section audit.
type Audit struct {
	Sink  URL    `yaml:"sink" doc:"Where each entry is kept too, as a line of JSON: file:PATH, or an http(s) address that lines are posted to, at least once each. Empty: nowhere."`
	Token Secret `yaml:"token" doc:"Bearer token for an http(s) sink."`
}

// Limits is the section limits. Tokens and money: 0 is no limit.
type Limits struct {
	MaxInFlight     int           `yaml:"max_in_flight" min:"1" max:"10000" doc:"Prompts that one replica runs at once."`
	MaxCommands     int           `yaml:"max_commands" min:"0" max:"10000" doc:"Commands that one replica runs at once; 0: twice the number of CPUs."`
	MaxQueue        int           `yaml:"max_queue" min:"1" max:"1000" doc:"Prompts that may wait in one session."`
	MaxPerPerson    int           `yaml:"max_per_person" min:"0" doc:"Prompts of one person that run at once; 0: no limit."`
	MaxPerWorkspace int           `yaml:"max_per_workspace" min:"0" doc:"Prompts of one workspace that run at once; 0: no limit."`
	Turns           int           `yaml:"turns" min:"1" max:"10000" doc:"Times that the model is asked for one prompt."`
	Time            time.Duration `yaml:"time" min:"1s" max:"168h" doc:"How long one prompt may run, waiting for people not counted."`
	Tokens          TokenBudget   `yaml:"tokens" doc:"Tokens, sent and received; 0: no limit."`
	Money           MoneyBudget   `yaml:"money" doc:"Money, counted by llm.price in its currency, at the dearest of the configured models; 0: no limit."`
}

// TokenBudget limits tokens.
type TokenBudget struct {
	Prompt int `yaml:"prompt" min:"0" doc:"For one prompt."`
}

// MoneyBudget limits money.
type MoneyBudget struct {
	Prompt float64 `yaml:"prompt" min:"0" doc:"For one prompt."`
}

// OpenAI is the default of llm.base_url, and the only endpoint that OPENAI_API_KEY is sent to without being asked for.
const OpenAI URL = "https://api.openai.com/v1"

// Default is the configuration of somebody who configured nothing. It depends on nothing, and the caller owns it.
func Default() *Config {
	return &Config{
		LLM:           LLM{BaseURL: OpenAI, Model: "gpt-5-mini"},
		Store:         Store{Prefix: "paragents"},
		Workspaces:    []Workspace{defaultWorkspace("default", ".")},
		Slack:         Slack{Mode: "socket"},
		Telegram:      Telegram{Mode: "polling"},
		Approvals:     Approvals{Expire: 168 * time.Hour, ApproveOwn: true, Notify: "thread", Remind: time.Hour},
		Limits:        Limits{MaxInFlight: 128, MaxQueue: 20, Turns: 50, Time: 30 * time.Minute},
		Lease:         15 * time.Second,
		ShutdownGrace: 30 * time.Second,
		Listen:        "127.0.0.1:8484",
	}
}

func defaultWorkspace(name, path string) Workspace {
	return Workspace{
		Name: name, Path: path,
		Capabilities: Capabilities{Filesystem: true, Shell: true, Git: true},
		Isolation:    "shared", Conflicts: "ask", Busy: "queue", Sandbox: "auto",
	}
}
