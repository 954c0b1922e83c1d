package transcript

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"paragents/core"
	"paragents/core/llm"
	"paragents/core/llm/llmtest"
)

// logs draws transcripts as sessions write them: prompts of answers with calls, whose intents and results follow in any order, or late, or never, or twice.
var logs = rapid.Custom(func(t *rapid.T) []core.Record {
	text := rapid.SampledFrom([]string{"", " ", "word", strings.Repeat("long ", 500), "\xff\x00", "{\"a\":1}"})
	arguments := rapid.SampledFrom([]string{`{}`, `{"path":"a"}`, `{"path":`, ``, `[]`, `null`, `{"a":"\ud83d"}`, `{"content":"` + strings.Repeat("x", 3000) + `"}`, "\xff"})
	names := rapid.SampledFrom([]string{"read_file", "write_file", "no such tool", "", strings.Repeat("n", 90)})
	ids := rapid.SampledFrom([]core.CallID{"call_1", "call_2", "", "\xff"})
	var log Log
	var late []core.Record
	for p := range rapid.IntRange(1, 4).Draw(t, "prompts") {
		prompt := core.PromptID(fmt.Sprint("p", p))
		log.Add(core.Record{Kind: core.RecordUser, Prompt: prompt, Text: fmt.Sprint("request ", p)})
		log.Add(late...)
		late = nil
		for range rapid.IntRange(0, 4).Draw(t, "answers") {
			calls := make([]core.Call, rapid.IntRange(0, 4).Draw(t, "calls"))
			for i := range calls {
				calls[i] = core.Call{ID: ids.Draw(t, "id"), Name: names.Draw(t, "name"), Arguments: arguments.Draw(t, "arguments")}
			}
			rec := core.Record{Kind: core.RecordAssistant, Prompt: prompt, Text: strings.ToValidUTF8(text.Draw(t, "text"), "?"), Calls: log.Normal(calls)}
			if strings.TrimSpace(rec.Text) == "" && len(rec.Calls) == 0 {
				rec.Text = Silent
			}
			log.Add(rec)
			if len(rec.Calls) == 0 { // the prompt is done
				break
			}
			for _, c := range rec.Calls {
				result := core.Record{Kind: core.RecordResult, Prompt: prompt, Call: c.ID, Tool: c.Name, Ending: core.EndOK, Text: strings.ToValidUTF8(text.Draw(t, "result"), "?")}
				switch rapid.IntRange(0, 5).Draw(t, "fate") {
				case 0: // never answered
				case 1: // by the repair of the next prompt's run
					late = append(late, result)
				case 2: // the answer to the first write was lost
					log.Add(result, result)
				case 3:
					log.Add(core.Record{Kind: core.RecordIntent, Prompt: prompt, Call: c.ID, Tool: c.Name}, result)
				default:
					log.Add(result)
				}
			}
		}
	}
	return log.records
})

// B056: wherever the log of a session is cut, and however much of it has to be left out, what the model is asked with is valid. After the repair of the next
// run, every call has its result in the log too.
func TestB056EveryCutOfTheLogIsAValidConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := logs.Draw(t, "log")
		budget := rapid.SampledFrom([]int{1, 2000, 10_000, 1 << 20}).Draw(t, "budget")
		for cut := range records {
			log := Log{records: records[: cut+1 : cut+1]}
			if last := log.records[cut]; last.Kind == core.RecordAssistant && len(last.Calls) == 0 { // an answer: the next prompt follows
				log.Add(core.Record{Kind: core.RecordUser, Prompt: "next", Text: "go on"})
			}
			asked, _ := log.Conversation("system", budget)
			if err := llmtest.Check(llm.Request{Messages: asked}); err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			for _, c := range log.Unanswered() { // what repair does
				log.Add(core.Record{Kind: core.RecordResult, Prompt: c.Prompt, Call: c.ID, Ending: core.EndInterrupted, Text: Interrupted})
			}
			if left := log.Unanswered(); len(left) != 0 {
				t.Fatalf("cut at %d: after the repair %v have no result", cut, left)
			}
			again, _ := log.Conversation("system", budget)
			if err := llmtest.Check(llm.Request{Messages: again}); err != nil {
				t.Fatalf("cut at %d, repaired: %v", cut, err)
			}
		}
	})
}

// What is too much is shortened in this order: old results and arguments, then old requests; the present request stays word for word.
func TestConversationIsShortened(t *testing.T) {
	var log Log
	turn := func(p core.PromptID, n int, chars int) {
		id := core.CallID(fmt.Sprint(p, n))
		log.Add(core.Record{Kind: core.RecordAssistant, Prompt: p, Calls: []core.Call{{ID: id, Name: "write_file", Arguments: `{"content":"` + strings.Repeat("a", chars) + `"}`}}},
			core.Record{Kind: core.RecordResult, Prompt: p, Call: id, Tool: "write_file", Ending: core.EndOK, Text: strings.Repeat("r", chars), Changed: []string{"a.txt"}})
	}
	log.Add(core.Record{Kind: core.RecordUser, Prompt: "p1", Text: "first request"})
	for n := range 6 {
		turn("p1", n, 2000)
	}
	log.Add(core.Record{Kind: core.RecordUser, Prompt: "p2", Text: "second request"})
	turn("p2", 0, 2000)
	whole, cut := log.Conversation("system", 1<<20)
	if cut || Size(whole) < 28_000 {
		t.Fatalf("%d characters, shortened %v", Size(whole), cut)
	}
	less, cut := log.Conversation("system", 20_000)
	if !cut || Size(less) > 20_000 || len(less) != len(whole) || !strings.Contains(less[3].Content, "left out of this older result") || !strings.Contains(less[2].Calls[0].Arguments, "left_out") {
		t.Errorf("%d characters in %d messages, shortened %v", Size(less), len(less), cut)
	}
	if last := llm.Unframe(less[len(less)-1].Content); len(last) != 2000 {
		t.Errorf("the latest result has %d characters", len(last))
	}
	least, cut := log.Conversation("system", 5000)
	if !cut || Size(least) > 5000 {
		t.Errorf("%d characters, shortened %v", Size(least), cut)
	}
	if note := least[1].Content; !strings.Contains(note, "first request") || !strings.Contains(note, "write_file ok") || !strings.Contains(note, "a.txt") {
		t.Errorf("the note says %q", note)
	}
	if least[2].Content != "second request" {
		t.Errorf("behind the note stands %q", least[2].Content)
	}
	for _, m := range least {
		if !utf8.ValidString(m.Content) {
			t.Error("not UTF-8")
		}
	}
}

func TestInvalidCountsAnswersInARow(t *testing.T) {
	var log Log
	answer := func(endings ...core.Ending) {
		calls := make([]core.Call, len(endings))
		for i := range calls {
			calls[i] = core.Call{ID: "c", Name: "x", Arguments: "{}"}
		}
		calls = log.Normal(calls)
		log.Add(core.Record{Kind: core.RecordAssistant, Prompt: "p", Calls: calls})
		for i, e := range endings {
			log.Add(core.Record{Kind: core.RecordResult, Prompt: "p", Call: calls[i].ID, Ending: e})
		}
	}
	for i, c := range []struct {
		endings []core.Ending
		want    int
	}{
		{[]core.Ending{core.EndInvalid, core.EndInvalid, core.EndInvalid}, 1},
		{[]core.Ending{core.EndInvalid}, 2},
		{[]core.Ending{core.EndInvalid, core.EndOK}, 0},
		{[]core.Ending{core.EndInvalid}, 1},
		{[]core.Ending{core.EndError}, 0},
	} {
		if answer(c.endings...); log.Invalid("p") != c.want {
			t.Errorf("answer %d: %d in a row, want %d", i, log.Invalid("p"), c.want)
		}
	}
}
