// Package tty is the edge to the terminal that a program is started from: it gives keys when they
// are pressed, without Enter and without showing them.
//
//	keys, err := tty.Open(os.Stdin)
//	if err != nil { … } // no terminal, or one that another program reads
//	defer keys.Close()
//	for key := range keys.C() { … }
//
// The settings of the terminal are restored by [Keys.Close], before the process stops (Ctrl-Z), and
// before a signal ends it. Ctrl-C stays a signal: a program that hangs must end by it.
package tty

import "errors"

// ErrBackground is the error for a terminal that another process group reads: a process in the
// background is stopped when it changes the settings of the terminal.
var ErrBackground = errors.New("the terminal is another job's")
