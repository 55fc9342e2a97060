package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cordwood/proto/rights"
	"cordwood/proto/words"
)

// sizeUnits are the suffixes of sizes, the longest first.
var sizeUnits = []struct {
	suffix string
	bytes  int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"KB", 1000},
	{"MB", 1000 * 1000},
	{"GB", 1000 * 1000 * 1000},
	{"K", 1 << 10},
	{"M", 1 << 20},
	{"G", 1 << 30},
	{"B", 1},
	{"", 1},
}

// ParseSize parses a size such as 4MiB, 500KB or 1048576.
func ParseSize(s string) (int64, error) {
	text := strings.TrimSpace(s)
	for _, u := range sizeUnits {
		if len(text) < len(u.suffix) || !strings.EqualFold(text[len(text)-len(u.suffix):], u.suffix) {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(text[:len(text)-len(u.suffix)]), 64)
		if err == nil && v >= 0 && v*float64(u.bytes) < math.MaxInt64/2 {
			return int64(v * float64(u.bytes)), nil
		}
		break
	}
	return 0, fmt.Errorf("%q is not a size: write it like 4MiB", s)
}

// FormatSize returns a size in bytes as people write it.
func FormatSize(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%d B", n)
	}
}

// FirstLine returns the first line of a text, shortened for a cell of a table.
func FirstLine(text string) string {
	const limit = 160
	first, rest, more := strings.Cut(strings.TrimSpace(text), "\n")
	first = strings.TrimSpace(first)
	if more && strings.TrimSpace(rest) != "" {
		first += " …"
	}
	if r := []rune(first); len(r) > limit {
		first = string(r[:limit-1]) + "…"
	}
	return first
}

// Dash returns text, or "-" if it is empty, for a cell of a table.
func Dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Printable returns text with spaces for control characters, which would move the cursor.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}

// ShellWord returns text, quoted for a shell if necessary.
func ShellWord(text string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_.:/", c)
	}
	if text != "" && strings.IndexFunc(text, func(c rune) bool { return !plain(c) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Quoted returns a name as an SQL identifier.
func Quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Literal returns a text as an SQL string.
func Literal(text string) string { return rights.QuoteText(text) }

// Count returns a number of things, such as "1 row" or "3 batches".
func Count[N int | int64 | uint64](n N, what string) string { return words.Count(n, what) }
