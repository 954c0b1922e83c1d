package bot

import (
	"context"
	"errors"

	"paragents/bot/grammar"
	"paragents/bot/phrase"
	"paragents/bot/target"
	"paragents/bot/visit"
	"paragents/core/access"
)

// handler carries out one command. What it says to the person goes into the visit; an error that is meant for people is said as well.
type handler func(ctx context.Context, v *visit.Visit, c grammar.Command) error

// entry is a command's handler with the role that it needs.
type entry struct {
	role access.Role
	do   handler
}

// commands are all commands of the grammar.
func (d *Desk) commands() map[string]entry {
	return map[string]entry{
		"new":         {access.Operator, d.newSession},
		"submit":      {access.Operator, d.newSession},
		"prompt":      {access.Operator, d.prompt},
		"steer":       {access.Operator, d.steer},
		"list":        {access.Viewer, d.look.List},
		"switch":      {access.Operator, d.switchTo},
		"status":      {access.Viewer, d.look.Status},
		"rename":      {access.Operator, d.rename},
		"close":       {access.Operator, d.close},
		"approvals":   {access.Viewer, d.look.Approvals},
		"approve":     {access.Operator, d.decide.Approve},
		"deny":        {access.Operator, d.decide.Deny},
		"pause":       {access.Operator, d.order},
		"resume":      {access.Operator, d.order},
		"cancel":      {access.Operator, d.order},
		"wait":        {access.Operator, d.settle},
		"override":    {access.Operator, d.settle},
		"withdraw":    {access.Operator, d.withdraw},
		"isolate":     {access.Operator, d.isolate},
		"merge":       {access.Operator, d.change.DecideWork},
		"keep":        {access.Operator, d.change.DecideWork},
		"discard":     {access.Operator, d.change.DecideWork},
		"resolve":     {access.Operator, d.change.DecideWork},
		"diff":        {access.Viewer, d.change.Diff},
		"undo":        {access.Operator, d.change.Undo},
		"retry":       {access.Operator, d.retry},
		"stop":        {access.Operator, d.stop},
		"run-held":    {access.Operator, d.release},
		"drop-held":   {access.Operator, d.release},
		"permissions": {access.Viewer, d.look.Permissions},
		"revoke":      {access.Operator, d.revoke},
		"freeze":      {access.Admin, d.freeze},
		"thaw":        {access.Admin, d.freeze},
		"verify":      {access.Viewer, d.look.Verify},
		"access":      {access.Admin, d.door.Access},
		"workspaces":  {access.Viewer, d.look.Workspaces},
		"mode":        {access.Operator, d.mode},
		"usage":       {access.Viewer, d.look.Usage},
		"log":         {access.Viewer, d.look.Log},
		"audit":       {access.Admin, d.look.Audit},
		"replicas":    {access.Viewer, d.look.Replicas},
		"pair":        {access.Admin, d.door.Pair},
		"setup":       {access.Viewer, d.look.Setup},
		"show-config": {access.Admin, d.look.ShowConfig},
		"start":       {access.Viewer, d.start},
		"help":        {access.Nobody, d.help},
		"quit":        {access.Nobody, d.quit},
	}
}

// command carries out a command. Only failures of the store or the machine are returned: everything else is said to the person.
func (d *Desk) command(ctx context.Context, v *visit.Visit, c grammar.Command) error {
	h := d.entries[c.Name]
	elsewhere := d.decide.DecidesHere(ctx, v, c)
	if v.Role == access.Nobody && h.role > access.Nobody && !elsewhere {
		return d.door.Stranger(ctx, v)
	}
	err := v.Need(h.role)
	if err == nil || elsewhere {
		err = h.do(ctx, v, c)
	}
	switch {
	case err == nil, errors.Is(err, target.ErrAsked):
		return nil
	case phrase.Personal(err):
		v.Say("%s", phrase.Escape(phrase.Trim(err)))
		return nil
	}
	return err
}
