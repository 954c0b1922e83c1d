package slack_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"paragents/adapters/slack"
	"paragents/adapters/slack/slacktest"
	"paragents/core"
)

// BenchmarkAck delivers 200 messages a second in 20 conversations and reports how late the 99th in a hundred is acknowledged.
func BenchmarkAck(b *testing.B) {
	srv := slacktest.New(b)
	a, err := slack.New(slack.Config{BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, APIURL: srv.URL(), HTTPClient: srv.Client()})
	if err != nil {
		b.Fatal(err)
	}
	r := &reception{events: make(chan core.Inbound, 1<<20)}
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(b.Context())
	go func() { done <- a.Receive(ctx, nil, r.accept) }()
	srv.Connected(1, 1)
	var rooms []string
	for range 20 {
		rooms = append(rooms, srv.Direct())
	}
	tick := time.NewTicker(time.Second / 200)
	defer tick.Stop()
	b.ResetTimer()
	for i := range b.N {
		<-tick.C
		srv.Say(slacktest.Post{Channel: rooms[i%len(rooms)], By: slacktest.Ann, Text: fmt.Sprint("message ", i)})
	}
	srv.Settled()
	b.StopTimer()
	var took []time.Duration
	for _, d := range srv.Deliveries() {
		if !d.Acked {
			b.Errorf("not acknowledged: %s", d.Payload)
		}
		took = append(took, d.Took)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	stop()
	if err := <-done; err != nil {
		b.Error(err)
	}
}
