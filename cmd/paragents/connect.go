package main

import (
	"context"
	"os"

	"paragents/cmd/paragents/app"
	"paragents/cmd/paragents/setup"
)

type setupCmd struct {
	Show     setupShowCmd     `cmd:"" default:"1" help:"Show what is connected, and what to run for the rest."`
	Slack    setupSlackCmd    `cmd:"" help:"Connect Slack."`
	Telegram setupTelegramCmd `cmd:"" help:"Connect Telegram."`
}

func here() *setup.Terminal { return &setup.Terminal{In: os.Stdin, Out: os.Stdout} }

type setupShowCmd struct{}

// Run shows.
func (setupShowCmd) Run(ctx context.Context, s *app.Setup) error {
	return setup.Show(ctx, s, here())
}

type setupSlackCmd struct{}

// Run connects Slack.
func (setupSlackCmd) Run(ctx context.Context, s *app.Setup) error {
	return setup.Connect(ctx, s, here(), setup.Slack)
}

type setupTelegramCmd struct{}

// Run connects Telegram.
func (setupTelegramCmd) Run(ctx context.Context, s *app.Setup) error {
	return setup.Connect(ctx, s, here(), setup.Telegram)
}
