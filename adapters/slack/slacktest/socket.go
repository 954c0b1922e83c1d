package slacktest

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// maxSockets is how many sockets an app may have.
const maxSockets = 10

// pingEvery is how often a socket is pinged; Slack's own rhythm is slower.
const pingEvery = 100 * time.Millisecond

// conn is one socket.
type conn struct {
	*websocket.Conn
	write sync.Mutex
	dead  bool
}

func (c *conn) send(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.write.Lock()
	defer c.write.Unlock()
	if err := c.SetWriteDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	return c.WriteMessage(websocket.TextMessage, raw)
}

// frame is what goes over a socket.
type frame struct {
	Type     string          `json:"type"`
	ID       string          `json:"envelope_id,omitempty"`
	Payload  json.RawMessage `json:"payload,omitempty"`
	Accepts  bool            `json:"accepts_response_payload"`
	Attempt  int             `json:"retry_attempt,omitempty"`
	Reason   string          `json:"retry_reason,omitempty"`
	Number   int             `json:"num_connections,omitempty"`
	Info     *frameInfo      `json:"connection_info,omitempty"`
	Debug    *frameDebug     `json:"debug_info,omitempty"`
	GoReason string          `json:"reason,omitempty"`
}

type frameInfo struct {
	App string `json:"app_id"`
}

type frameDebug struct {
	Host string `json:"host"`
}

func (s *Server) open() (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ticket := s.number("ticket")
	s.tickets[ticket] = true
	return struct {
		answer
		URL string `json:"url"`
	}{answer{OK: true}, "ws://" + s.gate.Addr().String() + "/link?ticket=" + ticket + "&app_id=" + AppID}, nil
}

// socket serves one socket until it closes.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	s.wg.Add(1) // a socket is none of the web server's any more
	defer s.wg.Done()
	s.mu.Lock()
	ticket := r.URL.Query().Get("ticket")
	ok := s.tickets[ticket]
	delete(s.tickets, ticket)
	s.mu.Unlock()
	if !ok {
		http.Error(w, "no such ticket", http.StatusForbidden)
		return
	}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }} // clients say api.slack.com
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &conn{Conn: ws}
	defer c.Close() //nolint:errcheck // it is over
	s.mu.Lock()
	n := len(s.sockets) + 1
	s.mu.Unlock()
	if c.send(frame{Type: "hello", Number: n, Info: &frameInfo{AppID}, Debug: &frameDebug{"applink-1"}}) != nil {
		return
	}
	if n > maxSockets {
		c.send(frame{Type: "disconnect", GoReason: "too_many_websockets", Debug: &frameDebug{"applink-1"}}) //nolint:errcheck // it closes now
		return
	}
	s.mu.Lock()
	s.sockets = append(s.sockets, c)
	s.opened++
	s.changed.Broadcast()
	s.mu.Unlock()
	defer s.closed(c)
	done := make(chan struct{})
	var pinger sync.WaitGroup
	pinger.Go(func() { s.ping(c, done) })
	defer pinger.Wait()
	defer close(done)
	s.pump()
	for {
		_, raw, err := c.ReadMessage()
		if err != nil {
			return
		}
		s.acknowledged(c, raw)
	}
}

func (s *Server) ping(c *conn, done chan struct{}) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			s.mu.Lock()
			quiet := s.mute || c.dead
			s.mu.Unlock()
			if quiet {
				continue
			}
			if c.WriteControl(websocket.PingMessage, []byte("ping"), time.Now().Add(time.Second)) != nil {
				return
			}
		}
	}
}

// closed forgets a socket; what it did not acknowledge comes again.
func (s *Server) closed(c *conn) {
	s.mu.Lock()
	s.sockets = slices.DeleteFunc(s.sockets, func(x *conn) bool { return x == c })
	var lost []*delivery
	for id, d := range s.flying {
		if d.on == c {
			d.timer.Stop()
			delete(s.flying, id)
			lost = append(lost, d)
		}
	}
	slices.SortFunc(lost, func(a, b *delivery) int { return a.number - b.number })
	s.pending = append(lost, s.pending...)
	s.changed.Broadcast()
	s.mu.Unlock()
	s.pump()
}

// delivery is one payload on its way to the app.
type delivery struct {
	number  int
	id      string // envelope
	kind    string
	payload json.RawMessage
	again   bool // it is tried again
	attempt int
	on      *conn
	timer   *time.Timer
}

// Delivery is what became of one envelope.
type Delivery struct {
	Envelope string
	Kind     string
	Attempt  int // from 0
	Acked    bool
	Took     time.Duration
	Payload  json.RawMessage
	sent     time.Time
}

// Deliveries lists the attempts to deliver over sockets, oldest first.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.delivered)
}

// Settled waits until everything was acknowledged or given up.
func (s *Server) Settled() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.await("all acknowledgements", func() bool { return len(s.pending)+len(s.flying) == 0 })
}

// Sockets says how many are open, and how many were opened in all.
func (s *Server) Sockets() (now, ever int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets), s.opened
}

// Connected waits until n sockets are open, of at least ever that were opened in all.
func (s *Server) Connected(n, ever int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.await("sockets", func() bool { return len(s.sockets) == n && s.opened >= ever })
}

// Kill makes the sockets that are open dead: nothing comes from them any more, and nothing says so.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sockets {
		c.dead = true
	}
}

// Refresh asks the app to open its sockets anew, as Slack does every few hours.
func (s *Server) Refresh() {
	s.mu.Lock()
	open := slices.Clone(s.sockets)
	s.mu.Unlock()
	for _, c := range open {
		c.send(frame{Type: "disconnect", GoReason: "refresh_requested", Debug: &frameDebug{"applink-1"}}) //nolint:errcheck // it may have gone
	}
}

// Forget drops what is on its way to the app, as Slack does when nobody has taken it for some minutes.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, d := range s.flying {
		d.timer.Stop()
		delete(s.flying, id)
	}
	s.pending = nil
	s.changed.Broadcast()
}

// Push sends a frame of any form over a socket, once one is open.
func (s *Server) Push(raw string) {
	s.t.Helper()
	s.mu.Lock()
	s.await("a socket", func() bool { return len(s.sockets) > 0 })
	if len(s.sockets) == 0 {
		s.mu.Unlock()
		return
	}
	c := s.sockets[0]
	s.mu.Unlock()
	c.send(json.RawMessage(raw)) //nolint:errcheck // it may have gone
}

// enqueue takes a payload for delivery; s.mu is held.
func (s *Server) enqueue(kind string, payload any, again bool) {
	raw, err := json.Marshal(payload)
	if err != nil {
		s.t.Errorf("encode payload: %v", err)
		return
	}
	s.next++
	d := &delivery{number: s.next, id: s.number("envelope-"), kind: kind, payload: raw, again: again}
	if s.hook != "" {
		s.wg.Go(func() { s.callBack(d) })
		return
	}
	s.pending = append(s.pending, d)
	s.wg.Go(s.pump)
}

// pump sends what waits, in order, each over one of the sockets in turn.
func (s *Server) pump() {
	for {
		s.mu.Lock()
		var open []*conn
		for _, c := range s.sockets {
			if !c.dead {
				open = append(open, c)
			}
		}
		if len(open) == 0 || len(s.pending) == 0 {
			if len(s.sockets) > 0 && len(s.pending) > 0 { // only dead sockets: what is sent there is lost, for now
				s.fly(s.pending[0], s.sockets[0])
				s.pending = s.pending[1:]
				s.mu.Unlock()
				continue
			}
			s.mu.Unlock()
			return
		}
		d := s.pending[0]
		s.pending = s.pending[1:]
		s.turn++
		c := open[s.turn%len(open)]
		s.fly(d, c)
		f := frame{Type: d.kind, ID: d.id, Payload: d.payload, Accepts: d.kind != "events_api", Attempt: d.attempt}
		if d.attempt > 0 {
			f.Reason = "timeout"
		}
		err := c.send(f) // under s.mu, so that the order is kept
		s.mu.Unlock()
		if err != nil {
			c.Close() //nolint:errcheck // its reader ends, and what was on it comes again
		}
	}
}

// fly notes that a delivery is on its way; s.mu is held.
func (s *Server) fly(d *delivery, c *conn) {
	d.on = c
	s.flying[d.id] = d
	s.delivered = append(s.delivered, Delivery{Envelope: d.id, Kind: d.kind, Attempt: d.attempt, Payload: d.payload, sent: time.Now()})
	d.timer = time.AfterFunc(s.ackWait, func() { s.late(d) })
}

// late takes a delivery back that was not acknowledged. Events are tried three times more; Slack waits nothing, a minute and five minutes before that.
func (s *Server) late(d *delivery) {
	s.mu.Lock()
	if s.flying[d.id] == d && s.base.Err() == nil {
		delete(s.flying, d.id)
		if d.attempt++; d.again && d.attempt <= 3 {
			s.pending = append([]*delivery{d}, s.pending...)
		}
		s.changed.Broadcast()
	}
	s.mu.Unlock()
	s.pump()
}

func (s *Server) acknowledged(c *conn, raw []byte) {
	var ack struct {
		ID string `json:"envelope_id"`
	}
	if json.Unmarshal(raw, &ack) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.dead {
		return
	}
	d := s.flying[ack.ID]
	if d != nil {
		d.timer.Stop()
		delete(s.flying, ack.ID)
	}
	for i := len(s.delivered) - 1; i >= 0; i-- {
		if x := &s.delivered[i]; x.Envelope == ack.ID {
			x.Acked, x.Took = true, time.Since(x.sent)
			break
		}
	}
	s.changed.Broadcast()
}
