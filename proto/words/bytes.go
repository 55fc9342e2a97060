package words

import (
	"math"
	"strconv"
	"strings"
)

// byteUnits are the units of sizes. FormatBytes uses the first four.
var byteUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"B", 1},
}

// ParseBytes returns the size that a whole number of bytes with an optional unit, in any case, stands for: 64MiB, 2 GB
// or 100. ok is false for other texts, and for sizes of 2^63 bytes or more.
func ParseBytes(s string) (n int64, ok bool) {
	text, unit := strings.TrimSpace(s), int64(1)
	for _, u := range byteUnits {
		if n := len(text) - len(u.name); n > 0 && strings.EqualFold(text[n:], u.name) {
			text, unit = strings.TrimSpace(text[:n]), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// FormatBytes prints a size in the largest binary unit that divides it.
func FormatBytes(n int64) string {
	for _, u := range byteUnits[:4] {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
