//go:build kernel

package kernel

import "time"

// patience is the time limit for operations that must end by themselves. It is long because the
// guest's processor is emulated, on a machine that may be busy.
const patience = 10 * time.Minute

// await returns a script that waits, for some minutes at most, until a condition holds, and fails
// if it never does.
func await(condition string) string {
	return "(for i in $(seq 2000); do if " + condition + "; then exit 0; fi; sleep 0.05; done; " +
		"echo 'waited in vain' >&2; exit 1)"
}
