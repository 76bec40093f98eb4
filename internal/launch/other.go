//go:build !linux

package launch

import (
	"context"
	"errors"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// Inside is nothing on this system.
func Inside() int { return 1 }

// read refuses: no other system has the namespaces that keep the network away.
func read(context.Context, Config, Source, record.Methodology) (Result, error) {
	return Result{}, &Refusal{errors.New("starting a server is possible on Linux only"), "run it on Linux, or in a container"}
}
