package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// timeFields are usual names of the field with the time of a record.
var timeFields = []string{
	"ts", "time", "timestamp", "@timestamp", "_time", "datetime", "date", "event_time", "eventtime",
}

// timeWarning returns a warning if the request creates the table with the time of arrival as its time index, although
// the records have a field that is probably their time.
func (d *dest) timeWarning() string {
	if d.existing != nil || d.err != nil || d.rows.Rows() == 0 {
		return ""
	}
	for _, c := range d.rows.Cols() {
		if !slices.Contains(timeFields, strings.ToLower(c.Name)) {
			continue
		}
		if how := timeForm(c, d.rows.Rows()); how != "" {
			set := c.Name + ";" + how
			return fmt.Sprintf("the new table %q has the time of arrival as its time index, and its column %q is %s: to make "+
				"it the time index, drop the table, and send all rows with the parameter custom_time_index=%s in the URL "+
				"(/v1/ingest?table=%s&pipeline_name=svc_identity&custom_time_index=%s)", d.table, c.Name, c.Type, set, d.table, set)
		}
	}
	return ""
}

// timeForm returns how custom_time_index would read the first value of a column as a time, or "".
func timeForm(c *column.Col, rows int) string {
	row := 0
	for rows = min(rows, c.Len()); row < rows && c.IsNull(row); row++ {
	}
	if row >= rows {
		return ""
	}
	switch c.Type {
	case schema.String:
		if _, err := time.Parse(time.RFC3339Nano, string(c.Bytes(row))); err == nil {
			return "rfc3339"
		}
	case schema.Int64:
		const from, to = 1e9, 4e9 // seconds: from 2001 to 2096
		v, unit := c.Int(row), int64(1)
		for _, name := range []string{"s", "ms", "us", "ns"} {
			if v >= from*unit && v < to*unit {
				return "epoch;" + name
			}
			unit *= 1000
		}
	}
	return ""
}
