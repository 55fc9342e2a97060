//go:build race

package column

// checkLent reports whether each lent body is compared with its batch, as in builds for tests.
const checkLent = true
