package app

import (
	"time"

	"paragents/cmd/paragents/config"
	"paragents/core/agent"
)

// dearest is the highest price of any configured model: whichever answers, what is counted is never too little.
func dearest(cfg *config.Config) agent.Price {
	models := []string{cfg.LLM.Model}
	for _, f := range cfg.LLM.Fallbacks {
		models = append(models, f.Model)
	}
	var out agent.Price
	for _, m := range models {
		p := cfg.LLM.Price[m]
		out = agent.Price{In: max(out.In, p.In), Out: max(out.Out, p.Out), Cached: max(out.Cached, p.Cached)}
	}
	return out
}

// remind is when people are reminded; the scheduler's zero is its default, the configuration's is never.
func remind(cfg *config.Config) time.Duration {
	if cfg.Approvals.Remind == 0 {
		return -1
	}
	return cfg.Approvals.Remind
}
