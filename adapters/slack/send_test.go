package slack_test

import (
	"errors"

	"paragents/core"
)

func fault(err error) core.SendFault {
	var f *core.SendError
	if !errors.As(err, &f) {
		return ""
	}
	return f.Fault
}
