//go:build race

package repeatable

const underRace = true
