//go:build !unix

package wholefile

import "os"

// Lock does nothing: only Unix has flock(2).
func Lock(*os.File) error { return nil }
