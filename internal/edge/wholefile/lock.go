package wholefile

import "errors"

// ErrLocked is returned by [Lock] for a file that another process has locked.
var ErrLocked = errors.New("another process is writing it")
