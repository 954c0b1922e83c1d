package app_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"paragents/adapters/telegram/telegramtest"
	"paragents/cmd/paragents/app"
	"paragents/cmd/paragents/config"
)

// menuOf is the names of the commands that a scope shows.
func (w *world) menuOf(scope string) []string {
	var list []struct{ Command string }
	if err := json.Unmarshal(w.tg.Menu(scope), &list); err != nil {
		return nil
	}
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.Command
	}
	return out
}

// The menu shows the everyday commands, in a chat of one's own the first steps as well, and whoever asked for these sees what they may do.
func TestMenus(t *testing.T) {
	w := begin(t, bobToo)
	ann, bob := w.tg.Private(w.admin), w.tg.Private(telegramtest.Bob)
	w.tg.Post(telegramtest.Post{Chat: ann, From: w.admin, Text: "/start"})
	w.tg.Post(telegramtest.Post{Chat: bob, From: telegramtest.Bob, Text: "/start"})
	scopes := map[string]string{"groups": `{"type":"default"}`, "private": `{"type":"all_private_chats"}`, "ann": `{"type":"chat","chat_id":101}`, "bob": `{"type":"chat","chat_id":102}`}
	w.until("the menus", func() bool {
		return !slices.ContainsFunc([]string{"groups", "private", "ann", "bob"}, func(s string) bool { return w.menuOf(scopes[s]) == nil })
	})
	for scope, want := range map[string]struct{ has, hasNot []string }{
		"groups":  {[]string{"new", "list", "stop", "approvals", "approve", "deny", "help"}, []string{"start", "pair", "audit", "quit"}},
		"private": {[]string{"new", "switch", "start"}, []string{"pair", "audit", "quit"}},
		"ann":     {[]string{"new", "start", "pair", "audit", "show_config"}, []string{"quit"}},
		"bob":     {[]string{"new", "start"}, []string{"pair", "audit", "show_config", "quit"}},
	} {
		got := w.menuOf(scopes[scope])
		for _, c := range want.has {
			if !slices.Contains(got, c) {
				t.Errorf("the menu of %s has no %s: %v", scope, c, got)
			}
		}
		for _, c := range want.hasNot {
			if slices.Contains(got, c) {
				t.Errorf("the menu of %s has %s: %v", scope, c, got)
			}
		}
	}
}

// B015: privacy mode is said where somebody looks for why the bot is deaf; in it commands, replies and what is sent to others work as they should.
func TestB015Privacy(t *testing.T) {
	tg := telegramtest.New(t)
	tg.Privacy(true)
	w := beginOn(t, tg)
	group := w.tg.Group("supergroup", "ops")
	say := func(text string, reply int64) {
		w.tg.Post(telegramtest.Post{Chat: group, From: w.admin, Text: text, ReplyTo: reply})
	}
	say("repeat after me: chatter", 0)
	say("/ask@other_bot repeat after me: for another", 0)
	say("/ask@"+telegramtest.BotName+" repeat after me: asked", 0)
	asked := w.wait(group, "an answer", func(m telegramtest.Message) bool {
		return strings.Contains(m.Text, "asked") && strings.Contains(m.Text, "[done]")
	})
	say("repeat after me: replied", asked.ID)
	w.wait(group, "an answer to the reply", func(m telegramtest.Message) bool {
		return strings.Contains(m.Text, "replied") && strings.Contains(m.Text, "[done]")
	})
	for _, command := range []string{"/status", "/setup"} {
		say(command+"@"+telegramtest.BotName, 0)
		w.wait(group, "privacy mode in "+command, func(m telegramtest.Message) bool {
			return strings.Contains(m.Text, "privacy mode is on") && strings.Contains(m.Text, map[string]string{"/status": "workspace", "/setup": "Connected"}[command])
		})
	}
	for _, m := range w.tg.Messages(group) {
		if m.FromBot && (strings.Contains(m.Text, "chatter") || strings.Contains(m.Text, "for another")) {
			t.Errorf("the bot answered %q", m.Text)
		}
	}
}

// With privacy off, chatter that is not for the bot starts nothing.
func TestB015NoPrivacy(t *testing.T) {
	w := begin(t)
	group := w.tg.Group("supergroup", "ops")
	w.tg.Post(telegramtest.Post{Chat: group, From: w.admin, Text: "repeat after me: chatter"})
	w.tg.Post(telegramtest.Post{Chat: group, From: w.admin, Text: "@other_bot repeat after me: for another"})
	w.tg.Post(telegramtest.Post{Chat: group, From: w.admin, Text: "@" + telegramtest.BotName + " repeat after me: for us"})
	w.shows(group, "for us")
	for _, m := range w.tg.Messages(group) {
		if m.FromBot && !strings.Contains(m.Text, "for us") {
			t.Errorf("the bot answered %q", m.Text)
		}
	}
}

// setup takes no secret, and repeats none; the configuration is for admins, and holds none either.
func TestSetupTakesNoSecret(t *testing.T) {
	const key = "sk-canary-0123456789abcdef"
	w := begin(t, bobToo, func(c *config.Config) { c.LLM.APIKey = config.NewSecret(key) })
	ann, bob := w.tg.Private(w.admin), w.tg.Private(telegramtest.Bob)
	w.tg.Post(telegramtest.Post{Chat: ann, From: w.admin, Text: "/setup " + key})
	w.shows(ann, "secrets do not belong here")
	w.tg.Post(telegramtest.Post{Chat: ann, From: w.admin, Text: "/setup"})
	w.shows(ann, "telegram: connected")
	w.tg.Post(telegramtest.Post{Chat: ann, From: w.admin, Text: "/show_config"})
	w.shows(ann, "workspaces:")
	w.tg.Post(telegramtest.Post{Chat: bob, From: telegramtest.Bob, Text: "/show_config"})
	w.shows(bob, "You need to be admin for that")
	for _, m := range w.tg.Messages(ann) {
		if m.FromBot && (strings.Contains(m.Text, key) || m.File != nil && bytes.Contains(m.File.Data, []byte(key))) {
			t.Errorf("a secret is shown: %q", m.Text)
		}
	}
}

// doctor says what limits the bot without being wrong.
func TestDoctorNotes(t *testing.T) {
	tg := telegramtest.New(t)
	tg.Privacy(true)
	dir := t.TempDir()
	path := filepath.Join(dir, "paragents.yaml")
	text := "llm: {provider: demo}\nstore: {url: \"file:" + filepath.Join(dir, "state", "state.db") + "\"}\nworkspaces: [{name: default, path: " + dir + "}]\ntelegram: {bot_token: \"" +
		telegramtest.Token + "\", api_url: \"" + tg.URL() + "\"}\naccess: {admins: [\"telegram:101\"]}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := &app.Setup{ConfigPath: path, Version: "test", Stderr: t.Output()}
	s.Doctor(t.Context(), &out)
	for _, want := range []string{"✓ telegram: bot @", "! telegram: Telegram privacy mode is on"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("doctor does not say %q:\n%s", want, out.String())
		}
	}
}
