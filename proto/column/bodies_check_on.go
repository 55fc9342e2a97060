//go:build race

package column

// checkBodies reports whether each passed body is compared with its batch, and each text marked as valid UTF-8 is
// checked, as in builds for tests.
const checkBodies = true
