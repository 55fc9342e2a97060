//go:build race

package column

// checkBodies reports whether each passed body is compared with its batch, as in builds for tests.
const checkBodies = true
