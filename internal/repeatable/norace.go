//go:build !race

package repeatable

// UnderRace is true if the race detector is on, so that a test takes ten times as long.
const UnderRace = false
