package state

import (
	"context"
	"errors"
	"fmt"

	"paragents/store"
)

// tries is how often an operation is decided again when another writer was faster. Each loss means that somebody else made progress.
const tries = 64

// Retry runs an operation until it is not refused for a version. Nothing was applied by a refused one, so it starts from what it reads.
func Retry(ctx context.Context, what string, op func() error) error {
	for range tries {
		err := op()
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("%s: still changed by others after %d tries; try again", what, tries)
}
