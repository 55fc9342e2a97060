//go:build race

package pipeline

// raceEnabled tells that pools forget at random, as they do under the race detector.
const raceEnabled = true
