package scheduler

import "paragents/core/audit"

// Entry is one line of the audit log.
type Entry = audit.Entry
