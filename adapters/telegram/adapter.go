// Package telegram connects the bot to Telegram through the Bot API, by long polling or by webhook.
//
// The client library knows the API of 2021 and no contexts. So only its request function is used, once for every call and with a transport
// that carries the context, and what comes back is decoded here, update by update, into the small types of wire.go.
package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"paragents/core"
)

// Limits of the platform, and ours on waiting for it.
const (
	publicURL    = "https://api.telegram.org"
	maxText      = 4096             // UTF-16 units of a message
	maxCaption   = 1024             // UTF-16 units of the text under a file
	maxToken     = 64               // bytes of a button's data
	maxNote      = 200              // UTF-16 units of the answer to a press
	maxTitle     = 128              // characters of a topic's name
	maxDownload  = 20 << 20         // bytes of a file that a bot may fetch
	maxUpload    = 50 << 20         // bytes of a file that a bot may send
	maxAnswer    = 16 << 20         // bytes of an answer to a call: a poll of 100 updates stays far below
	maxHook      = 1 << 20          // bytes of one update on the webhook
	pollWait     = 10 * time.Second // how long the platform holds a poll without updates
	pollGrace    = 5 * time.Second  // after which a poll that did not return is cut
	callWait     = 20 * time.Second // for any other call
	uploadWait   = 2 * time.Minute
	conflictWait = 60 * time.Second // after which a second poller shows in Check
)

// Modes of receiving.
const (
	Polling = "polling"
	Webhook = "webhook"
)

// Config is what an Adapter needs to know.
type Config struct {
	Token  string // from BotFather: digits, a colon, a secret
	APIURL string // of the Bot API server; default the public one
	Mode   string // Polling (default) or Webhook

	// WebhookURL is where the platform reaches Hook, WebhookSecret what it has to know: 1 to 256 letters, digits, _ and -. Webhook only.
	WebhookURL    string
	WebhookSecret string

	// HTTPClient makes all requests; default a client of the adapter's own. Its Timeout must be zero, or longer than a poll of 15 s, and its
	// transport has to be net/http's or wrap it: whether a failed request had a connection decides whether a message is sent again.
	HTTPClient *http.Client
	Logger     *slog.Logger // default: nothing is logged
}

// Adapter is one bot account. Its methods may be called from any goroutine; Receive runs once at a time.
type Adapter struct {
	cfg  Config
	http *http.Client
	log  *slog.Logger
	bot  tgbotapi.BotAPI // copied for each call

	mu     sync.Mutex
	me     *account // nil until getMe succeeded
	health health
	intake *intake // set while Receive runs in webhook mode
}

var (
	_ core.Adapter  = (*Adapter)(nil)
	_ core.Typer    = (*Adapter)(nil)
	_ core.Reactor  = (*Adapter)(nil)
	_ core.Answerer = (*Adapter)(nil)
	_ core.Threader = (*Adapter)(nil)
	_ core.Director = (*Adapter)(nil)
	_ core.Checker  = (*Adapter)(nil)
	_ core.Prober   = (*Adapter)(nil)
	_ core.Noter    = (*Adapter)(nil)
)

var (
	tokenForm  = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)
	secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
)

// New checks the configuration. It opens no connection.
func New(cfg Config) (*Adapter, error) {
	if !tokenForm.MatchString(cfg.Token) {
		return nil, errors.New("read telegram.bot_token: not of the form digits:secret, as BotFather gives it")
	}
	if cfg.APIURL == "" {
		cfg.APIURL = publicURL
	}
	cfg.APIURL = strings.TrimRight(cfg.APIURL, "/")
	if err := checkURL(cfg.APIURL); err != nil {
		return nil, fmt.Errorf("read telegram.api_url: %w", err)
	}
	switch cfg.Mode {
	case "", Polling:
		cfg.Mode = Polling
	case Webhook:
		if err := checkURL(cfg.WebhookURL); err != nil {
			return nil, fmt.Errorf("read telegram.webhook_url: %w", err)
		}
		if !secretForm.MatchString(cfg.WebhookSecret) {
			return nil, errors.New("read telegram.webhook_secret: must be 1 to 256 letters, digits, _ and -")
		}
	default:
		return nil, fmt.Errorf("read telegram.mode: %q is neither %s nor %s", cfg.Mode, Polling, Webhook)
	}
	a := &Adapter{cfg: cfg, http: newClient(cfg.HTTPClient), log: cfg.Logger, bot: tgbotapi.BotAPI{Token: cfg.Token}}
	// The library puts token and method in with Sprintf.
	a.bot.SetAPIEndpoint(strings.ReplaceAll(cfg.APIURL, "%", "%%") + "/bot%s/%s")
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	return a, nil
}

// checkURL refuses what is no address, and what would send the token over a network in the clear.
func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("must be an address like https://host or https://host/path")
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

// newClient copies a client, or makes one, so that it follows no redirect: the address holds the token, and no other host shall see it.
func newClient(base *http.Client) *http.Client {
	c := http.Client{}
	if base != nil {
		c = *base
	} else {
		dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
		c.Transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         dialer.DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2:   true,
			MaxConnsPerHost:     128, // a call above that waits within its own limit, and then is certainly not sent
			MaxIdleConnsPerHost: 128,
			IdleConnTimeout:     30 * time.Second,
		}
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// Sockets: one poller over all replicas, because a second one ends the first one's polls; a webhook's deliveries may come to any replica.
func (a *Adapter) Sockets() (here, total int) {
	if a.cfg.Mode == Webhook {
		return 1, 0
	}
	return 1, 1
}

// Capabilities implements core.Adapter. Max leaves room for the mark of a repeated message. Topics exist in some chats only, so a session
// gets one when somebody opens it there.
func (a *Adapter) Capabilities() core.Capabilities {
	return core.Capabilities{
		Platform: platform,
		Dialect:  "html",
		Unit:     "utf16",
		Max:      maxText - len(repeatMark),
		Buttons:  true,
		Edits:    true,
		Files:    true,
		Slash:    "/",
		EditRate: 1500 * time.Millisecond,
	}
}

// account is the bot itself, as the platform knows it.
type account struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
	ReadsAll bool   `json:"can_read_all_group_messages"` // privacy mode is off
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
	if err := a.call(ctx, "getMe", nil, me); err != nil {
		return account{}, err
	}
	a.know(me)
	return *me, nil
}

// know notes who the bot is.
func (a *Adapter) know(me *account) {
	a.mu.Lock()
	first := a.me == nil
	a.me = me
	a.mu.Unlock()
	if first {
		a.log.Info("telegram account", "platform", platform, "username", me.Username, "bot", me.ID, "privacy_mode", !me.ReadsAll)
	}
}
