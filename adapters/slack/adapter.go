// Package slack connects the bot to Slack, by Socket Mode or by HTTP callbacks.
//
// The client library makes the calls that change something and keeps the socket. What comes in, and what is read, is decoded here from the raw JSON
// into the small types of wire.go: the library refuses whole events for one field that it does not know.
package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	slackapi "github.com/slack-go/slack"

	"paragents/adapters/slack/blockkit"
	"paragents/core"
)

const platform = "slack"

// Limits of ours on the platform.
const (
	publicURL  = "https://slack.com/api/"
	maxAnswer  = 16 << 20         // bytes of an answer to a call
	maxFrame   = 4 << 20          // bytes of one frame on the socket
	maxHook    = 1 << 20          // bytes of one callback
	callWait   = 20 * time.Second // for a call
	uploadWait = 2 * time.Minute
	acceptWait = 10 * time.Second // for making an event durable
	ackWait    = 2 * time.Second  // for a socket to take an acknowledgement
	nameWait   = 300 * time.Millisecond
)

// Modes of receiving.
const (
	Socket = "socket"
	HTTP   = "http"
)

// Config is what an Adapter needs to know.
type Config struct {
	BotToken      string // xoxb-…
	AppToken      string // xapp-…, with connections:write; Socket only
	SigningSecret string // HTTP only
	APIURL        string // of the Web API; default https://slack.com/api/
	Mode          string // Socket (default) or HTTP

	// Silence is how long a socket may go without a ping before it counts as dead and another is opened; default 30 s.
	Silence time.Duration

	// HTTPClient makes all requests but the socket's; default a client of the adapter's own. Its transport has to be net/http's or wrap it: whether
	// a failed request had a connection decides whether a message is sent again.
	HTTPClient *http.Client
	Logger     *slog.Logger // default: nothing is logged
}

// Adapter is one Slack app in one workspace. Its methods may be called from any goroutine.
type Adapter struct {
	cfg   Config
	http  *http.Client
	api   *slackapi.Client
	log   *slog.Logger
	lanes lanes
	names names

	mu     sync.Mutex
	me     *account // nil until auth.test succeeded
	health health

	intakeMu sync.RWMutex
	intake   *intake // set while Receive runs in HTTP mode
}

var (
	_ core.Adapter   = (*Adapter)(nil)
	_ core.Reactor   = (*Adapter)(nil)
	_ core.Answerer  = (*Adapter)(nil)
	_ core.Finder    = (*Adapter)(nil)
	_ core.Threader  = (*Adapter)(nil)
	_ core.Catcher   = (*Adapter)(nil)
	_ core.Director  = (*Adapter)(nil)
	_ core.Checker   = (*Adapter)(nil)
	_ core.Historian = (*Adapter)(nil)
	_ core.Prober    = (*Adapter)(nil)
	_ core.Noter     = (*Adapter)(nil)
)

// New checks the configuration. It opens no connection.
func New(cfg Config) (*Adapter, error) {
	if !strings.HasPrefix(cfg.BotToken, "xoxb-") {
		return nil, errors.New("read slack.bot_token: a bot token begins with xoxb-; it stands on the app's page under OAuth & Permissions")
	}
	switch cfg.Mode {
	case "", Socket:
		cfg.Mode = Socket
		if !strings.HasPrefix(cfg.AppToken, "xapp-") {
			return nil, errors.New("read slack.app_token: an app-level token begins with xapp-; make one with connections:write under Basic Information")
		}
	case HTTP:
		if cfg.SigningSecret == "" {
			return nil, errors.New("read slack.signing_secret: needed for mode http; it stands under Basic Information")
		}
	default:
		return nil, fmt.Errorf("read slack.mode: %q is neither %s nor %s", cfg.Mode, Socket, HTTP)
	}
	if cfg.APIURL == "" {
		cfg.APIURL = publicURL
	}
	cfg.APIURL = strings.TrimRight(cfg.APIURL, "/") + "/"
	if err := checkURL(cfg.APIURL); err != nil {
		return nil, fmt.Errorf("read slack.api_url: %w", err)
	}
	if cfg.Silence <= 0 {
		cfg.Silence = 30 * time.Second
	}
	a := &Adapter{cfg: cfg, http: newClient(cfg.HTTPClient), log: cfg.Logger}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.api = slackapi.New(cfg.BotToken,
		slackapi.OptionAppLevelToken(cfg.AppToken),
		slackapi.OptionAPIURL(cfg.APIURL),
		slackapi.OptionHTTPClient(transport{a.http}),
		slackapi.OptionLog(log.New(io.Discard, "", 0)),
		slackapi.OptionOnWarning(func(path string, _ any, w *slackapi.Warning) {
			a.log.Warn("slack warns", "platform", platform, "method", path, "warnings", w.Codes)
		}),
	)
	return a, nil
}

// checkURL refuses what is no address, and what would send the token over a network in the clear.
func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("must be an address like https://host/api/")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("scheme %q: must be https", u.Scheme)
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "localhost" || ip.IsLoopback() || ip.IsPrivate() {
		return nil
	}
	return fmt.Errorf("host %s is public: must be https", host)
}

// Capabilities implements core.Adapter. Max is the limit of a markdown block.
func (a *Adapter) Capabilities() core.Capabilities {
	return core.Capabilities{
		Platform: platform,
		Dialect:  "slackmarkdown",
		Unit:     "rune",
		Max:      blockkit.MaxMarkdown,
		Threads:  true,
		Buttons:  true,
		Edits:    true,
		Files:    true,
		Whispers: true,
		Slash:    "/paragents ",
		EditRate: 1500 * time.Millisecond,
	}
}

// Sockets says how many Receives may run at a time in this process and over all replicas: Slack allows ten sockets an app, and two here close the gap
// while one is refreshed. In HTTP mode every replica has exactly one, and there is no bound on all: total is 0.
func (a *Adapter) Sockets() (here, total int) {
	if a.cfg.Mode == HTTP {
		return 1, 0
	}
	return 2, 10
}

// account is the bot itself, as the platform knows it.
type account struct {
	Team     string // workspace
	URL      string // of the workspace, for people
	User     string // the bot's user, whom people mention
	Name     string // of the bot, for people
	TeamName string
	Bot      string // the bot's other id, in bot_id of what it wrote
	Scopes   string // granted, comma-separated; empty when the platform did not say
}

// self asks who the bot is, once.
func (a *Adapter) self(ctx context.Context) (account, error) {
	a.mu.Lock()
	me := a.me
	a.mu.Unlock()
	if me != nil {
		return *me, nil
	}
	me = new(account)
	err := a.call(ctx, "auth.test", callWait, true, func(ctx context.Context) error {
		r, err := a.api.AuthTestContext(ctx)
		if err != nil {
			return err
		}
		*me = account{Team: r.TeamID, URL: r.URL, User: r.UserID, Name: r.User, TeamName: r.Team, Bot: r.BotID, Scopes: r.Header.Get("X-OAuth-Scopes")}
		return nil
	})
	if err != nil {
		return account{}, err
	}
	a.mu.Lock()
	first := a.me == nil
	a.me = me
	a.mu.Unlock()
	if first {
		a.log.Info("slack account", "platform", platform, "team", me.Team, "user", me.User, "bot", me.Bot)
	}
	return *me, nil
}
