//go:build race

package pipeline

// raceEnabled means that pools drop items at random, because the race detector is on.
const raceEnabled = true
