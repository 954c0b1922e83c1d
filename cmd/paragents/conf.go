package main

import (
	"context"
	"fmt"
	"os"

	"paragents/cmd/paragents/app"
	"paragents/cmd/paragents/config"
)

type confCmd struct {
	Check   confCheckCmd   `cmd:"" help:"Check the configuration."`
	Show    confShowCmd    `cmd:"" help:"Show the configuration that holds, with where each value comes from."`
	Schema  confSchemaCmd  `cmd:"" help:"Print the JSON Schema of the configuration."`
	Confirm confConfirmCmd `cmd:"" help:"Let a paragents.yaml count that came with the current directory."`
}

type confCheckCmd struct{}

// Run checks.
func (confCheckCmd) Run(s *app.Setup) error {
	cfg, err := s.Load()
	if err != nil {
		return err
	}
	fmt.Println("The configuration is in order:", cfg.Path())
	return nil
}

type confShowCmd struct{}

// Run shows.
func (confShowCmd) Run(s *app.Setup) error {
	cfg, err := s.Load()
	if err == nil {
		fmt.Print(config.Show(cfg))
	}
	return err
}

type confSchemaCmd struct{}

// Run prints the schema.
func (confSchemaCmd) Run() error {
	fmt.Println(string(config.Schema()))
	return nil
}

type confConfirmCmd struct{}

// Run asks the person at the terminal.
func (confConfirmCmd) Run(s *app.Setup) error {
	cfg, err := s.Load()
	if err != nil {
		return err
	}
	return app.Confirm(cfg.Foreign(), os.Stdin, os.Stdout)
}

type doctorCmd struct{}

// Run checks everything, one line each; exit status 1 if something is wrong.
func (doctorCmd) Run(ctx context.Context, s *app.Setup) error {
	if !s.Doctor(ctx, os.Stdout) {
		return exit(1)
	}
	return nil
}
