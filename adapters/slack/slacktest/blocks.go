package slacktest

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// parseBlocks reads and checks blocks as the platform does: with a pointer to what is wrong.
func parseBlocks(raw string) ([]Block, *refusal) {
	if raw == "" {
		return nil, nil
	}
	var blocks []Block
	if json.Unmarshal([]byte(raw), &blocks) != nil {
		return nil, no("invalid_blocks_format")
	}
	if len(blocks) > 50 {
		return nil, no("invalid_blocks", "no more than 50 items allowed [json-pointer:/blocks]")
	}
	ids := map[string]bool{}
	markdown := 0
	for i, b := range blocks {
		at := fmt.Sprintf("/blocks/%d", i)
		if b.ID != "" && ids[b.ID] {
			return nil, no("invalid_blocks", "block_id already exists ["+at+"/block_id]")
		}
		ids[b.ID] = true
		if wrong := length(at+"/block_id", b.ID, 0, 255); wrong != nil {
			return nil, wrong
		}
		switch b.Type {
		case "markdown":
			markdown += utf8.RuneCountInString(b.Text.Text)
			if wrong := length(at+"/text", b.Text.Text, 1, 12000); wrong != nil {
				return nil, wrong
			}
		case "section":
			if wrong := length(at+"/text/text", b.Text.Text, 1, 3000); wrong != nil {
				return nil, wrong
			}
		case "actions":
			if wrong := checkActions(at, b.Elements); wrong != nil {
				return nil, wrong
			}
		default:
			return nil, no("invalid_blocks", "unsupported type: "+b.Type+" [json-pointer:"+at+"/type]")
		}
	}
	if markdown > 12000 {
		return nil, no("msg_too_long")
	}
	return blocks, nil
}

func checkActions(at string, items []blockItem) *refusal {
	if len(items) == 0 || len(items) > 25 {
		return no("invalid_blocks", "must have 1 to 25 items [json-pointer:"+at+"/elements]")
	}
	ids := map[string]bool{}
	for i, e := range items {
		at := fmt.Sprintf("%s/elements/%d", at, i)
		switch {
		case e.Type != "button" || e.Text.Type != "plain_text":
			return no("invalid_blocks", "unsupported element [json-pointer:"+at+"]")
		case e.ID != "" && ids[e.ID]:
			return no("invalid_blocks", "action_id already exists ["+at+"/action_id]")
		case e.Style != "" && e.Style != "primary" && e.Style != "danger":
			return no("invalid_blocks", "must be one of primary, danger ["+at+"/style]")
		}
		ids[e.ID] = true
		for _, wrong := range []*refusal{
			length(at+"/text/text", e.Text.Text, 1, 75), length(at+"/value", e.Value, 0, 2000), length(at+"/action_id", e.ID, 0, 255),
		} {
			if wrong != nil {
				return wrong
			}
		}
	}
	return nil
}

func length(at, s string, least, most int) *refusal {
	switch n := utf8.RuneCountInString(s); {
	case n < least:
		return no("invalid_blocks", fmt.Sprintf("must be more than %d characters [json-pointer:%s]", least-1, at))
	case n > most:
		return no("invalid_blocks", fmt.Sprintf("must be less than %d characters [json-pointer:%s]", most+1, at))
	}
	return nil
}
