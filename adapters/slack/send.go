package slack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	slackapi "github.com/slack-go/slack"

	"paragents/adapters/slack/blockkit"
	"paragents/core"
)

const (
	maxToken  = 64      // bytes of a button's token: the contract's limit, below the platform's
	maxUpload = 1 << 30 // bytes that the platform takes
	showTries = 8       // questions where an uploaded file stands, growing apart
	shortened = 1000    // characters of what is shown when a text is refused as too long: below every limit that the platform has or had
)

// Send implements core.Adapter. Text is Markdown of at most 12,000 characters; a message without it is sent as Plain. With a File only Plain is used,
// for the platform takes no Markdown there. The id is the message's time stamp; messages that only one person sees, and files that the platform takes
// long to show, have none. Reply and Silent mean nothing here.
func (a *Adapter) Send(ctx context.Context, m core.Message) (string, error) {
	if err := checkPlace(m.Place); err != nil {
		return "", err
	}
	c, err := compose(m)
	if err != nil {
		return "", err
	}
	switch {
	case m.File != nil && m.Only != "" && !m.Place.Private:
		return "", a.handOver(ctx, m, c)
	case m.File != nil:
		return a.upload(ctx, m, c)
	case m.Only != "":
		if done, err := a.whisper(ctx, m, c); done || err != nil {
			return "", err
		}
	}
	options := append(c.options(), thread(m.Place), slackapi.MsgOptionDisableLinkUnfurl(), slackapi.MsgOptionDisableMediaUnfurl())
	if m.Marker != "" {
		options = append(options, slackapi.MsgOptionMetadata(slackapi.SlackMetadata{
			EventType:    markerType,
			EventPayload: map[string]any{"marker": m.Marker},
		}))
	}
	var id string
	err = a.call(ctx, "post to "+m.Place.Channel, callWait, false, func(ctx context.Context) (err error) {
		_, id, err = a.api.PostMessageContext(ctx, m.Place.Channel, options...)
		return err
	})
	return id, finalMarkup(m, err)
}

// whisper sends what one person alone shall see. It reports false where that is any message: in a conversation of theirs.
func (a *Adapter) whisper(ctx context.Context, m core.Message, c content) (bool, error) {
	user, ok := userOf(m.Only)
	if !ok {
		return false, refuse("post to %s for %s alone: not a person of Slack's", m.Place.Channel, m.Only)
	}
	if cb, err := a.parseCallback(m.Callback); err == nil {
		// An address takes five answers in half an hour; whether this one is used up shows only now.
		err := a.call(ctx, "answer privately", callWait, false, func(ctx context.Context) error {
			return a.respond(ctx, cb.address, append(c.options(), threadTS(cb.thread))...)
		})
		var f *core.SendError
		if !errors.As(err, &f) || f.Fault != core.FaultGone && f.Fault != core.FaultRefused {
			return true, finalMarkup(m, err)
		}
	}
	if m.Place.Private {
		return false, nil
	}
	err := a.call(ctx, "post privately to "+m.Place.Channel, callWait, false, func(ctx context.Context) error {
		_, err := a.api.PostEphemeralContext(ctx, m.Place.Channel, user, append(c.options(), thread(m.Place))...)
		return err
	})
	return true, finalMarkup(m, err)
}

// handOver sends a file that one person alone shall see: to their conversation with the bot, for in a channel files are everybody's.
func (a *Adapter) handOver(ctx context.Context, m core.Message, c content) error {
	place, err := a.Direct(ctx, m.Only)
	if err != nil {
		return fmt.Errorf("send file %s to one person alone: %w", m.File.Name, err)
	}
	m.Place = place
	_, err = a.upload(ctx, m, c)
	return err
}

// Direct implements core.Director. The platform opens the conversation, or gives the one that there is; not with people of other workspaces, unless they accepted it.
func (a *Adapter) Direct(ctx context.Context, p core.Person) (core.Place, error) {
	user, ok := userOf(p)
	if !ok {
		return core.Place{}, refuse("open the conversation with %s: not a person of Slack's", p)
	}
	me, err := a.self(ctx)
	if err != nil {
		return core.Place{}, err
	}
	place := core.Place{Platform: platform, Space: me.Team, Private: true}
	err = a.call(ctx, "open the conversation with "+user, callWait, true, func(ctx context.Context) error {
		direct, _, _, err := a.api.OpenConversationContext(ctx, &slackapi.OpenConversationParameters{Users: []string{user}})
		if err == nil {
			place.Channel = direct.ID
		}
		return err
	})
	return place, err
}

// Edit implements core.Adapter. The buttons become m.Rows: none takes them away. Where the platform takes neither form of a message that shall lose its
// buttons, a shorter one is shown: no button may stay that decides nothing.
func (a *Adapter) Edit(ctx context.Context, id string, m core.Message) error {
	if err := checkPlace(m.Place); err != nil {
		return err
	}
	c, err := compose(m)
	if err != nil {
		return err
	}
	err = finalMarkup(m, a.update(ctx, id, m.Place, c))
	var f *core.SendError
	if m.Text == "" && len(m.Rows) == 0 && errors.As(err, &f) && f.Fault == core.FaultRefused {
		return a.update(ctx, id, m.Place, content{text: escape(clip(m.Plain, shortened)), plain: true})
	}
	return err
}

func (a *Adapter) update(ctx context.Context, id string, p core.Place, c content) error {
	return a.call(ctx, "change message "+id+" in "+p.Channel, callWait, true, func(ctx context.Context) error {
		_, _, _, err := a.api.UpdateMessageContext(ctx, p.Channel, id, append(c.options(), slackapi.MsgOptionDisableLinkUnfurl())...)
		return err
	})
}

// finalMarkup makes a refusal of a message that has no markup final.
func finalMarkup(m core.Message, err error) error {
	var f *core.SendError
	if errors.As(err, &f) && f.Fault == core.FaultMarkup && (m.Text == "" || m.File != nil) {
		f.Fault = core.FaultRefused
	}
	return err
}

// content is a message in the platform's form: text is shown in notifications, and where there are no blocks.
type content struct {
	blocks []slackapi.Block
	text   string
	plain  bool
}

func (c content) options() []slackapi.MsgOption {
	out := []slackapi.MsgOption{slackapi.MsgOptionText(c.text, false), slackapi.MsgOptionBlocks(c.blocks...)}
	if c.plain {
		out = append(out, slackapi.MsgOptionDisableMarkdown())
	}
	return out
}

// compose makes the blocks of a message, and refuses what the platform would never take.
func compose(m core.Message) (content, error) {
	plain := m.Plain
	if plain == "" {
		plain = m.Text
	}
	c := content{plain: m.Text == "" || m.File != nil}
	if strings.TrimSpace(plain) == "" {
		if m.File == nil {
			return c, refuse("send an empty message")
		}
		plain = m.File.Name
	}
	if !utf8.ValidString(m.Text) || !utf8.ValidString(plain) {
		return c, refuse("send to %s: not UTF-8", m.Place.Channel)
	}
	c.text = escape(clip(plain, blockkit.MaxText))
	rows, err := rowsOf(m.Rows)
	switch {
	case err != nil:
		return c, err
	case !c.plain:
		c.blocks = append(c.blocks, slackapi.NewMarkdownBlock("", m.Text))
	case len(rows) > 0 || m.File != nil || clip(plain, blockkit.MaxText) != plain:
		if n := utf8.RuneCountInString(plain); n > blockkit.MaxMarkdown {
			return c, refuse("send %d characters to %s: at most %d", n, m.Place.Channel, blockkit.MaxMarkdown)
		}
		for _, part := range parts(plain, blockkit.MaxSection) {
			c.blocks = append(c.blocks, slackapi.NewSectionBlock(slackapi.NewTextBlockObject(slackapi.PlainTextType, part, false, false), nil, nil))
		}
	}
	c.blocks = append(c.blocks, rows...)
	if err := blockkit.Validate(c.blocks, c.text); err != nil {
		return c, refuse("send to %s: %w", m.Place.Channel, err)
	}
	return c, nil
}

// rowsOf makes each row of buttons one block, as they were given: what stands apart stays apart.
func rowsOf(rows [][]core.Button) ([]slackapi.Block, error) {
	var out []slackapi.Block
	for i, row := range rows {
		var elements []slackapi.BlockElement
		for j, b := range row {
			if b.URL == "" && b.Token == "" || len(b.Token) > maxToken {
				return nil, refuse("button %s: its token must be 1 to %d bytes", b.Label, maxToken)
			}
			label := slackapi.NewTextBlockObject(slackapi.PlainTextType, b.Label, false, false)
			e := slackapi.NewButtonBlockElement(fmt.Sprintf("b%d", j), b.Token, label)
			e.Style, e.URL = slackapi.Style(b.Style), b.URL
			elements = append(elements, e)
		}
		if len(elements) > 0 {
			out = append(out, slackapi.NewActionBlock(fmt.Sprintf("row%d", i), elements...))
		}
	}
	return out, nil
}

func checkPlace(p core.Place) error {
	if p.Platform != platform || p.Channel == "" {
		return refuse("send to %s: not a channel of Slack's", p.Key())
	}
	return nil
}

func thread(p core.Place) slackapi.MsgOption { return threadTS(p.Thread) }

func threadTS(ts string) slackapi.MsgOption {
	if ts == "" {
		return slackapi.MsgOptionCompose()
	}
	return slackapi.MsgOptionTS(ts)
}

// userOf is the user id of a person of Slack's.
func userOf(p core.Person) (string, bool) {
	_, user, ok := strings.Cut(string(p), "/")
	return user, ok && p.Platform() == platform && user != ""
}

// upload sends a file with the blocks of c. The platform shares it some time after it said yes, and only then the message has an id.
func (a *Adapter) upload(ctx context.Context, m core.Message, c content) (string, error) {
	name, size := m.File.Name, len(m.File.Data)
	if name == "" || size == 0 || size > maxUpload {
		return "", refuse("send file %q of %d bytes: Slack takes a name and 1 byte to 1 GB", name, size)
	}
	if m.Marker != "" { // files take no metadata
		if s, ok := c.blocks[0].(*slackapi.SectionBlock); ok {
			s.BlockID = markerBlock + m.Marker
		}
	}
	var at *slackapi.GetUploadURLExternalResponse
	err := a.call(ctx, "begin the upload of "+name, callWait, true, func(ctx context.Context) (err error) {
		at, err = a.api.GetUploadURLExternalContext(ctx, slackapi.GetUploadURLExternalParameters{FileName: name, FileSize: size})
		return err
	})
	if err != nil {
		return "", err
	}
	if !a.ours(at.UploadURL) {
		return "", refuse("upload %s: Slack names an address that is not its own", name)
	}
	err = a.call(ctx, "upload "+name, uploadWait, true, func(ctx context.Context) error { return a.put(ctx, at.UploadURL, m.File.Data) })
	if err != nil {
		return "", err
	}
	err = a.call(ctx, "post file "+name+" to "+m.Place.Channel, callWait, false, func(ctx context.Context) error {
		_, err := a.api.CompleteUploadExternalContext(ctx, slackapi.CompleteUploadExternalParameters{
			Files:           []slackapi.FileSummary{{ID: at.FileID, Title: name}},
			Blocks:          slackapi.Blocks{BlockSet: c.blocks},
			Channel:         m.Place.Channel,
			ThreadTimestamp: m.Place.Thread,
		})
		return err
	})
	if err != nil {
		return "", finalMarkup(m, err)
	}
	return a.shared(ctx, at.FileID, m.Place.Channel), nil
}

// put brings the content to an address that was made for it: bare, with its length, and without the token, which the address does not need. The library
// ends its form twice, which not every server takes.
func (a *Adapter) put(ctx context.Context, address string, data []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := transport{a.http}.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // the status says all
	if resp.StatusCode != http.StatusOK {
		return slackapi.StatusCodeError{Code: resp.StatusCode, Status: resp.Status}
	}
	return nil
}

// shared waits, some seconds at most, until a file stands in a channel, and gives the id of its message.
func (a *Adapter) shared(ctx context.Context, id, channel string) string {
	pause := 50 * time.Millisecond
	for range showTries {
		f, err := a.file(ctx, id)
		if err == nil {
			for _, shares := range []map[string][]share{f.Shares.Public, f.Shares.Private} {
				if at := shares[channel]; len(at) > 0 {
					return at[0].TS
				}
			}
		}
		if !sleep(ctx, pause) {
			break
		}
		pause = min(2*pause, time.Second)
	}
	a.log.Info("slack does not show an uploaded file yet", "platform", platform, "file", id, "channel", channel)
	return ""
}

func (a *Adapter) file(ctx context.Context, id string) (file, error) {
	var answer struct {
		File file `json:"file"`
	}
	err := a.call(ctx, "look at file "+id, callWait, true, func(ctx context.Context) error {
		return a.read(ctx, "files.info", url.Values{"file": {id}}, &answer)
	})
	return answer.File, err
}
