package schema

import "testing"

func TestWidens(t *testing.T) {
	for _, c := range []struct {
		from, to Type
		want     Widening
	}{
		{Int64, Int64, WidensAlways},
		{String, String, WidensAlways},
		{Int64, Float64, WidensIfExact},
		{Uint64, Float64, WidensIfExact},
		{Int32, Float64, WidensAlways},
		{Uint32, Float64, WidensAlways},
		{Float32, Float64, WidensAlways},
		{Int8, Int16, WidensAlways},
		{Uint8, Int16, WidensAlways},
		{Uint32, Int64, WidensAlways},
		{Uint32, Uint64, WidensAlways},
		{Uint8, Int8, WidensNever},
		{Int8, Uint64, WidensNever},
		{Uint64, Int64, WidensNever},
		{Int64, Int32, WidensNever},
		{Int64, Float32, WidensNever},
		{Int8, Float32, WidensNever},
		{Float64, Float32, WidensNever},
		{Float64, Int64, WidensNever},
		{Int64, String, WidensNever},
		{Boolean, Int64, WidensNever},
		{TimestampSecond, TimestampMillisecond, WidensNever},
		{Int64, TimestampMillisecond, WidensNever},
		{String, JSON, WidensNever},
	} {
		if got := c.from.Widens(c.to); got != c.want {
			t.Errorf("%s to %s: %d, want %d", c.from, c.to, got, c.want)
		}
	}
}
