// Package raftlogtest damages the files of a log. It is for tests only.
package raftlogtest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"
)

// CopyDir copies the files of a directory and its subdirectories to another directory.
func CopyDir(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// DamageOffsets returns offsets in a file with content b at which a test should damage the file.
// Most are in words that are not zero: the first 24 and the last 4 of them, and others at random.
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
