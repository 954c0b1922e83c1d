package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"paragents/core"
)

// Probe implements core.Prober: the account, the scopes, and in Socket Mode whether a socket can be had. It opens none.
func (a *Adapter) Probe(ctx context.Context) ([]string, error) {
	found, err := a.probe(ctx)
	var f *core.SendError
	if errors.As(err, &f) { // nothing was to be sent
		err = f.Err
	}
	return found, err
}

func (a *Adapter) probe(ctx context.Context) ([]string, error) {
	if err := a.Check(ctx); err != nil {
		return nil, err
	}
	me, err := a.self(ctx)
	if err != nil {
		return nil, err
	}
	found := []string{fmt.Sprintf("bot @%s in the workspace %s", me.Name, me.TeamName)}
	switch missing := len(a.Notes()); {
	case me.Scopes == "":
		found = append(found, "Slack does not say which scopes it has")
	case missing == 0:
		found = append(found, fmt.Sprintf("all %d scopes that are needed", len(wanted)))
	default:
		found = append(found, fmt.Sprintf("%d of %d scopes that are needed", len(wanted)-missing, len(wanted)))
	}
	if a.cfg.Mode == HTTP {
		return append(found, "Slack calls /slack on the address of listen"), nil
	}
	var answer struct {
		URL string `json:"url"`
	}
	err = a.call(ctx, "ask for a socket", callWait, true, func(ctx context.Context) error {
		return a.readAs(ctx, a.cfg.AppToken, "apps.connections.open", url.Values{}, &answer)
	})
	switch code(err) {
	case "":
	case "missing_scope", "not_allowed_token_type":
		return found, fmt.Errorf("slack apps.connections.open: %s: slack.app_token has to be an app-level token with the scope connections:write; make one under Basic Information", code(err))
	case "invalid_auth", "not_authed", "token_revoked", "account_inactive":
		return found, fmt.Errorf("slack apps.connections.open: %s: Slack does not take slack.app_token, the one that begins with xapp-", code(err))
	}
	if err != nil {
		return found, err
	}
	if !strings.HasPrefix(answer.URL, "ws") {
		return found, errors.New("slack gives no address for a socket; switch Socket Mode on for the app")
	}
	return append(found, "a socket can be opened"), nil
}
