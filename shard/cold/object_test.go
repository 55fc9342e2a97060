package cold

import (
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/segment"
)

// TestDays: an object of a table that merges rows, or of several tables, may have rows of several days.
func TestDays(t *testing.T) {
	const day = 86400
	of := func(typ schema.Type) segment.Meta {
		return segment.Meta{Columns: []segment.Column{
			{Type: schema.String, Semantic: schema.Tag}, {Type: typ, Semantic: schema.Timestamp},
		}}
	}
	for _, c := range []struct {
		name        string
		meta        segment.Meta
		unit        int64
		first, last int64
	}{
		{"seconds", of(schema.TimestampSecond), 1, 20_000, 20_000},
		{"milliseconds", of(schema.TimestampMillisecond), 1e3, 20_000, 20_004},
		{"before 1970", of(schema.TimestampNanosecond), 1e9, -3, -1},
		{"shared", segment.Meta{Tables: make([]segment.TableSpan, 2)}, 1e9, 20_000, 20_001},
	} {
		o := Object{Day: c.first, Meta: c.meta}
		o.Meta.MinTime, o.Meta.MaxTime = (c.first*day+1)*c.unit, (c.last*day+day-1)*c.unit
		if first, last := o.Days(); first != c.first || last != c.last {
			t.Errorf("%s: %d to %d, want %d to %d", c.name, first, last, c.first, c.last)
		}
	}
	if first, last := (&Object{Day: 7}).Days(); first != 7 || last != 7 {
		t.Errorf("without a time index: %d to %d", first, last)
	}
}
