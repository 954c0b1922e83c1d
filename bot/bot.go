// Package bot is what people meet: it turns what comes in from platforms into commands, decisions and prompts, and what runs have to say into
// messages. It knows no platform by name, only what each can do.
//
// Desk is the way in: it admits prompts and hands each command to the package whose duty it is. The way out is package screen. Every sentence that a person sees stands in package
// phrase.
package bot

import (
	"log/slog"

	"paragents/bot/reply"
	"paragents/bot/screen"
	"paragents/bot/setting"
)

// New makes both sides of the bot. The scheduler is given to the desk by Serve, because it needs the screen first.
func New(cfg setting.Config) (*screen.Screen, *Desk) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	screen := screen.New(cfg)
	return screen, &Desk{cfg: cfg, screen: screen, replies: reply.New(cfg.Store, cfg.Logger)}
}
