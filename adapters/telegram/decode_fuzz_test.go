package telegram

import (
	"log/slog"
	"testing"
	"unicode/utf8"
)

// FuzzInbound: no update breaks the adapter, and what it makes of one is whole.
func FuzzInbound(f *testing.F) {
	for _, s := range []string{
		`{"update_id":1,"message":{"message_id":5,"date":1,"chat":{"id":7,"type":"private"},"from":{"id":7,"first_name":"A"},"text":"/new@our_bot x"}}`,
		`{"update_id":1,"message":{"message_id":5,"chat":{"id":7},"text":"🙂@our_bot x","entities":[{"type":"mention","offset":2,"length":8}]}}`,
		`{"update_id":1,"message":{"message_id":5,"chat":{"id":7},"text":"abc","entities":[{"type":"mention","offset":-1,"length":9999999999}]}}`,
		`{"update_id":1,"message":{"message_id":5,"chat":{"id":7},"text":"abc","entities":[{"type":"mention","offset":9223372036854775807,"length":1}]}}`,
		`{"update_id":1,"edited_message":{"message_id":5,"edit_date":3,"chat":{"id":7},"caption":"abc","reply_to_message":{"from":null}}}`,
		`{"update_id":1,"callback_query":{"id":"9","from":{"id":7},"data":"t","message":{"message_id":5,"date":0,"chat":{"id":7}}}}`,
		`{"update_id":1,"my_chat_member":{"chat":{"id":7},"new_chat_member":{"status":"member"}}}`,
		`{"update_id":1,"message":{"message_id":5,"chat":{"id":7},"migrate_to_chat_id":-1007}}`,
		`{"update_id":"x"}`, `[]`, `null`,
	} {
		f.Add([]byte(s))
	}
	a := &Adapter{log: slog.New(slog.DiscardHandler)}
	me := account{ID: 4242, Username: "our_bot"}
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, ok := a.decode(raw)
		if !ok {
			return
		}
		e, ok := inbound(u, me)
		if !ok {
			return
		}
		if e.ID == "" || e.Kind == "" || e.Place.Platform != platform || e.Place.Channel == "" {
			t.Errorf("event %+v of %s lacks something", e, raw)
		}
		if !utf8.ValidString(e.Text) {
			t.Errorf("text %q of %s is not text", e.Text, raw)
		}
	})
}
