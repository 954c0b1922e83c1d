package agent

import (
	"strings"
	"time"
	"unicode/utf8"

	"paragents/core"
	"paragents/core/llm"
	"paragents/core/scheduler"
)

// Progress goes out at most five times a second, in parts of at most 4 kB, as the bells of the store carry them.
const (
	streamEvery = 200 * time.Millisecond
	streamPart  = 3 << 10
)

// stream passes the parts of an answer on while it is written. It belongs to one model call; its methods are called by the goroutine of that.
type stream struct {
	run    *scheduler.Run
	redact func(string) string
	text   strings.Builder
	last   time.Time
}

func newStream(r *scheduler.Run, redact func(string) string) *stream {
	return &stream{run: r, redact: redact}
}

func (s *stream) progress() llm.Progress {
	return llm.Progress{
		Text: func(part string) {
			s.text.WriteString(part)
			if time.Since(s.last) >= streamEvery || s.text.Len() >= streamPart {
				s.close()
			}
		},
		Restart: func() {
			s.text.Reset()
			s.run.Emit(core.Event{Type: core.EventNotice, Text: saysAgain})
		},
		Wait: func(reason string, d time.Duration) {
			s.run.Emit(core.Event{Type: core.EventNotice, Text: reason, Took: d})
		},
	}
}

// close sends what is left.
func (s *stream) close() {
	text := s.text.String()
	s.text.Reset()
	s.last = time.Now()
	for len(text) > 0 {
		n := min(len(text), streamPart)
		for n < len(text) && n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		s.run.Emit(core.Event{Type: core.EventText, Text: s.redact(text[:n])})
		text = text[n:]
	}
}
