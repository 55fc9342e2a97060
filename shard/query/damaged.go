package query

import (
	"path/filepath"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// DamagedError returns the error of a query that needs the rows of a damaged segment, because an
// answer without them would be wrong but look correct.
func DamagedError(t *Table, s *Segment) error {
	return errs.New(errs.TableUnavailable,
		"table %s.%s: %d rows%s are missing: segment %s is damaged (%s); restore the file and start again, query another "+
			"range of time, ask for what there is with allow_partial=true, or give the rows up with 'cordwood doctor --forget'",
		t.Database, t.Name, s.Rows, timesOf(t, s), filepath.Base(s.Path), s.Damaged)
}

// timesOf returns the range of times of a segment's rows, as text.
func timesOf(t *Table, s *Segment) string {
	if t.Schema == nil {
		return ""
	}
	for i := range t.Schema.Columns {
		c := &t.Schema.Columns[i]
		per := c.Type.UnitsPerSecond()
		if c.Semantic != schema.Timestamp || per == 0 {
			continue
		}
		at := func(v int64) string {
			return time.Unix(v/per, v%per*(int64(time.Second)/per)).UTC().Format(time.RFC3339)
		}
		return " of " + at(s.MinTime) + " to " + at(s.MaxTime)
	}
	return ""
}
