package slack

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	slackapi "github.com/slack-go/slack"

	"paragents/adapters/slack/blockkit"
	"paragents/core"
)

// formID marks the bot's own forms, and is the id of their one field.
const formID = "form"

// formData is what a form carries to its answer.
type formData struct {
	Token   string `json:"token"`
	Channel string `json:"channel,omitempty"`
	Thread  string `json:"thread,omitempty"`
}

// Ask implements core.Asker. The platform shows a form within 3 s of the press, once a press; later it refuses.
func (a *Adapter) Ask(ctx context.Context, callback string, f core.Form) error {
	trigger := triggerOf(callback)
	switch {
	case trigger == "":
		return refuse("ask %s: not an answer to a press", f.Title)
	case f.Token == "" || len(f.Token) > maxToken:
		return refuse("ask %s: its token must be 1 to %d bytes", f.Title, maxToken)
	}
	data, err := json.Marshal(formData{Token: f.Token, Channel: f.Place.Channel, Thread: f.Place.Thread})
	if err != nil {
		return refuse("ask %s: %w", f.Title, err)
	}
	field := slackapi.NewPlainTextInputBlockElement(nil, formID)
	field.Multiline, field.MaxLength = true, f.Max
	view := slackapi.ModalViewRequest{
		Type: slackapi.VTModal, Title: label(f.Title), Submit: label(f.Submit), Close: label("Back"), CallbackID: formID, PrivateMetadata: string(data),
		Blocks: slackapi.Blocks{BlockSet: []slackapi.Block{slackapi.NewInputBlock(formID, label(f.Label), nil, field)}},
	}
	if err := blockkit.ValidateForm(view); err != nil {
		return refuse("ask %s: %w", f.Title, err)
	}
	return a.call(ctx, "show a form", callWait, false, func(ctx context.Context) error {
		_, err := a.api.OpenViewContext(ctx, trigger, view)
		return err
	})
}

func label(text string) *slackapi.TextBlockObject {
	return slackapi.NewTextBlockObject(slackapi.PlainTextType, text, false, false)
}

// ShowHome implements core.Homer. The platform takes 100 blocks, and no Markdown there.
func (a *Adapter) ShowHome(ctx context.Context, p core.Person, page []core.Item) error {
	user, ok := userOf(p)
	if !ok {
		return refuse("show their page to %s: not a person of Slack's", p)
	}
	var blocks []slackapi.Block
	for _, item := range page {
		var of []slackapi.Block
		if text := strings.TrimSpace(item.Text); text != "" {
			if !utf8.ValidString(text) {
				return refuse("show their page to %s: not UTF-8", p)
			}
			for _, part := range parts(text, blockkit.MaxSection) {
				of = append(of, slackapi.NewSectionBlock(label(part), nil, nil))
			}
		}
		rows, err := rowsOf(item.Rows)
		if err != nil {
			return err
		}
		for _, row := range rows { // rows of other items have the same ids
			row.(*slackapi.ActionBlock).BlockID = ""
		}
		if of = append(of, rows...); len(blocks)+len(of) > blockkit.MaxHome {
			break
		}
		blocks = append(blocks, of...)
	}
	if err := blockkit.ValidateHome(blocks); err != nil {
		return refuse("show their page to %s: %w", p, err)
	}
	return a.call(ctx, "show their page to "+user, callWait, true, func(ctx context.Context) error {
		_, err := a.api.PublishViewContext(ctx, slackapi.PublishViewContextRequest{UserID: user,
			View: slackapi.HomeTabViewRequest{Type: slackapi.VTHomeTab, Blocks: slackapi.Blocks{BlockSet: blocks}}})
		return err
	})
}

// home takes that somebody opened the bot's page: on its other tab they only read messages.
func (d decoder) home(h opened) (core.Inbound, bool) {
	if h.User == "" || h.Tab != "home" {
		return core.Inbound{}, false
	}
	return core.Inbound{ID: d.id("home", h.User, h.EventTS), Kind: core.InHome, Place: d.nowhere(), Person: d.person("", h.User), Name: h.User, At: at(h.EventTS), Addressed: true}, true
}

// filled takes the answer to a form. Its place was given with the form.
func (d decoder) filled(p interaction, e core.Inbound) []core.Inbound {
	var data formData
	if p.View.Callback != formID || p.View.ID == "" || json.Unmarshal([]byte(p.View.Metadata), &data) != nil || data.Token == "" {
		return nil
	}
	e.Kind, e.ID, e.Token, e.Text = core.InForm, d.id(formID, p.View.ID, p.User.ID), data.Token, p.View.State.Values[formID][formID].Value
	e.Place = core.Place{Platform: platform, Space: d.me.Team, Channel: data.Channel, Thread: data.Thread, Private: data.Channel == "" || private(data.Channel)}
	return []core.Inbound{e}
}

// nowhere is where somebody is who acts on their own page.
func (d decoder) nowhere() core.Place {
	return core.Place{Platform: platform, Space: d.me.Team, Private: true}
}

// Link implements core.Linker.
func (a *Adapter) Link(p core.Place) string {
	a.mu.Lock()
	me := a.me
	a.mu.Unlock()
	if me == nil || !a.ours(me.URL) || p.Platform != platform || p.Channel == "" {
		return ""
	}
	link := strings.TrimRight(me.URL, "/") + "/archives/" + url.PathEscape(p.Channel)
	if p.Thread != "" {
		link += "/p" + strings.ReplaceAll(url.PathEscape(p.Thread), ".", "")
	}
	return link
}
