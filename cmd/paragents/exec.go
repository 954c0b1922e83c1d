package main

import (
	"context"

	"paragents/cmd/paragents/app"
)

type execCmd struct {
	Text      string `arg:"" help:"What is to be done."`
	JSON      bool   `help:"Print every event as a line of JSON."`
	Workspace string `help:"Workspace to work in." short:"w"`
}

// Run runs one prompt that nobody can be asked about. Exit status: 0 done, 1 failed, 3 something needed an approval that nobody could give.
func (c execCmd) Run(ctx context.Context, s *app.Setup) error {
	status, err := s.Exec(ctx, app.Exec{Text: c.Text, JSON: c.JSON, Workspace: c.Workspace})
	if err == nil && status != 0 {
		return exit(status)
	}
	return err
}
