package scheduler

import (
	"time"

	"paragents/core"
)

// Entry is one line of the audit log. It is appended in the same commit as what it tells of, and never changed.
type Entry struct {
	Time    time.Time    `json:"time"`
	What    string       `json:"what"` // accepted, asked, decided, started, refused, ended, ordered …
	Session core.Ref     `json:"session,omitempty"`
	Prompt  core.Ref     `json:"prompt,omitempty"`
	Request core.Ref     `json:"request,omitempty"`
	Who     core.Person  `json:"who,omitempty"` // whose doing it was
	Tool    string       `json:"tool,omitempty"`
	Show    string       `json:"show,omitempty"` // what was shown, whole
	Digest  string       `json:"digest,omitempty"`
	Rule    string       `json:"rule,omitempty"`
	Outcome string       `json:"outcome,omitempty"`
	Why     string       `json:"why,omitempty"`
	Trace   core.TraceID `json:"trace_id,omitempty"`
}
