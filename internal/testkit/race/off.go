//go:build !race

package race

// Enabled tells that the race detector is on (build tag race).
const Enabled = false
