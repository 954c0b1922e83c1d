// Package setup connects platforms from the terminal: it asks for their secrets unseen, checks them by real calls, and only then writes them down.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"paragents/cmd/paragents/app"
	"paragents/cmd/paragents/config"
	"paragents/core"
)

const (
	checkTime = 30 * time.Second // for asking a platform
	maxTries  = 3                // for typing secrets that it takes
)

// Connect leads through connecting a platform. Until every secret was typed and taken by the platform, nothing is written.
func Connect(ctx context.Context, s *app.Setup, t *Terminal, platform func(*config.Config) Platform) error {
	s = quietly(s)
	if err := outranked(platform(config.Default())); err != nil {
		return err
	}
	cfg, err := s.Load()
	if err != nil {
		return err
	}
	p := platform(cfg)
	if err := outranked(p); err != nil {
		return err
	}
	if had := p.configured(cfg); len(had) == len(p.Secrets) {
		t.say("%s is set up already: %s", p.Title, standing(ctx, cfg, p, had))
		again, err := t.ask(ctx, "Type yes to give it other tokens, or anything else to leave it so: ")
		if err != nil || again != "yes" {
			return errors.Join(err, admin(ctx, s, t, cfg, p, had))
		}
	}
	t.say("Connect %s\n\n%s\n", p.Title, p.Steps)
	typed, err := secrets(ctx, t, cfg, p)
	if err != nil {
		return err
	}
	settings := make([]config.Setting, len(p.Secrets))
	for i, secret := range p.Secrets {
		settings[i] = config.Setting{Key: secret.Key, Value: typed[secret.Key]}
	}
	if err := config.Write(cfg.Path(), p.Name, settings); err != nil {
		return err
	}
	t.say("✓ written to %s, which only you can read now", cfg.Path())
	if cfg, err = s.Load(); err != nil {
		return err
	}
	return admin(ctx, s, t, cfg, p, typed)
}

// quietly is without warnings: what they warn of is being set up.
func quietly(s *app.Setup) *app.Setup {
	quiet := *s
	quiet.Stderr = io.Discard
	return &quiet
}

// outranked refuses to write what would not count.
func outranked(p Platform) error {
	for _, secret := range p.Secrets {
		name := "PARAGENTS_" + strings.ToUpper(p.Name+"_"+secret.Key)
		for _, variable := range []string{name, name + "_FILE"} {
			if os.Getenv(variable) != "" {
				return fmt.Errorf("%s is set in the environment and outranks the configuration: change it there, or unset it and run this again", variable)
			}
		}
	}
	return nil
}

// secrets asks until the platform takes what was typed.
func secrets(ctx context.Context, t *Terminal, cfg *config.Config, p Platform) (map[string]string, error) {
	for try := 1; ; try++ {
		typed := map[string]string{}
		for _, secret := range p.Secrets {
			text, err := t.secret(ctx, secret.Label+", not shown: ")
			if err != nil {
				return nil, fmt.Errorf("read %s.%s: %w; nothing was changed", p.Name, secret.Key, err)
			}
			typed[secret.Key] = text
		}
		found, err := probe(ctx, cfg, p, typed)
		for _, f := range found {
			t.say("✓ %s", f)
		}
		switch {
		case err == nil:
			return typed, nil
		case try == maxTries || !t.Real() || ctx.Err() != nil:
			return nil, fmt.Errorf("%w; nothing was changed", err)
		}
		t.say("✗ %v\n\nTry again, or end with Ctrl-C; nothing was changed so far.", err)
	}
}

// probe asks the platform about secrets.
func probe(ctx context.Context, cfg *config.Config, p Platform, typed map[string]string) ([]string, error) {
	ad, err := p.Connect(cfg, typed)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	found, err := ad.(core.Prober).Probe(ctx)
	if err == nil {
		found = append(found, ad.(core.Noter).Notes()...)
	}
	return found, err
}

// standing is how a platform is connected, in one line.
func standing(ctx context.Context, cfg *config.Config, p Platform, secrets map[string]string) string {
	found, err := probe(ctx, cfg, p, secrets)
	if err != nil {
		return err.Error()
	}
	return strings.Join(found, "; ")
}

// Show says what is connected, and what to run for the rest.
func Show(ctx context.Context, s *app.Setup, t *Terminal) error {
	cfg, err := quietly(s).Load()
	if err != nil {
		return err
	}
	t.say("configuration: %s", cfg.Path())
	ready := false
	for _, p := range []Platform{Slack(cfg), Telegram(cfg)} {
		had := p.configured(cfg)
		if len(had) < len(p.Secrets) {
			t.say("%s: not connected. Run: paragents setup %s", p.Title, p.Name)
			continue
		}
		ready = true
		t.say("%s: %s", p.Title, standing(ctx, cfg, p, had))
	}
	if cfg.LLM.Provider == "demo" {
		t.say("model: the built-in demo model. For a real one set OPENAI_API_KEY, or llm.base_url and llm.model")
	} else {
		t.say("model: %s", cfg.LLM.Model)
	}
	t.say("")
	if ready {
		t.say("Next: paragents serve. paragents doctor checks everything.")
	} else {
		t.say("Next: connect a platform, or talk to it here: paragents chat")
	}
	return nil
}
