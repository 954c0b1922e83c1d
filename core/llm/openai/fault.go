package openai

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"paragents/core/llm"
)

// Causes that callers can tell apart with errors.Is.
var (
	ErrSilent  = errors.New("silent stream")
	ErrCut     = errors.New("cut stream")
	ErrTooLong = errors.New("reply too long")
)

// failure is why one attempt gave no reply.
type failure struct {
	fault llm.Fault
	retry bool
	after time.Duration // how long the provider asked to wait; 0: it did not say
	text  string        // goes on after the provider's name: "is overloaded (HTTP 529)"
	err   error         // holds nothing that the provider wrote
}

func (f *failure) Error() string { return f.text }

// with is the failure with more to say.
func (f *failure) with(more string) *failure {
	g := *f
	g.text += ", " + more
	return &g
}

func away(text string, err error) *failure {
	return &failure{fault: llm.FaultAway, retry: true, text: text, err: err}
}

// complaint is what a provider says about an error, in one of the forms that they use.
type complaint struct {
	message, code, kind string
}

// readComplaint understands {"error":{"message","code","type"}}, {"error":"…"}, {"message"|"detail":"…"} and a list around any of them.
// Everything else, such as a web page, is no complaint.
func readComplaint(body []byte) complaint {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	type fields struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
		Type    json.RawMessage `json:"type"`
	}
	var f fields
	if json.Unmarshal(body, &f) != nil {
		return complaint{}
	}
	if len(f.Error) > 0 && !bytes.Equal(f.Error, []byte("null")) {
		var inner fields
		if json.Unmarshal(f.Error, &inner) == nil {
			f = inner
		} else {
			f.Message = f.Error
		}
	}
	c := complaint{message: plain(f.Message), code: plain(f.Code), kind: plain(f.Type)}
	if c.message == "" {
		c.message = plain(f.Detail)
	}
	return c
}

// plain is a JSON string or number as text; anything else is "".
func plain(raw json.RawMessage) string {
	var s string
	var n json.Number
	switch {
	case json.Unmarshal(raw, &s) == nil:
		return s
	case json.Unmarshal(raw, &n) == nil:
		return n.String()
	}
	return ""
}

var (
	quotaWords   = regexp.MustCompile(`(?i)insufficient[_ ]quota|billing_(hard_limit_reached|not_active)|insufficient[_ ](balance|credits?)`)
	contextWords = regexp.MustCompile(`(?i)context[_ ](length|window|size)|maximum context|prompt is too long|too many (input )?tokens|request too large|input is too long|string_above_max_length`)
	// One request over the limit of a minute never passes; a limit of a minute that is used up does.
	tooLargeWords = regexp.MustCompile(`(?i)request too large`)
)

// refusal judges an error by its status (0: it came within a stream) and by what the provider said.
func (b *backend) refusal(status int, c complaint, header http.Header) *failure {
	if n, err := strconv.Atoi(c.code); err == nil && status == 0 && n >= 300 && n < 600 {
		status = n
	}
	said := b.clean(c.message)
	if said != "" {
		said = ": " + said
	}
	in := ""
	if status != 0 {
		in = fmt.Sprintf(" (HTTP %d)", status)
	}
	words := c.code + " " + c.kind
	no := func(fault llm.Fault, text string) *failure { return &failure{fault: fault, text: text} }
	switch {
	case status == http.StatusPaymentRequired, quotaWords.MatchString(words+" "+c.message) && status != http.StatusBadRequest:
		return no(llm.FaultAccount, "has no credit left for this account"+in+"; top it up or use another provider")
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return no(llm.FaultAccount, "does not accept the key"+in+"; check llm.api_key and what the account may use")
	case status == http.StatusRequestEntityTooLarge,
		status < 500 && status != http.StatusTooManyRequests && contextWords.MatchString(words+" "+c.message),
		status == http.StatusTooManyRequests && tooLargeWords.MatchString(c.message):
		return no(llm.FaultContext, "says that the conversation is too long for "+b.Model+in)
	case status == http.StatusTooManyRequests, strings.Contains(words, "rate_limit"):
		return &failure{fault: llm.FaultAway, retry: true, after: retryAfter(header), text: "limits our requests" + in}
	case status == http.StatusRequestTimeout, status >= 500:
		return &failure{fault: llm.FaultAway, retry: true, after: retryAfter(header), text: "is overloaded or broken" + in}
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return no(llm.FaultRequest, "does not know the model "+b.Model+", or the address is wrong"+in+"; check llm.model and llm.base_url")
	case status >= 300 && status < 400:
		return no(llm.FaultRequest, "wants us to go to another address"+in+"; set llm.base_url to the final one")
	case status != 0, strings.Contains(words, "invalid_request"):
		return no(llm.FaultRequest, "refuses this request"+in+said)
	}
	return away("reported an error in the middle of the reply", nil)
}

// unreachable judges an error of the network. Its own text can hold addresses and what the other side sent, so it is not used.
func unreachable(err error) *failure {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var errno syscall.Errno
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		return away("cannot be found: its name does not resolve; check llm.base_url", nil)
	case errors.As(err, &cert):
		return &failure{fault: llm.FaultRequest, text: "shows a certificate that is not trusted here; check llm.base_url"}
	case errors.As(err, &errno):
		return away("cannot be reached: "+errno.Error(), errno)
	case errors.As(err, &timeout) && timeout.Timeout():
		return away("cannot be reached: no answer in time", nil)
	}
	return away("cannot be reached: the connection broke", nil)
}

var (
	keyLike     = regexp.MustCompile(`\b(sk|pk|key|Bearer)[-_ ][\w*.-]{6,}`)
	credentials = regexp.MustCompile(`://[^/\s@]*@`)
)

// saidLimit is how much of a provider's own words is shown, in characters.
const saidLimit = 300

// clean makes a provider's words fit to be shown: one line, of bounded length, without keys, and no web page.
func (b *backend) clean(s string) string {
	if strings.Contains(s, "</") {
		return ""
	}
	if b.APIKey != "" {
		s = strings.ReplaceAll(s, b.APIKey, "[key]")
	}
	s = credentials.ReplaceAllString(keyLike.ReplaceAllString(s, "[key]"), "://")
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > saidLimit {
		s = string(r[:saidLimit]) + "…"
	}
	return s
}

// retryAfter reads how long the provider wants us to wait: milliseconds, seconds, or a date, which counts from the provider's own clock.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return seconds(ms / 1000)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return seconds(s)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return seconds(at.Sub(now).Seconds())
}

// seconds is s as a duration, at most an hour and never negative; NaN is nothing.
func seconds(s float64) time.Duration {
	if !(s > 0) {
		return 0
	}
	return time.Duration(min(s, 3600) * float64(time.Second))
}
