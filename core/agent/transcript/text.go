package transcript

// Silent is what people read of a model that gave no answer; Interrupted, what the model reads of calls that never ran.
const (
	Silent      = "The model gave no answer."
	silentDid   = "The model gave no answer after %d tool calls; the last was: %s"
	Interrupted = "interrupted: it did not run, because the request ended before"
)

// What stands in a conversation for what was left out.
const (
	tellsArguments  = "%d characters left out of these older arguments"
	tellsShortened  = "\n[… %d characters left out of this older result; run the tool again if you need them …]\n"
	tellsLeftOut    = "Earlier requests of this conversation, with what was done:\n"
	tellsLeftOutFor = "- %q\n  done: %s\n  changed: %s\n"
	tellsNothing    = "nothing"
)
