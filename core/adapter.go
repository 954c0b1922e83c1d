package core

import (
	"context"
	"fmt"
	"io"
	"time"
)

// InboundKind says what came in.
type InboundKind string

const (
	InMessage InboundKind = "message"
	InCommand InboundKind = "command" // a slash command: Text is what stands behind the slash
	InPress   InboundKind = "press"   // a button: Token
	InEdit    InboundKind = "edit"    // Message was changed to Text
	InDelete  InboundKind = "delete"  // Message is gone
	InAbout   InboundKind = "about"   // somebody points at a message, About, and wants something done with it
	InJoined  InboundKind = "joined"  // the bot was invited
	InLeft    InboundKind = "left"    // the bot was removed or blocked
	InMoved   InboundKind = "moved"   // the place has a new id: MovedTo
	InForm    InboundKind = "form"    // a form was filled in: Token of the form, Text
	InHome    InboundKind = "home"    // somebody opened the page that is theirs alone
)

// Inbound is one event of a platform, decoded by its adapter into plain data.
type Inbound struct {
	// ID identifies the event for deduplication: made from the message's own identity where there is one, so that two deliveries of one message
	// are one event whatever the envelopes say.
	ID       string       `json:"id"`
	Original string       `json:"original,omitempty"` // of an edit or deletion: the ID of the message itself
	Kind     InboundKind  `json:"kind"`
	Place    Place        `json:"place"`
	Person   Person       `json:"person"`
	Name     string       `json:"name,omitempty"` // display name; never used to decide anything
	Text     string       `json:"text,omitempty"` // without the bot's own mention
	Message  string       `json:"message,omitempty"`
	ReplyTo  string       `json:"reply_to,omitempty"` // message that this one answers
	Quote    string       `json:"quote,omitempty"`    // text of that message
	Group    string       `json:"group,omitempty"`    // album: members belong together
	Token    string       `json:"token,omitempty"`
	Callback string       `json:"callback,omitempty"` // handle for the platform's own acknowledgement of a press or command
	At       time.Time    `json:"at"`                 // the platform's time
	MovedTo  Place        `json:"moved_to,omitzero"`
	About    *Inbound     `json:"about,omitempty"`
	Files    []Attachment `json:"files,omitempty"`
	// Addressed: the message is meant for the bot (mention, reply to it, private chat, command). ToOther: it begins with a mention of
	// somebody else.
	Addressed bool `json:"addressed,omitempty"`
	ToOther   bool `json:"to_other,omitempty"`
	Bot       bool `json:"bot,omitempty"` // written by a bot or webhook
}

// Button is one button of a message.
type Button struct {
	Label string `json:"label"`
	Token string `json:"token"`           // opaque, at most 64 bytes
	URL   string `json:"url,omitempty"`   // instead of a token: the button leads there, and no press is told
	Style string `json:"style,omitempty"` // "", "primary", "danger"
	Key   string `json:"key,omitempty"`   // what presses it on a keyboard
}

// Form asks one person for a text, in a window of their own.
type Form struct {
	Place  Place  // that of the answer
	Title  string // at most 24 characters
	Label  string // what is asked
	Submit string // on the button; at most 24 characters
	Max    int    // characters of the answer
	Token  string // opaque, at most 64 bytes: that of the answer
}

// Item is a part of a page: a text without markup, and rows of buttons under it.
type Item struct {
	Text string
	Rows [][]Button
}

// File is a file to send.
type File struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// Message is one message to send or to change, rendered for its place.
type Message struct {
	Place Place      `json:"place"`
	Text  string     `json:"text"`  // in the platform's dialect
	Plain string     `json:"plain"` // the same without markup, for when the platform refuses Text
	Rows  [][]Button `json:"rows,omitempty"`
	File  *File      `json:"file,omitempty"`
	Reply string     `json:"reply,omitempty"` // message to answer, best effort
	// Silent messages do not notify.
	Silent bool `json:"silent,omitempty"`
	// Only: visible to this person alone where the platform can; elsewhere sent as usual.
	Only Person `json:"only,omitempty"`
	// Callback of the press or command that this answers.
	Callback string `json:"callback,omitempty"`
	// Marker identifies the message for finding it again after an unclear send; unique, at most 25 characters.
	Marker string `json:"marker,omitempty"`
	// Card names a message that later ones with the same Card replace, where messages can be changed.
	Card string `json:"card,omitempty"`
	// Replace: change the message that was sent with this Card; if there is none (any more), send it as a new one unless it is Silent.
	Replace bool `json:"replace,omitempty"`
	// Repeat is set on the second try of an unclear send.
	Repeat bool `json:"repeat,omitempty"`
}

// Capabilities are what a platform can do, as data; nobody asks for its name.
type Capabilities struct {
	Platform string
	Dialect  string        // of text: see package bot/markup
	Unit     string        // of Max: "utf16", "rune", "byte"
	Max      int           // longest text of one message
	Threads  bool          // a session can have a thread of its own
	Buttons  bool          // messages can carry buttons
	Edits    bool          // messages can be changed
	Files    bool          // files can be sent
	Whispers bool          // in a channel, a message can be for one person alone
	Slash    string        // how commands are written here: "/" or "/paragents "
	EditRate time.Duration // shortest time between two edits in one chat
	Lines    bool          // a terminal: progress is shown line by line, cards are lines
}

// Adapter is one platform. It decodes and encodes; it decides nothing and keeps nothing that matters.
type Adapter interface {
	Capabilities() Capabilities
	// Receive takes events from the platform until the context ends or the platform refuses for good. cursor is what was last accepted (nil:
	// from now). accept returns when everything is durable, and only then may the platform be told so; it may be called from one goroutine at a time per
	// ordered stream. Receive returns nil only when the context ended.
	Receive(ctx context.Context, cursor []byte, accept func(ctx context.Context, events []Inbound, cursor []byte) error) error
	// Send posts a message and returns the platform's id of it. Errors are *SendError where the adapter knows more.
	Send(ctx context.Context, m Message) (id string, err error)
	// Edit changes a message that was sent. Equal content is success.
	Edit(ctx context.Context, id string, m Message) error
	// Fetch opens an attachment; the caller closes it and limits what it reads.
	Fetch(ctx context.Context, place Place, a Attachment) (io.ReadCloser, error)
}

// Extra abilities of an adapter, each one method.
type (
	// Typer shows that work goes on, for some seconds.
	Typer interface {
		Typing(ctx context.Context, p Place) error
	}
	// Reactor marks a message with a reaction that acknowledges it: "seen", "queued", "done".
	Reactor interface {
		React(ctx context.Context, p Place, message, mark string) error
	}
	// Answerer tells the platform that a press or command was taken, with a short private note.
	Answerer interface {
		Answer(ctx context.Context, callback, note string) error
	}
	// Finder looks for a message by its marker after an unclear send. ok is false when it is not there.
	Finder interface {
		Find(ctx context.Context, p Place, marker string) (id string, ok bool, err error)
	}
	// Threader opens a thread for a new session under a message, or at the top of a channel when message is empty.
	Threader interface {
		OpenThread(ctx context.Context, p Place, message, title string) (Place, error)
	}
	// Director finds the conversation between one person and the bot, and begins it where the platform lets the bot do so. Errors are as those of Send.
	Director interface {
		Direct(ctx context.Context, p Person) (Place, error)
	}
	// Asker shows a form to whoever pressed a button, which has to be soon after the press. What they fill in comes as InForm, once; they may never do so. Errors are
	// as those of Send.
	Asker interface {
		Ask(ctx context.Context, callback string, f Form) error
	}
	// Homer shows a person the page that is theirs alone, in place of what was there. A press on it comes from a place without a channel. What does not fit is left
	// out, from the end; errors are as those of Send.
	Homer interface {
		ShowHome(ctx context.Context, p Person, page []Item) error
	}
	// Namer tells what a person is called, "" where that is not known. It takes little time, and decides nothing: names change hands.
	Namer interface {
		Called(ctx context.Context, p Person) string
	}
	// Linker is the address of a place for people, "" where none is known.
	Linker interface {
		Link(p Place) string
	}
	// Menuer shows commands in the platform's own menu: at a place, in all chats with one person for a place that is only Private, or everywhere else for the zero place. A
	// platform that does not tell these apart shows what came last.
	Menuer interface {
		SetMenu(ctx context.Context, p Place, commands [][2]string) error
	}
	// Limited says how many Receives may go on at once: here, in this process, and in total over all replicas. A total of 0 is no limit: every replica
	// receives. An adapter without it is received once by every replica that has it.
	Limited interface {
		Sockets() (here, total int)
	}
	// Checker says in one sentence what is wrong with the connection; nil: nothing.
	Checker interface {
		Check(ctx context.Context) error
	}
	// Catcher gives what people wrote at a place since a time, oldest first and each as the event that its delivery would have been, with the same ID: what was missed
	// while nobody received. The adapter bounds how much that is. A platform that keeps events for who was away needs none.
	Catcher interface {
		CatchUp(ctx context.Context, p Place, since time.Time) ([]Inbound, error)
	}
	// Historian gives what was written at a place before a message, oldest first and without what the bot wrote, as far as the platform lets it look: the newest n at
	// most, and whether there was more.
	Historian interface {
		History(ctx context.Context, p Place, before string, n int) (said []Inbound, more bool, err error)
	}
	// Prober asks the platform what can be asked without receiving: what account this is, what it may, how events come in, each in a few words. The error says what
	// does not work, and what to do.
	Prober interface {
		Probe(ctx context.Context) (found []string, err error)
	}
	// Noter tells what limits the bot on this platform without being wrong, in sentences that say how to change it.
	Noter interface {
		Notes() []string
	}
)

// SendFault says what an unsuccessful send or edit means for the message.
type SendFault string

const (
	FaultRate    SendFault = "rate"    // After says how long the chat (or, if Everywhere, the platform) must rest; certainly not sent
	FaultMarkup  SendFault = "markup"  // the text's markup was refused; send Plain
	FaultGone    SendFault = "gone"    // the chat, thread or message is not there any more, or the bot was removed
	FaultRefused SendFault = "refused" // the platform will never take this message
	FaultRetry   SendFault = "retry"   // certainly not sent; try again
	FaultUnclear SendFault = "unclear" // may have been sent
)

// SendError is the error of Send and Edit. Its text holds no secret.
type SendError struct {
	Fault      SendFault
	After      time.Duration // FaultRate
	Everywhere bool          // FaultRate: not only this chat
	MovedTo    Place         // FaultGone: the chat lives on there
	Err        error
}

func (e *SendError) Error() string { return fmt.Sprintf("send (%s): %v", e.Fault, e.Err) }

// Unwrap gives the cause.
func (e *SendError) Unwrap() error { return e.Err }
