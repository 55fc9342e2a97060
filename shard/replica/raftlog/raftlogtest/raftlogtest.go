// Package raftlogtest helps tests to damage the files of a log. It is for tests only.
package raftlogtest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"
)

// CopyDir copies the files of a directory, and those below it, to another one.
func CopyDir(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// DamageOffsets returns some offsets of a file with content b, most of them in words that are
// not zero: the first 24 and the last 4 of these, and others by chance.
func DamageOffsets(rng *rand.Rand, b []byte) []int {
	var used []int
	for at := 0; at < len(b); at += 8 {
		if len(bytes.Trim(b[at:min(at+8, len(b))], "\x00")) > 0 {
			used = append(used, at)
		}
	}
	var out []int
	for i := range used {
		if i < 24 || i >= len(used)-4 || rng.IntN(len(used)) < 60 {
			out = append(out, used[i]+rng.IntN(min(8, len(b)-used[i])))
		}
	}
	return append(out, rng.IntN(len(b)))
}
