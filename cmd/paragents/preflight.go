package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"paragents/cmd/paragents/app"
)

type preflightCmd struct {
	Text      string `arg:"" help:"What a prompt would say."`
	JSON      bool   `help:"Print the guess as JSON."`
	Workspace string `help:"Workspace that it would work in. Default: the first." short:"w"`
}

// Run prints what a prompt would probably write, without running anything.
func (c preflightCmd) Run(s *app.Setup) error {
	g, err := s.Preflight(c.Workspace, c.Text)
	if err != nil {
		return err
	}
	if c.JSON {
		out := json.NewEncoder(os.Stdout)
		out.SetEscapeHTML(false)
		return out.Encode(g)
	}
	claims := make([]string, len(g.Claims))
	for i, p := range g.Claims {
		claims[i] = string(p)
	}
	fmt.Printf("confidence %.1f\n", g.Confidence)
	for _, l := range []struct {
		what string
		list []string
	}{{"needs", g.Capabilities}, {"does", g.Actions}, {"writes", g.Writes}, {"reserves", claims}, {"note", g.Notes}} {
		if len(l.list) > 0 {
			fmt.Printf("  %s: %s\n", l.what, strings.Join(l.list, ", "))
		}
	}
	return nil
}
