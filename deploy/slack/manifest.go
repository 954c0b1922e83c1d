// Package slack holds the manifest of the Slack app, and the tests that it asks for what the adapter needs and for nothing else.
package slack

import (
	_ "embed"
	"net/url"
	"strings"
)

// Manifest is what the app is made from.
//
//go:embed manifest.yaml
var Manifest string

// CreateURL is the page on which Slack makes the app, with the manifest filled in.
func CreateURL() string {
	var lines []string
	for line := range strings.Lines(Manifest) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines = append(lines, line)
		}
	}
	return "https://api.slack.com/apps?new_app=1&manifest_yaml=" + strings.ReplaceAll(url.QueryEscape(strings.Join(lines, "")), "+", "%20")
}
