package slacktest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Callback makes the server deliver to an address by HTTP instead of over sockets. The address is verified first, as the platform does.
func (s *Server) Callback(address string) {
	s.t.Helper()
	status, body := s.Sign(address, "application/json", []byte(`{"type":"url_verification","challenge":"ch-1","token":"x"}`), time.Now())
	if status != http.StatusOK || !bytes.Contains(body, []byte("ch-1")) {
		s.t.Errorf("verify %s: status %d, %q", address, status, body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = address
}

// Signature is the signature of a body at a time.
func Signature(body []byte, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(SigningSecret))
	fmt.Fprintf(mac, "v0:%d:%s", at.Unix(), body)
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// Sign posts a body with its signature and returns the answer; status 0: there was none.
func (s *Server) Sign(address, kind string, body []byte, at time.Time, header ...[2]string) (status int, answer []byte) {
	ctx, cancel := context.WithTimeout(s.base, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("X-Slack-Request-Timestamp", strconv.FormatInt(at.Unix(), 10))
	req.Header.Set("X-Slack-Signature", Signature(body, at))
	for _, h := range header {
		if h[0] == "" {
			continue
		}
		req.Header.Set(h[0], h[1])
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	answer, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return 0, nil
	}
	return resp.StatusCode, answer
}

// callBack delivers by HTTP. Events are tried three times more; the pauses are those of Slack, much shortened.
func (s *Server) callBack(d *delivery) {
	s.mu.Lock()
	address := s.hook
	s.mu.Unlock()
	kind, body := "application/json", []byte(d.payload)
	if d.kind != "events_api" {
		kind, body = "application/x-www-form-urlencoded", form(d)
	}
	for attempt := 0; ; attempt++ {
		var retry [][2]string
		if attempt > 0 {
			retry = [][2]string{{"X-Slack-Retry-Num", strconv.Itoa(attempt)}, {"X-Slack-Retry-Reason", "http_error"}}
		}
		begun := time.Now()
		status, _ := s.Sign(address, kind, body, begun, retry...)
		s.mu.Lock()
		s.delivered = append(s.delivered, Delivery{
			Envelope: d.id, Kind: d.kind, Attempt: attempt, Acked: status == http.StatusOK, Took: time.Since(begun), Payload: d.payload, sent: begun,
		})
		s.changed.Broadcast()
		s.mu.Unlock()
		if status == http.StatusOK || !d.again || attempt == 3 {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-s.base.Done():
			return
		}
	}
}

func form(d *delivery) []byte {
	v := url.Values{}
	if d.kind == "interactive" {
		v.Set("payload", string(d.payload))
		return []byte(v.Encode())
	}
	var fields map[string]string
	if json.Unmarshal(d.payload, &fields) != nil {
		return nil
	}
	for k, x := range fields {
		v.Set(k, x)
	}
	return []byte(v.Encode())
}
