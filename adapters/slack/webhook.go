package slack

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"

	slackapi "github.com/slack-go/slack"
)

// serveHook lets Hook take callbacks until the intake's context ends. When it returns, no callback is under way.
func (a *Adapter) serveHook(in *intake) {
	a.setIntake(in)
	a.connected(true)
	<-in.ctx.Done()
	a.connected(false)
	a.setIntake(nil)
}

func (a *Adapter) setIntake(in *intake) {
	a.intakeMu.Lock()
	defer a.intakeMu.Unlock()
	a.intake = in
}

// Hook is the handler for the app's request URLs: events, interactivity and slash commands. It answers 200 when accept made the event durable, and an error,
// so that the platform delivers events again, when not or when Receive does not run. A callback that is not signed, or more than five minutes old, is 401.
func (a *Adapter) Hook() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxHook))
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		case err != nil:
			w.WriteHeader(http.StatusBadRequest)
			return
		case !a.signed(r.Header, body):
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		kind, payload := unwrap(r.Header.Get("Content-Type"), body)
		if kind == typeVerify {
			var v eventCallback
			if err := json.Unmarshal(payload, &v); err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, v.Challenge) //nolint:errcheck // the platform asks again
			return
		}
		w.WriteHeader(a.deliver(r.Context(), kind, payload))
	})
}

func (a *Adapter) signed(h http.Header, body []byte) bool {
	v, err := slackapi.NewSecretsVerifier(h, a.cfg.SigningSecret) // refuses an empty secret
	if err != nil {
		return false
	}
	if _, err := v.Write(body); err != nil {
		return false
	}
	return v.Ensure() == nil
}

// unwrap gives the type of a callback, as the socket calls it, and its JSON. What cannot be understood has no type.
func unwrap(contentType string, body []byte) (kind string, payload []byte) {
	media, _, err := mime.ParseMediaType(contentType)
	if err == nil && media == "application/json" {
		var outer eventCallback
		if json.Unmarshal(body, &outer) != nil {
			return "", nil
		}
		switch outer.Type {
		case typeVerify:
			return typeVerify, body
		case typeCallback:
			return typeEvent, body
		}
		return "", nil
	}
	form, err := url.ParseQuery(string(body))
	switch {
	case err != nil:
		return "", nil
	case form.Has("payload"):
		return typePress, []byte(form.Get("payload"))
	case !form.Has("command"):
		return "", nil
	}
	fields := map[string]string{}
	for k := range form {
		fields[k] = form.Get(k)
	}
	payload, err = json.Marshal(fields)
	if err != nil {
		return "", nil
	}
	return typeCommand, payload
}

// deliver hands one callback over and returns the status to answer.
func (a *Adapter) deliver(ctx context.Context, kind string, payload []byte) int {
	a.intakeMu.RLock()
	defer a.intakeMu.RUnlock()
	in := a.intake
	if in == nil || in.ctx.Err() != nil {
		return http.StatusServiceUnavailable
	}
	events, err := a.inbound(kind, payload, in.me)
	if err != nil {
		a.log.Error("slack callback skipped: not of the known form", "platform", platform, "type", kind, "error", err)
	}
	if len(events) == 0 {
		return http.StatusOK
	}
	result := make(chan error, 1)
	if !a.lanes.add(laneOf(events[0]), func() { result <- a.hand(in, events) }) {
		return http.StatusServiceUnavailable
	}
	// The job is waited for even when the platform has gone: Receive ends only after it.
	if err := <-result; err != nil {
		return http.StatusInternalServerError
	}
	if ctx.Err() != nil {
		a.log.Warn("slack callback took too long: it will come again", "platform", platform, "event", events[0].ID)
	}
	return http.StatusOK
}
