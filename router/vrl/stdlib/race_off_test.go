//go:build !race

package stdlib_test

const raceEnabled = false
