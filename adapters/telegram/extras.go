package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"paragents/core"
)

// Typing implements core.Typer; it shows for about 5 s.
func (a *Adapter) Typing(ctx context.Context, place core.Place) error {
	p, err := to(place)
	if err != nil {
		return err
	}
	p["action"] = "typing"
	return faultOrNil(a.call(ctx, "sendChatAction", p, nil))
}

// React implements core.Reactor. A bot has one reaction on a message: a new mark takes the place of the old one.
func (a *Adapter) React(ctx context.Context, place core.Place, message, mark string) error {
	p, err := to(place)
	if err != nil {
		return err
	}
	delete(p, "message_thread_id")
	e, ok := emoji(mark)
	if !ok {
		return refuse("react with %q: not one of seen, queued, done", mark)
	}
	p["message_id"] = message
	set(p, "reaction", []reaction{{Type: "emoji", Emoji: e}})
	return faultOrNil(a.call(ctx, "setMessageReaction", p, nil))
}

// Answer implements core.Answerer. The platform shows the first 200 UTF-16 units of the note, to the presser alone, and takes answers for
// some seconds only; what it says to a late one is the error.
func (a *Adapter) Answer(ctx context.Context, callback, note string) error {
	p := tgbotapi.Params{"callback_query_id": callback}
	p.AddNonEmpty("text", clip(note, maxNote))
	return faultOrNil(a.call(ctx, "answerCallbackQuery", p, nil))
}

// OpenThread implements core.Threader: it makes a topic of at most 128 characters' title. The platform has no topics under a message, and
// refuses in chats that have none.
func (a *Adapter) OpenThread(ctx context.Context, place core.Place, _, title string) (core.Place, error) {
	p, err := to(core.Place{Platform: place.Platform, Channel: place.Channel})
	if err != nil {
		return core.Place{}, err
	}
	if utf8.RuneCountInString(title) > maxTitle {
		title = string([]rune(title)[:maxTitle])
	}
	p["name"] = title
	var topic struct {
		Thread int64 `json:"message_thread_id"`
	}
	if err := a.call(ctx, "createForumTopic", p, &topic); err != nil {
		return core.Place{}, fault(err, false)
	}
	place.Thread = id(topic.Thread)
	return place, nil
}

// Direct implements core.Director: a private chat has the number of the person. Whether they have started the bot, without which it may not write to them, shows when
// something is sent.
func (a *Adapter) Direct(_ context.Context, person core.Person) (core.Place, error) {
	user, ok := strings.CutPrefix(string(person), platform+":")
	if n, err := strconv.ParseInt(user, 10, 64); !ok || err != nil || n <= 0 {
		return core.Place{}, refuse("find the chat with %s: not a person of Telegram's", person)
	}
	return core.Place{Platform: platform, Channel: user, Private: true}, nil
}

// SetMenu makes the list of commands that chats offer after a slash: pairs of a name (a to z, digits, _ and -, which becomes _; at most 32) and a help text. It goes to
// the chat of the place; without one to all private chats if the place is private, and to all chats that have no list of their own if not.
func (a *Adapter) SetMenu(ctx context.Context, place core.Place, commands [][2]string) error {
	scope := commandScope{Type: "default"}
	p := tgbotapi.Params{}
	switch {
	case place.Channel != "":
		chat, err := strconv.ParseInt(place.Channel, 10, 64)
		if err != nil {
			return refuse("set menu of %s: not a Telegram chat", place.Key())
		}
		scope.Type, scope.Chat = "chat", chat
	case place.Private:
		scope.Type = "all_private_chats"
	}
	list := make([]command, 0, len(commands))
	for _, c := range commands {
		list = append(list, command{Name: strings.ReplaceAll(c[0], "-", "_"), Help: c[1]})
	}
	set(p, "commands", list)
	set(p, "scope", scope)
	return faultOrNil(a.call(ctx, "setMyCommands", p, nil))
}

func faultOrNil(err error) error {
	if err == nil {
		return nil
	}
	return fault(err, true)
}

// Fetch implements core.Adapter. A file of more than 20 MB, which the platform does not give to bots, is core.ErrRefused.
func (a *Adapter) Fetch(ctx context.Context, _ core.Place, f core.Attachment) (io.ReadCloser, error) {
	tooBig := fmt.Errorf("%w: file %s is over the 20 MB that Telegram lets a bot download; send it in parts, or put it where the workspace can reach it",
		core.ErrRefused, f.Name)
	if f.Size > maxDownload {
		return nil, tooBig
	}
	var file struct {
		Path string `json:"file_path"`
	}
	if err := a.call(ctx, "getFile", tgbotapi.Params{"file_id": f.ID}, &file); err != nil {
		if strings.Contains(err.Error(), "file is too big") {
			return nil, tooBig
		}
		return nil, fmt.Errorf("fetch file %s: %w", f.Name, err)
	}
	// A Bot API server in local mode gives a path on its own disk.
	if file.Path == "" || path.IsAbs(file.Path) || path.Clean(file.Path) != file.Path || strings.HasPrefix(file.Path, "..") {
		return nil, fmt.Errorf("fetch file %s: %q is not a path to download from; is telegram.api_url a server in local mode?", f.Name, file.Path)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.cfg.APIURL+"/file/bot"+a.cfg.Token+"/"+file.Path, nil)
	if err != nil {
		return nil, fmt.Errorf("fetch file %s: %w", f.Name, a.clean(err))
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetch file %s: %w", f.Name, a.clean(err))
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("fetch file %s: telegram answers %s", f.Name, resp.Status), resp.Body.Close())
	}
	return resp.Body, nil
}
