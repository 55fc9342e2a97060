//go:build race

package stdlib_test

// raceEnabled means that everything takes about ten times as long.
const raceEnabled = true
