package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"paragents/adapters/terminal"
	"paragents/bot/phrase"
	"paragents/cmd/paragents/app"
	"paragents/core"
)

type chatCmd struct {
	Plain bool   `help:"Lines in, lines out; the only kind so far."`
	Tour  bool   `help:"Begin with a short tour."`
	Store string `help:"Another store than the configured one." placeholder:"URL"`
}

// Run talks in the terminal until the person leaves.
func (c chatCmd) Run(ctx context.Context, s *app.Setup) error {
	if c.Store != "" {
		if err := os.Setenv("PARAGENTS_STORE_URL", c.Store); err != nil {
			return err
		}
	}
	cfg, err := s.Load()
	if err != nil {
		return err
	}
	log := s.Logger()
	st, path, err := s.Store(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer st.Close()
	ctx, leave := context.WithCancel(ctx)
	defer leave()

	me := app.Me()
	place, err := app.Seat(ctx, st, me)
	if err != nil {
		return err
	}
	var a *app.App
	term := terminal.New(terminal.Config{In: os.Stdin, Out: os.Stdout, Place: place, Person: me,
		Before: func(ctx context.Context, line string) error { return a.Await(ctx, me, line) }})
	a, err = s.New(cfg, st, path, log, app.Options{Adapters: []core.Adapter{term}, Admins: app.Admins(path, me), Reaches: func(p core.Place) bool { return p.Key() == place.Key() }})
	if err != nil {
		return err
	}
	defer a.Close()
	fmt.Println(a.Greeting())
	if c.Tour {
		fmt.Println(phrase.Tour)
	}
	err = a.Run(ctx, leave)
	if errors.Is(err, terminal.ErrQuit) {
		return nil
	}
	return err
}

type serveCmd struct {
	Serve []string `help:"Only this workspace; may be given several times. Default: all." placeholder:"NAME"`
}

// Run serves every configured platform until it is told to stop.
func (c serveCmd) Run(ctx context.Context, s *app.Setup) error {
	cfg, err := s.Load()
	if err != nil {
		return err
	}
	log := s.Logger()
	adapters, err := app.Platforms(cfg, log)
	if err != nil {
		return err
	}
	if len(adapters) == 0 {
		return errors.New("no platform is configured; give telegram.bot_token or another platform's in the configuration, or talk to it with: paragents chat")
	}
	st, path, err := s.Store(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer st.Close()
	names := make([]string, len(adapters))
	for i, ad := range adapters {
		names[i] = ad.Capabilities().Platform
	}
	a, err := s.New(cfg, st, path, log, app.Options{Adapters: adapters, Serve: c.Serve,
		Reaches: func(p core.Place) bool { return slices.Contains(names, p.Platform) }})
	if err != nil {
		return err
	}
	defer a.Close()
	log.Info("serving", "platforms", names)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	listening := make(chan error, 1)
	go func() { err := a.Listen(ctx); stop(); listening <- err }()
	err = a.Run(ctx, func() {})
	stop()
	return errors.Join(err, <-listening)
}
