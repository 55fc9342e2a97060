// Package epoch determines the time stamp of all files in a release, so that the same input gives
// the same bytes.
package epoch

import (
	"fmt"
	"strconv"
	"time"
)

// Of parses SOURCE_DATE_EPOCH, in seconds since 1970; an empty text gives 0.
func Of(text string) (time.Time, error) {
	if text == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH=%q: want seconds since 1970", text)
	}
	return time.Unix(n, 0).UTC(), nil
}
