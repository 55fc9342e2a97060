package node

import (
	"path/filepath"
	"testing"
)

// TestCacheLimit looks at the size of the cache of object storage on disks that fill up.
func TestCacheLimit(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		what                            string
		used, free, reserve, configured int64
		want                            int64
	}{
		{"much space", 10 * gib, 100 * gib, 2 * gib, 20 * gib, 20 * gib},
		{"room for half of it", gib, 13 * gib, 2 * gib, 20 * gib, 10 * gib},
		{"it has to shrink", 10 * gib, 3 * gib, 2 * gib, 20 * gib, 9 * gib},
		{"rows would be refused", 10 * gib, gib, 2 * gib, 20 * gib, 7 * gib},
		{"others have filled the disk", gib, 0, 2 * gib, 20 * gib, leastCache},
		{"it is small anyway", 1000, 0, 2 * gib, 2000, 2000},
	} {
		if got := cacheLimit(c.used, c.free, c.reserve, c.configured); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.what, got, c.want)
		}
	}
	dir := t.TempDir()
	if !sameDisk(dir, filepath.Join(dir, "cache")) || sameDisk(dir, "/proc") {
		t.Error("disks are confused")
	}
}
