package snapshot

import (
	"fmt"
	"strings"
	"time"
)

// Round returns a duration as text, rounded to seconds, or above one minute to half minutes.
func Round(d time.Duration) string {
	unit := time.Second
	if d > time.Minute {
		unit = time.Minute / 2
	}
	text := d.Round(unit).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Few lists up to eight items, and counts the rest.
func Few(list []string) string {
	if len(list) > 8 {
		return strings.Join(list[:8], ", ") + fmt.Sprintf(" and %d more", len(list)-8)
	}
	return strings.Join(list, ", ")
}
