//go:build !linux

package commands

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// There is no ibsim: the scripts leave their subnets out.
func setUpSubnets(*testscript.Env) {}

func subnetCommands(*testing.T) map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){}
}
