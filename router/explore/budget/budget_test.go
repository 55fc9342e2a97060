package budget

import (
	"context"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/explore/scope"
	"cordwood/router/query"
)

func table() *scope.Table {
	def := &schema.Table{ID: 7, Database: "public", Name: "app", Columns: []schema.Column{
		{ID: 1, Name: "ts", Type: schema.TimestampSecond, Semantic: schema.Timestamp},
	}}
	return &scope.Table{Def: def.Index(), Condition: "TRUE"}
}

// TestSlices checks that slices follow the rows, so a file with many rows in a short time gets more slices.
func TestSlices(t *testing.T) {
	s := &scope.Scope{Tables: []*scope.Table{table()}, Range: scope.Range{To: time.Unix(1e6, 0)}}
	extents := map[uint64]*query.Extent{7: {Rows: 3_000_000, Segments: []query.Segment{
		{Table: 7, Rows: 1_000_000, MinTime: 0, MaxTime: 100_000},
		{Table: 7, Rows: 1_000_000, MinTime: 100_000, MaxTime: 101_000},
	}}}
	if got := Estimate(s, extents); got != (Read{2, 2, 3_000_000}) {
		t.Errorf("read %+v", got)
	}
	sample, ok := NewSample(s, extents, 300_000)
	if !ok {
		t.Fatal("there is no sample")
	}
	app := s.Tables[0]
	parts := strings.Split(sample.From(app), " UNION ALL ")
	if len(parts) != sampleSlices || sample.Condition(app) != "TRUE" ||
		parts[0] != "(SELECT * FROM public.app WHERE (ts >= '1970-01-01 00:00:00' AND ts < '1970-01-01 00:20:50')" {
		t.Fatalf("%d slices, %s, %s", len(parts), parts[0], sample.Condition(app))
	}
	// Half of the rows are in the first file, and so are half of the slices.
	if !strings.Contains(parts[8], "(ts >= '1970-01-02 03:46:40'") {
		t.Errorf("the first slice of the second file is %s", parts[8])
	}
	// A table on several shards is named once, and a condition on the time has the slices.
	app.Def.Placement = []schema.Placement{{ShardID: 1, More: []uint32{2}}}
	if from := sample.From(app); from != "public.app" || strings.Count(sample.Condition(app), " OR ") != sampleSlices-1 {
		t.Errorf("on two shards: %s, %s", from, sample.Condition(app))
	}
	app.Def.Placement = nil
	s.Range = scope.Range{From: time.Unix(50_000, 0), To: time.Unix(60_000, 0)}
	if got := Estimate(s, extents); got != (Read{1, 2, 1_100_000}) {
		t.Errorf("in a part of the range: %+v", got)
	}
	if _, ok := NewSample(s, extents, 2_000_000); ok {
		t.Error("a sample of fewer rows")
	}
	s.Range = scope.Range{To: time.Unix(1e6, 0)}
	newest, whole := Newest(s, extents, 500_000)
	if whole || newest[7] != "ts >= '1970-01-02 03:55:00'" {
		t.Error(newest, whole)
	}
}

// TestMemory checks that samples contain rows in memory, and that a table without files has a sample.
func TestMemory(t *testing.T) {
	s := &scope.Scope{Tables: []*scope.Table{table()}, Range: scope.Range{To: time.Unix(1e6, 0)}}
	e := &query.Extent{
		Rows:     3_000_000,
		Segments: []query.Segment{{Table: 7, Rows: 1_000_000, MinTime: 0, MaxTime: 100_000}},
		Memory:   &query.Segment{Table: 7, Rows: 2_000_000, MinTime: 100_000, MaxTime: 300_000},
	}
	extents := map[uint64]*query.Extent{7: e}
	if got := Estimate(s, extents); got != (Read{1, 1, 3_000_000}) {
		t.Errorf("read %+v", got)
	}
	sample, ok := NewSample(s, extents, 300_000)
	if !ok {
		t.Fatal("there is no sample")
	}
	inMemory := 0
	for _, sl := range sample.slices[7] {
		if sl.from.Unix() >= 100_000 {
			inMemory++
		}
	}
	if want := sampleSlices * 2 / 3; inMemory < want {
		t.Errorf("%d slices are in memory, want %d", inMemory, want)
	}
	e.Segments, e.Rows = nil, 2_000_000
	if _, ok := NewSample(s, extents, 300_000); !ok {
		t.Error("rows in memory only have no sample")
	}
	s.Range.To = time.Unix(200_000, 0)
	if got := Estimate(s, extents); got != (Read{0, 0, 1_000_000}) {
		t.Errorf("in a part of the range: %+v", got)
	}
}

// TestMost checks that files outside the range do not count, and others as a whole.
func TestMost(t *testing.T) {
	s := &scope.Scope{
		Tables: []*scope.Table{table()}, Range: scope.Range{From: time.Unix(50_000, 0), To: time.Unix(60_000, 0)},
	}
	extents := map[uint64]*query.Extent{7: {Rows: 3_000_000, Segments: []query.Segment{
		{Table: 7, Rows: 1_000_000, MinTime: 0, MaxTime: 100_000},
		{Table: 7, Rows: 1_500_000, MinTime: 100_000, MaxTime: 101_000},
	}}}
	if got := Most(s, extents); got != 1_500_000 {
		t.Errorf("at most %d rows", got)
	}
}

// TestTry checks that a count which takes too long is cancelled without a deadline, and that its client's own end is no
// reason for a sample.
func TestTry(t *testing.T) {
	wait := func(ctx context.Context) error {
		if _, ok := ctx.Deadline(); ok {
			t.Error("there is a deadline")
		}
		<-ctx.Done()
		return errs.New(errs.Cancelled, "cancelled")
	}
	if late, err := Try(t.Context(), time.Millisecond, wait); !late || err != nil {
		t.Errorf("late %v, %v", late, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if late, err := Try(ctx, time.Hour, wait); late || errs.CodeOf(err) != errs.Cancelled {
		t.Errorf("without a client: late %v, %v", late, err)
	}
}

// TestCount checks that the rows of a sample stay the answer if there is no time to count all.
func TestCount(t *testing.T) {
	s := &scope.Scope{Tables: []*scope.Table{table()}, Range: scope.Range{To: time.Unix(1e6, 0)}}
	extents := map[uint64]*query.Extent{7: {Rows: 4_000_000, Segments: []query.Segment{
		{Table: 7, Rows: 4_000_000, MinTime: 0, MaxTime: 100_000},
	}}}
	for _, late := range []bool{false, true} {
		var counted []*Sample
		limit := time.Hour
		if late {
			limit = 50 * time.Millisecond
		}
		part, err := Count(t.Context(), s, extents, limit, func(ctx context.Context, part *Sample) error {
			if part == nil && late {
				<-ctx.Done()
				return errs.New(errs.Cancelled, "cancelled")
			}
			counted = append(counted, part)
			return nil
		})
		if err != nil || (part == nil) == late || part != counted[len(counted)-1] {
			t.Errorf("late %v: %v, %v of %v", late, err, part, counted)
		}
	}
}
