//go:build race

package stdlib_test

// raceEnabled tells that everything takes ten times as long.
const raceEnabled = true
