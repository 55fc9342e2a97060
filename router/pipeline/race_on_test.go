//go:build race

package pipeline

// raceEnabled means that pools forget at random, as they do under the race detector.
const raceEnabled = true
