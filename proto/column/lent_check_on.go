//go:build race

package column

// checkLent means that each body that is lent is compared with its batch. Builds for tests do that.
const checkLent = true
