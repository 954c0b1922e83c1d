package page

import (
	"fmt"

	"paragents/bot/phrase"
	"paragents/core"
)

func ApprovalCard(a core.Approval) string { return "approval/" + string(a.ID) }

func SecondCard(a core.Approval) string { return "second/" + string(a.ID) }

func StatusCard(id core.PromptID) string { return "status/" + string(id) }

// Head says which session and prompt a message belongs to, where the place does not.
func Head(l core.Letter, caps core.Capabilities, st core.PromptState) string {
	prefix := fmt.Sprintf("[S:%s][P:%s][%s]", l.Event.Session, l.Event.Prompt, st.Word())
	switch {
	case caps.Lines:
		return prefix + " "
	case l.Place.Thread != "":
		return ""
	}
	return fmt.Sprintf("%s %s\n\n", prefix, phrase.Escape(l.Event.Title))
}

func QuestionCard(id core.PromptID) string { return "question/" + string(id) }

func WorkCard(id core.SessionID) string { return "work/" + string(id) }
