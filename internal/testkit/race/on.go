//go:build race

package race

// Enabled reports whether the race detector is on (build tag race).
const Enabled = true
