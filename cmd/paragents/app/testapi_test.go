package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paragents/adapters/adaptertest/nodetest"
	"paragents/adapters/telegram/telegramtest"
)

// testAPI is a Bot API server that knows nothing of this project: telegram-test-api from npm, in a process of its own.
type testAPI struct {
	t    *testing.T
	url  string
	seen []testMessage
}

// testMessage is what it shows of a message of the bot.
type testMessage struct {
	ID      int64 `json:"messageId"`
	Message struct {
		Text   string `json:"text"`
		Markup struct {
			Rows [][]struct {
				Text string `json:"text"`
				Data string `json:"callback_data"`
			} `json:"inline_keyboard"`
		} `json:"reply_markup"`
	} `json:"message"`
}

// testAPILimit is for the whole journey but the first installation: the process is ended after it whatever it does.
const testAPILimit = 60 * time.Second

func startTestAPI(t *testing.T) *testAPI {
	t.Helper()
	dir := nodetest.Install(t, filepath.Join("testdata", "telegram-test-api"))
	at := free(t)
	ctx, cancel := context.WithTimeout(t.Context(), testAPILimit)
	cmd := exec.CommandContext(ctx, "node", "server.cjs")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "PORT="+at[strings.LastIndex(at, ":")+1:])
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close() //nolint:errcheck // it ends with its input
		cancel()
		cmd.Wait() //nolint:errcheck // killed, unless it was faster
	})
	if !bufio.NewScanner(stdout).Scan() {
		t.Fatal("telegram-test-api did not start")
	}
	return &testAPI{t: t, url: "http://" + at}
}

// call does something as a person.
func (a *testAPI) call(path string, body any, out any) {
	a.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	status, text := ask(a.t, "POST", a.url+path, http.Header{"Content-Type": {"application/json"}}, string(raw))
	if status != http.StatusOK {
		a.t.Fatalf("%s: %d %s", path, status, text)
	}
	if out == nil {
		return
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(out); err != nil {
		a.t.Fatal(err)
	}
}

// person and chat are who writes, as that server's own client has them.
type (
	testUser struct {
		ID        int64  `json:"id"`
		FirstName string `json:"first_name"`
	}
	testChat struct {
		ID   int64  `json:"id"`
		Type string `json:"type"`
	}
	testUpdate struct {
		Token   string      `json:"botToken"`
		Date    int64       `json:"date"`
		From    testUser    `json:"from"`
		Chat    *testChat   `json:"chat,omitempty"`
		Text    string      `json:"text,omitempty"`
		Data    string      `json:"data,omitempty"`
		Message *testUpdate `json:"message,omitempty"`
	}
)

func (a *testAPI) update() testUpdate {
	return testUpdate{Token: telegramtest.Token, Date: time.Now().Unix(), From: testUser{telegramtest.Ann.ID, "Ann"}, Chat: &testChat{telegramtest.Ann.ID, "private"}}
}

func (a *testAPI) say(text string) {
	u := a.update()
	u.Text = text
	a.call("/sendMessage", u, nil)
}

// press presses a button, whose message that server does not repeat whole.
func (a *testAPI) press(m testMessage, label string) {
	for _, row := range m.Message.Markup.Rows {
		for _, b := range row {
			if b.Text == label {
				u, of := a.update(), a.update()
				u.Chat, u.Data, u.Message = nil, b.Data, &of
				a.call("/sendCallback", u, nil)
				return
			}
		}
	}
	a.t.Fatalf("there is no button %q under %q", label, m.Message.Text)
}

// wait waits until the bot has sent something that holds all texts.
func (a *testAPI) wait(texts ...string) testMessage {
	a.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		var page struct {
			Result []testMessage `json:"result"`
		}
		a.call("/getUpdatesHistory", map[string]string{"token": telegramtest.Token}, &page)
		a.seen = page.Result
		for _, m := range slices.Backward(a.seen) {
			if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(m.Message.Text, text) }) {
				return m
			}
		}
		select {
		case <-limit:
			a.t.Fatalf("the bot never sent %q; it has sent %+v", texts, a.seen)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// The bot works on a server that others wrote, as far as that one goes: text, commands, a keyboard, a press, an edit.
func TestOnTelegramTestAPI(t *testing.T) {
	api := startTestAPI(t)
	w := stopped(t, telegramtest.New(t))
	w.url = api.url
	w.serve()
	api.say("/start")
	api.wait("I run agent sessions")
	api.say("repeat after me: hello from elsewhere")
	api.wait("[done]", "\n\nhello from elsewhere")
	api.say("write milk to fridge.txt")
	card := api.wait("May this run?", "milk")
	api.press(card, "Approve once")
	api.wait("wrote")
	if raw, err := os.ReadFile(filepath.Join(w.dir, "fridge.txt")); err != nil || string(raw) != "milk" {
		t.Errorf("fridge.txt: %q, %v", raw, err)
	}
	w.until("the card with the decision", func() bool {
		api.wait("milk")
		i := slices.IndexFunc(api.seen, func(m testMessage) bool { return m.ID == card.ID && strings.Contains(m.Message.Text, "approved") })
		return i >= 0
	})
	api.say("/list")
	api.wait("1. [S:", "hello from elsewhere")
	api.say(fmt.Sprintf("/status@%s", "other_bot")) // for somebody else
	api.say("/nonsense")
	api.wait("There is no command", "nonsense")
}
