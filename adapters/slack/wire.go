package slack

import "encoding/json"

// What is read of the platform's JSON. Every field that is not named here is ignored, whatever its form.

// Types of what comes in, over the socket or by HTTP.
const (
	typeEvent    = "events_api"
	typePress    = "interactive"
	typeCommand  = "slash_commands"
	typeCallback = "event_callback"
	typeVerify   = "url_verification"
)

// envelope is a frame of the socket.
type envelope struct {
	ID      string          `json:"envelope_id"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// eventCallback is the payload around an event.
type eventCallback struct {
	Type      string          `json:"type"`
	Challenge string          `json:"challenge"`
	Event     json.RawMessage `json:"event"`
}

// head is what decides how the rest of an event is read.
type head struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
}

// message is a message, and the event that tells of one.
type message struct {
	head
	Channel    string   `json:"channel"`
	User       string   `json:"user"`
	Team       string   `json:"team"`
	UserTeam   string   `json:"user_team"`   // of the author, in shared channels
	SourceTeam string   `json:"source_team"` // where it was written
	BotID      string   `json:"bot_id"`
	AppID      string   `json:"app_id"`
	Username   string   `json:"username"` // of some bots
	Profile    profile  `json:"bot_profile"`
	Text       string   `json:"text"`
	TS         string   `json:"ts"`
	Thread     string   `json:"thread_ts"`
	EventTS    string   `json:"event_ts"`
	Edited     *edited  `json:"edited"`
	Files      []file   `json:"files"`
	New        *message `json:"message"`          // message_changed
	Old        *message `json:"previous_message"` // message_changed, message_deleted
	DeletedTS  string   `json:"deleted_ts"`
	Blocks     []block  `json:"blocks"`
	Metadata   metadata `json:"metadata"`
}

type profile struct {
	Name string `json:"name"`
}

type edited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

type block struct {
	ID string `json:"block_id"`
}

// metadata is what the bot puts on its messages to find them again; other apps put other things there.
type metadata struct {
	Type    string          `json:"event_type"`
	Payload json.RawMessage `json:"event_payload"`
}

type file struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Type     string `json:"mimetype"`
	Size     int64  `json:"size"`
	Mode     string `json:"mode"` // "tombstone": deleted, "hidden_by_limit": too old to see
	Download string `json:"url_private_download"`
	Private  string `json:"url_private"`
	Shares   struct {
		Public  map[string][]share `json:"public"`
		Private map[string][]share `json:"private"`
	} `json:"shares"`
}

type share struct {
	TS string `json:"ts"`
}

// member tells that somebody came or went.
type member struct {
	Type    string `json:"type"`
	User    string `json:"user"`
	Channel string `json:"channel"`
	Inviter string `json:"inviter"`
	Actor   string `json:"actor_id"`
	EventTS string `json:"event_ts"`
}

// shortcut is what deploy/slack/manifest.yaml calls the message shortcut.
const shortcut = "ask"

// interaction is the press of a button, or the use of a message shortcut.
type interaction struct {
	Type       string `json:"type"`
	Trigger    string `json:"trigger_id"`
	CallbackID string `json:"callback_id"`
	User       struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Nick string `json:"username"`
		Team string `json:"team_id"`
	} `json:"user"`
	Team *struct {
		ID string `json:"id"`
	} `json:"team"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Container struct {
		Channel   string `json:"channel_id"`
		Message   string `json:"message_ts"`
		Thread    string `json:"thread_ts"`
		Ephemeral bool   `json:"is_ephemeral"`
	} `json:"container"`
	Message  *message `json:"message"`
	View     *view    `json:"view"`
	Actions  []action `json:"actions"`
	ActionTS string   `json:"action_ts"`
	Response string   `json:"response_url"`
}

// view is a form that was filled in, or the page on which a button was pressed.
type view struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Callback string `json:"callback_id"`
	Metadata string `json:"private_metadata"`
	State    struct {
		Values map[string]map[string]struct {
			Value string `json:"value"`
		} `json:"values"`
	} `json:"state"`
}

// opened tells that somebody opened the bot's page.
type opened struct {
	User    string `json:"user"`
	Tab     string `json:"tab"`
	EventTS string `json:"event_ts"`
}

type action struct {
	ID    string `json:"action_id"`
	Value string `json:"value"`
	TS    string `json:"action_ts"`
}

// command is a slash command; by HTTP its fields come as a form.
type command struct {
	Team     string `json:"team_id"`
	Channel  string `json:"channel_id"`
	User     string `json:"user_id"`
	UserName string `json:"user_name"`
	Text     string `json:"text"`
	Response string `json:"response_url"`
	Trigger  string `json:"trigger_id"`
}
