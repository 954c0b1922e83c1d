package telegram

// What is read of the platform's JSON. Every field that is not named here is ignored, whatever its form.

type update struct {
	ID       int64          `json:"update_id"`
	Message  *message       `json:"message"`
	Edited   *message       `json:"edited_message"`
	Callback *callbackQuery `json:"callback_query"`
	Member   *memberUpdate  `json:"my_chat_member"`
}

// wanted is sent with every poll and webhook registration: a list that is left out means the list of whoever came before.
const wanted = `["message","edited_message","callback_query","my_chat_member"]`

type message struct {
	ID         int64       `json:"message_id"`
	Thread     int64       `json:"message_thread_id"` // also set on replies outside topics: InTopic decides
	InTopic    bool        `json:"is_topic_message"`
	Date       int64       `json:"date"` // seconds; 0: not accessible any more
	EditDate   int64       `json:"edit_date"`
	From       *user       `json:"from"`
	SenderChat *chat       `json:"sender_chat"` // an anonymous admin or a channel
	ViaBot     *user       `json:"via_bot"`
	Chat       chat        `json:"chat"`
	ReplyTo    *message    `json:"reply_to_message"`
	Quote      *quote      `json:"quote"`
	Album      string      `json:"media_group_id"`
	Text       string      `json:"text"`
	Entities   []entity    `json:"entities"`
	Caption    string      `json:"caption"`
	CapEnts    []entity    `json:"caption_entities"`
	MigratedTo int64       `json:"migrate_to_chat_id"`
	Created    *struct{}   `json:"forum_topic_created"`
	Photo      []photoSize `json:"photo"`
	Document   *document   `json:"document"`
	Audio      *document   `json:"audio"`
	Video      *document   `json:"video"`
	VideoNote  *document   `json:"video_note"`
	Voice      *document   `json:"voice"`
}

type quote struct {
	Text string `json:"text"`
}

type user struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
}

type chat struct {
	ID    int64  `json:"id"`
	Type  string `json:"type"` // private, group, supergroup, channel
	Title string `json:"title"`
}

// entity is a stretch of a text, counted in UTF-16 units.
type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	User   *user  `json:"user"` // text_mention
}

type photoSize struct {
	FileID string `json:"file_id"`
	Width  int    `json:"width"`
	Size   int64  `json:"file_size"`
}

type document struct {
	FileID string `json:"file_id"`
	Name   string `json:"file_name"`
	Type   string `json:"mime_type"`
	Size   int64  `json:"file_size"`
}

type callbackQuery struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}

type memberUpdate struct {
	Chat chat   `json:"chat"`
	From user   `json:"from"`
	Date int64  `json:"date"`
	Old  member `json:"old_chat_member"`
	New  member `json:"new_chat_member"`
}

type member struct {
	Status   string `json:"status"`
	IsMember bool   `json:"is_member"` // of a restricted member
}

// here reports whether the member can take part.
func (m member) here() bool {
	switch m.Status {
	case "creator", "administrator", "member":
		return true
	case "restricted":
		return m.IsMember
	}
	return false
}

// Sent with calls.

type keyboard struct {
	Rows [][]key `json:"inline_keyboard"`
}

type key struct {
	Text  string `json:"text"`
	Data  string `json:"callback_data"`
	Style string `json:"style,omitempty"`
}

type replyParameters struct {
	Message int64 `json:"message_id"`
	Anyway  bool  `json:"allow_sending_without_reply"`
}

type linkPreview struct {
	Off bool `json:"is_disabled"`
}

type reaction struct {
	Type  string `json:"type"`
	Emoji string `json:"emoji"`
}

type command struct {
	Name string `json:"command"`
	Help string `json:"description"`
}

type commandScope struct {
	Type string `json:"type"`
	Chat int64  `json:"chat_id,omitempty"`
}
