package telegram

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"paragents/core"
)

// intake is where the webhook's updates go while Receive runs.
type intake struct {
	ctx    context.Context
	me     account
	accept acceptFunc
	busy   sync.WaitGroup // deliveries under way
}

// hookWait bounds what one delivery may take; the platform delivers again.
const hookWait = 30 * time.Second

// register tells the platform where to deliver. Every replica may: they all say the same.
func (a *Adapter) register(ctx context.Context) error {
	return a.call(ctx, "setWebhook", tgbotapi.Params{
		"url":             a.cfg.WebhookURL,
		"secret_token":    a.cfg.WebhookSecret,
		"allowed_updates": wanted,
	}, nil)
}

// serveHook lets Hook take updates until the context ends. When it returns, no delivery is under way.
func (a *Adapter) serveHook(ctx context.Context, me account, accept acceptFunc) {
	in := &intake{ctx: ctx, me: me, accept: accept}
	a.setIntake(in)
	<-ctx.Done()
	a.setIntake(nil)
	in.busy.Wait()
}

func (a *Adapter) setIntake(in *intake) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.intake = in
}

// enter gives the intake to a delivery, which has to say when it is done; nil when Receive does not run.
func (a *Adapter) enter() *intake {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.intake != nil {
		a.intake.busy.Add(1)
	}
	return a.intake
}

// Hook is the handler for Config.WebhookURL. It answers 200 when accept made the update durable, and an error, so that the platform delivers
// again, when not or when Receive does not run. The platform delivers the updates of a chat one after the other, and chats at the same time.
func (a *Adapter) Hook() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		secret := r.Header.Get("X-Telegram-Bot-Api-Secret-Token")
		if a.cfg.WebhookSecret == "" || subtle.ConstantTimeCompare([]byte(secret), []byte(a.cfg.WebhookSecret)) != 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxHook))
		if err != nil {
			var large *http.MaxBytesError
			if errors.As(err, &large) {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(a.deliver(body))
	})
}

// deliver hands one update over and returns the status to answer.
func (a *Adapter) deliver(body []byte) int {
	in := a.enter()
	if in == nil {
		return http.StatusServiceUnavailable
	}
	defer in.busy.Done()
	u, ok := a.decode(body)
	if !ok {
		return http.StatusOK
	}
	e, ok := inbound(u, in.me)
	if !ok {
		return http.StatusOK
	}
	ctx, cancel := context.WithTimeout(in.ctx, hookWait)
	defer cancel()
	err := in.accept(ctx, []core.Inbound{e}, nil)
	a.note(err, false)
	if err != nil {
		a.log.Warn("telegram update not accepted", "platform", platform, "update", u.ID, "error", err)
		return http.StatusInternalServerError
	}
	return http.StatusOK
}
