package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	slackapi "github.com/slack-go/slack"

	"paragents/core"
)

// How the bot's messages carry their marker: in the metadata, or where a message takes none in the id of its first block.
const (
	markerType  = "paragents_message"
	markerBlock = "marker-"
)

const (
	maxNote     = 3000           // characters of a private note
	maxTitle    = 250            // characters of a thread's first message
	findBack    = 24 * time.Hour // an unclear send is looked for among the messages of so long
	maxNames    = 10000
	nameKept    = time.Hour
	maxDownload = 100 << 20   // bytes of a file that is fetched: nothing that an agent reads is larger
	nameAgain   = time.Minute // after which a name that could not be read is asked for again
)

// React implements core.Reactor.
func (a *Adapter) React(ctx context.Context, p core.Place, message, mark string) error {
	if err := checkPlace(p); err != nil {
		return err
	}
	emoji, ok := map[string]string{"seen": "eyes", "queued": "hourglass_flowing_sand", "done": "white_check_mark"}[mark]
	if !ok {
		return refuse("react with %q: not one of seen, queued, done", mark)
	}
	return a.call(ctx, "react to "+message+" in "+p.Channel, callWait, true, func(ctx context.Context) error {
		err := a.api.AddReactionContext(ctx, emoji, slackapi.NewRefToMessage(p.Channel, message))
		if code(err) == "already_reacted" {
			return nil
		}
		return err
	})
}

type callback struct {
	replace         bool // the pressed message is the presser's alone, and makes way for the answer
	thread, address string
}

// parseCallback reads what decoder.callback made. The address is checked again: it went through other hands.
func (a *Adapter) parseCallback(s string) (callback, error) {
	f := strings.Split(s, " ")
	if len(f) != 4 || f[0] != "note" && f[0] != "replace" || !a.ours(f[3]) {
		return callback{}, refuse("answer a press or command: not an address of Slack's")
	}
	return callback{replace: f[0] == "replace", thread: f[1], address: f[3]}, nil
}

// Answer implements core.Answerer. The platform is told by the acknowledgement already; the note is shown to the presser alone, and in place of the
// pressed message where they alone see that. No note: nothing is done.
func (a *Adapter) Answer(ctx context.Context, handle, note string) error {
	cb, err := a.parseCallback(handle)
	if err != nil || note == "" {
		return err
	}
	options := []slackapi.MsgOption{slackapi.MsgOptionText(escape(clip(note, maxNote)), false), threadTS(cb.thread)}
	if cb.replace {
		options = append(options, slackapi.MsgOptionReplaceOriginal(cb.address))
	}
	return a.call(ctx, "answer a press", callWait, false, func(ctx context.Context) error { return a.respond(ctx, cb.address, options...) })
}

// respond posts to the address that came with a press or command; only who acted sees it.
func (a *Adapter) respond(ctx context.Context, address string, options ...slackapi.MsgOption) error {
	_, _, _, err := a.api.SendMessageContext(ctx, "", append(options, slackapi.MsgOptionResponseURL(address, slackapi.ResponseTypeEphemeral))...)
	var status slackapi.StatusCodeError
	if errors.As(err, &status) && (status.Code == 404 || status.Code == 410) {
		return slackapi.SlackErrorResponse{Err: "expired_url"}
	}
	return err
}

// OpenThread implements core.Threader. Under a message a thread needs no opening; at the top of a channel a message with the title begins it.
func (a *Adapter) OpenThread(ctx context.Context, p core.Place, message, title string) (core.Place, error) {
	if err := checkPlace(p); err != nil || p.Thread != "" {
		return p, err
	}
	if message == "" {
		title = title[:offset(title, maxTitle)]
		id, err := a.Send(ctx, core.Message{Place: p, Plain: title})
		if err != nil {
			return core.Place{}, err
		}
		message = id
	}
	p.Thread = message
	return p, nil
}

// Find implements core.Finder: it looks through the messages of a day in the thread, or at the top of the channel, 1,000 at most. Where nobody may
// look any more nothing is found: sending then says why.
func (a *Adapter) Find(ctx context.Context, p core.Place, marker string) (string, bool, error) {
	if err := checkPlace(p); err != nil {
		return "", false, err
	}
	list, err := a.history(ctx, p, time.Now().Add(-findBack))
	var f *core.SendError
	switch {
	case errors.As(err, &f) && (f.Fault == core.FaultGone || f.Fault == core.FaultRefused):
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	for _, m := range list {
		if marked(m, marker) {
			return m.TS, true, nil
		}
	}
	return "", false, nil
}

func marked(m message, marker string) bool {
	var payload struct {
		Marker string `json:"marker"`
	}
	if m.Metadata.Type == markerType && json.Unmarshal(m.Metadata.Payload, &payload) == nil && payload.Marker == marker {
		return true
	}
	return len(m.Blocks) > 0 && m.Blocks[0].ID == markerBlock+marker
}

// names remembers what people are called, for a while.
type names struct {
	mu sync.Mutex
	of map[core.Person]name
}

type name struct {
	text  string
	until time.Time
}

// name is what a person is called. It takes little time, for an event waits for it: where the platform is slow, or does not tell, it is the id.
func (a *Adapter) name(ctx context.Context, p core.Person) string {
	user, ok := userOf(p)
	if !ok {
		return ""
	}
	a.names.mu.Lock()
	known := a.names.of[p]
	a.names.mu.Unlock()
	if time.Now().Before(known.until) {
		return known.text
	}
	var answer struct {
		User struct {
			Name    string `json:"name"`
			Profile struct {
				Display string `json:"display_name"`
				Real    string `json:"real_name"`
			} `json:"profile"`
		} `json:"user"`
	}
	err := a.call(ctx, "users.info", nameWait, true, func(ctx context.Context) error {
		return a.read(ctx, "users.info", url.Values{"user": {user}}, &answer)
	})
	u := answer.User
	n := name{text: user, until: time.Now().Add(nameKept)}
	for _, s := range []string{u.Name, u.Profile.Real, u.Profile.Display} {
		if s != "" {
			n.text = s
		}
	}
	if err != nil {
		n.until = time.Now().Add(nameAgain)
		a.log.Debug("slack name not read", "platform", platform, "person", p, "error", err)
	}
	a.names.mu.Lock()
	defer a.names.mu.Unlock()
	if len(a.names.of) >= maxNames || a.names.of == nil {
		a.names.of = map[core.Person]name{}
	}
	a.names.of[p] = n
	return n.text
}

// Fetch implements core.Adapter. The file is looked up by its id, so that no address from a message is trusted with the token. A file of more than
// 100 MB is core.ErrRefused, and a page of HTML in place of something else an error: it is the sign-in page.
func (a *Adapter) Fetch(ctx context.Context, _ core.Place, f core.Attachment) (io.ReadCloser, error) {
	info, err := a.file(ctx, f.ID)
	if err != nil {
		return nil, fmt.Errorf("fetch file %s: %w", f.Name, err)
	}
	if info.Size > maxDownload {
		return nil, fmt.Errorf("%w: file %s has %d MB, over the %d MB that are read from Slack; send it in parts, or put it where the workspace can reach it",
			core.ErrRefused, f.Name, info.Size>>20, maxDownload>>20)
	}
	from := cmp.Or(info.Download, info.Private)
	if !a.ours(from) {
		return nil, fmt.Errorf("fetch file %s: it does not lie with Slack; share the file itself", f.Name)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, fmt.Errorf("fetch file %s: %w", f.Name, a.clean(err))
	}
	req.Header.Set("Authorization", "Bearer "+a.cfg.BotToken)
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetch file %s: %w", f.Name, a.clean(err))
	}
	body, err := theFile(resp, cmp.Or(info.Type, f.Type))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fetch file %s: %w", f.Name, err), resp.Body.Close())
	}
	return body, nil
}

var errSignIn = errors.New("the answer is Slack's sign-in page: the app lacks the scope files:read, or its token was revoked; update it from " +
	"deploy/slack/manifest.yaml and install it again")

// theFile checks that an answer is the file that was declared.
func theFile(resp *http.Response, declared string) (io.ReadCloser, error) {
	switch {
	case resp.StatusCode/100 == 3:
		return nil, errSignIn
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("slack answers %s", resp.Status)
	}
	got, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err == nil && got == "text/html" && !strings.Contains(declared, "html") {
		return nil, errSignIn
	}
	begin := make([]byte, 64)
	n, err := io.ReadFull(resp.Body, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	begin = begin[:n]
	page := strings.ToLower(strings.TrimSpace(string(begin)))
	if !strings.HasPrefix(declared, "text/") && (strings.HasPrefix(page, "<!doctype html") || strings.HasPrefix(page, "<html")) {
		return nil, errSignIn
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), resp.Body), resp.Body}, nil
}
