package telegram_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"paragents/adapters/adaptertest/nodetest"
	"paragents/adapters/telegram/telegramtest"
)

// TestGrammY checks our Bot API server with a client library that knows nothing of this project, unchanged from its registry. What it
// understands, and what it takes for an error, is what the adapter's tests rest on.
func TestGrammY(t *testing.T) {
	srv := telegramtest.New(t)
	private := srv.Private(telegramtest.Ann)
	group := srv.Group("supergroup", "Ops")
	forum := srv.Group("forum", "Agents")
	flooded := srv.Group("group", "Busy")
	srv.Flood(flooded, time.Hour)
	bot := startGrammY(t, srv)
	ann := func(chat int64, text string) int64 {
		return srv.Post(telegramtest.Post{Chat: chat, From: telegramtest.Ann, Text: text})
	}

	bot.want(`{"saw":"start","username":"our_bot","reads":true}`)
	ann(private, "hello @our_bot")
	bot.want(`{"saw":"text","text":"hello @our_bot","chat":"private","topic":false,"entities":[["mention","@our_bot"]]}`)
	asked := ann(private, "/start now")
	card := bot.next("command")
	if card.Match != "now" || card.Text != "May I & you?" || len(card.Entities) != 1 || card.Entities[0].Type != "bold" {
		t.Errorf("grammY understands its own message as %+v", card)
	}
	if m := last(t, srv, private); m.ReplyTo != asked || m.Preview || len(m.Keyboard) != 1 {
		t.Errorf("shown is %+v", m)
	}
	press := srv.Press(telegramtest.Ann, private, card.ID, "Approve")
	bot.want(`{"saw":"press","data":"yes-1","text":"May I & you?","by":101}`)
	if note, ok := srv.Answered(press); !ok || note != "noted" {
		t.Errorf("press answered %v with %q", ok, note)
	}
	if m := last(t, srv, private); m.Text != "approved" || len(m.Keyboard) != 0 {
		t.Errorf("after the press %+v is shown", m)
	}

	mine := ann(group, "root")
	bot.next("text")
	srv.Post(telegramtest.Post{Chat: group, From: telegramtest.Bob, Text: "answer", ReplyTo: mine})
	bot.want(`{"saw":"text","text":"answer","chat":"supergroup","topic":false,"reply":"root","entities":[]}`)
	srv.Edit(group, mine, "changed")
	bot.want(`{"saw":"edit","text":"changed","dated":true}`)
	srv.SetMember(group, telegramtest.Ann, "kicked")
	bot.want(`{"saw":"member","old":"member","new":"kicked"}`)

	ann(forum, "/topic")
	if topic := bot.next("topic"); topic.Thread == 0 || topic.Name != "a session" || last(t, srv, forum).Thread != topic.Thread {
		t.Errorf("topic is %+v, and %+v is shown", topic, last(t, srv, forum))
	} else {
		srv.Post(telegramtest.Post{Chat: forum, Thread: topic.Thread, From: telegramtest.Ann, Text: "in the topic"})
		if e := bot.next("text"); !e.Topic {
			t.Errorf("a message in a topic is %+v", e)
		}
	}

	srv.Post(telegramtest.Post{Chat: private, From: telegramtest.Ann, Text: "read it", File: &telegramtest.Upload{Name: "a.txt", Data: []byte("abc é")}})
	bot.want(`{"saw":"file","text":"abc é","name":"a.txt","size":6}`)
	if m := last(t, srv, private); m.File == nil || string(m.File.Data) != "ABC É" || m.File.Name != "upper.txt" || m.Text != "read it" {
		t.Errorf("shown is %+v", m)
	}

	ann(private, "/limits "+id(flooded))
	for _, want := range []string{
		`{"saw":"error","name":"entities","code":400,"text":"Bad Request: can't parse entities: Unsupported start tag \"ann@example.test\" at byte offset 4"}`,
		`{"saw":"error","name":"long","code":400,"text":"Bad Request: message is too long"}`,
		`{"saw":"error","name":"button","code":400,"text":"Bad Request: BUTTON_DATA_INVALID"}`,
		`{"saw":"error","name":"empty","code":400,"text":"Bad Request: message text is empty"}`,
		`{"saw":"error","name":"general","code":400,"text":"Bad Request: message thread not found"}`,
		`{"saw":"error","name":"no message","code":400,"text":"Bad Request: message to edit not found"}`,
		`{"saw":"error","name":"no chat","code":400,"text":"Bad Request: chat not found"}`,
		`{"saw":"error","name":"same","code":400,"text":"Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"}`,
		`{"saw":"error","name":"old press","code":400,"text":"Bad Request: query is too old and response timeout expired or query ID is invalid"}`,
		`{"saw":"error","name":"reaction","code":400,"text":"Bad Request: REACTION_INVALID"}`,
	} {
		bot.want(want)
	}
	if e := bot.next("error"); e.Name != "flood" || e.Code != 429 || e.After < 3000 || e.After > 3600 {
		t.Errorf("a call to a busy chat is refused with %+v", e)
	}
	bot.want(`{"saw":"error","name":"deleted","code":400,"text":"Bad Request: message to delete not found"}`)
	bot.want(`{"saw":"limits"}`)
	if _, err := bot.stdin.WriteString("stop\n"); err != nil {
		t.Fatal(err)
	}
	bot.want(`{"saw":"end"}`)
	if n := srv.Pending(); n != 0 {
		t.Errorf("%d updates are left: grammY confirms all when it stops", n)
	}
}

// sighting is a line of bot.mjs.
type sighting struct {
	Saw      string
	Match    string
	Text     string
	Name     string
	ID       int64
	Thread   int64
	Topic    bool
	Code     int
	After    int
	Entities []struct{ Type string }
}

type grammY struct {
	t     *testing.T
	lines chan string
	stdin *os.File
}

// grammYLimit is for the whole test but the first installation.
const grammYLimit = 60 * time.Second

func startGrammY(t *testing.T, srv *telegramtest.Server) *grammY {
	dir := nodetest.Install(t, filepath.Join("testdata", "grammy"))
	ctx, cancel := context.WithTimeout(t.Context(), grammYLimit)
	cmd := exec.CommandContext(ctx, "node", "bot.mjs")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "API_ROOT="+srv.URL(), "TOKEN="+telegramtest.Token, "NO_PROXY=*")
	cmd.Stderr = os.Stderr
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = in
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close() //nolint:errcheck // the child has its own
	b := &grammY{t: t, lines: make(chan string, 100), stdin: stdin}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(b.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			b.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		cmd.Wait()    //nolint:errcheck // killed, unless it ended by itself
		stdin.Close() //nolint:errcheck // nobody reads any more
	})
	return b
}

func (b *grammY) line() string {
	b.t.Helper()
	line, ok := <-b.lines
	if !ok {
		b.t.Fatal("the bot on grammY ended, or took too long")
	}
	return line
}

func (b *grammY) want(line string) {
	b.t.Helper()
	if got := b.line(); got != line {
		b.t.Fatalf("grammY: got  %s\nwant %s", got, line)
	}
}

// next reads the next line, of which only a part is foreseen.
func (b *grammY) next(saw string) sighting {
	b.t.Helper()
	var s sighting
	line := b.line()
	if json.Unmarshal([]byte(line), &s); s.Saw != saw {
		b.t.Fatalf("grammY: got %s, want %s", line, saw)
	}
	return s
}
