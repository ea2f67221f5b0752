//go:build race

package roce

// raceEnabled tells that the race detector is on.
const raceEnabled = true
