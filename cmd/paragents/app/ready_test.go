package app_test

import (
	"strings"
	"testing"

	"paragents/adapters/telegram/telegramtest"
	"paragents/cmd/paragents/config"
	"paragents/core"
	"paragents/store/redis"
	"paragents/store/redis/redistest"
)

// What is wrong with Redis is one clear line of /readyz, and work goes on when it is over. Beside that it says who has which duty, and who goes by other rules.
func TestReadyzSaysWhatIsWrongWithRedis(t *testing.T) {
	server := redistest.Start(t)
	st, err := redis.Open(t.Context(), redis.Config{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	at := free(t)
	w := &world{t: t, tg: telegramtest.New(t), dir: t.TempDir(), admin: telegramtest.Ann, store: st, set: []func(*config.Config){func(c *config.Config) { c.Listen = at }}}
	w.serve()
	says := func(status int, text string) {
		t.Helper()
		w.until(text, func() bool {
			got, all := ask(t, "GET", "http://"+at+"/readyz", nil, "")
			return got == status && strings.Contains(all, text)
		})
	}
	says(200, "receive/telegram/0: replica ")
	server.Do(t, "config", "set", "maxmemory-policy", "allkeys-lru")
	says(200, "warning: redis throws live state away")
	server.Do(t, "config", "set", "maxmemory-policy", "noeviction")
	server.Do(t, "config", "set", "maxmemory", "1")
	says(503, string(redis.OutOfMemory))
	server.Do(t, "config", "set", "maxmemory", "0")
	says(200, "ok")
	server.Do(t, "config", "set", "min-replicas-to-write", "1")
	says(503, string(redis.TooFewReplicas))
	server.Do(t, "config", "set", "min-replicas-to-write", "0")
	server.Kill(t)
	says(503, string(redis.Unreachable))
	server.Restart(t)
	says(200, "ok")
	chat := w.tg.Private(w.admin)
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "repeat after me: back again"})
	w.shows(chat, "back again")

	// Another replica with one deny more comes: both say so, and a call that one of them denies is denied on both.
	other, err := redis.Open(t.Context(), redis.Config{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	w.store, w.front = other, true
	w.set = append(w.set, func(c *config.Config) {
		c.Listen = ""
		c.Rules.Deny = []string{"Bash(touch:*)"}
		c.Access.Approvers = []core.Person{"telegram:999"}
	})
	stop := w.serve()
	says(200, "differs in access, rules")
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "run touch made.txt"})
	w.shows(chat, "Bash(touch:*)")
	stop()
	w.until("agreement", func() bool {
		_, all := ask(t, "GET", "http://"+at+"/readyz", nil, "")
		return !strings.Contains(all, "differs")
	})
	w.tg.Post(telegramtest.Post{Chat: chat, From: w.admin, Text: "run touch made.txt"})
	w.asks(chat)
}
