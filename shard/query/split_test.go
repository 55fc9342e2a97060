package query

import (
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// TestSplitAt checks that At changes the time in all texts of a split statement, and does not
// change the cached statement.
func TestSplitAt(t *testing.T) {
	t.Parallel()
	then := Moment(time.Unix(1, 0))
	s := &Split{
		Moment: then, Worker: "w " + then, Final: "f " + then, Best: &Best{Worker: "b " + then},
		Hashed: &Hashed{Hashes: "h " + then, After: ")"}, Newest: &Newest{Before: "n " + then},
	}
	at := s.At(time.Unix(2, 0))
	now := Moment(time.Unix(2, 0))
	for _, pair := range [][2]string{
		{at.Moment, now},
		{at.Worker, "w " + now},
		{at.Final, "f " + now},
		{at.Best.Worker, "b " + now},
		{at.Hashed.Hashes, "h " + now},
		{at.Hashed.After, ")"},
		{at.Newest.Before, "n " + now},
		{s.Worker, "w " + then},
		{s.Best.Worker, "b " + then},
		{s.Hashed.Hashes, "h " + then},
		{s.Newest.Before, "n " + then},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%q, want %q", pair[0], pair[1])
		}
	}
}

func TestCountRows(t *testing.T) {
	t.Parallel()
	three := int64(3)
	marked := Segment{Rows: 1, Columns: []SegmentColumn{{ID: schema.DeletedColumnID}}}
	for _, c := range []struct {
		name  string
		table Table
		rows  int64
		ok    bool
	}{
		{"nothing", Table{}, 0, true},
		{"segments and batches", Table{
			Segments: []Segment{{Rows: 5}, {Rows: 7, Columns: []SegmentColumn{{ID: 4}}}},
			Batches:  []*column.Batch{{Header: column.Header{Rows: 2}}},
		}, 14, true},
		{"damaged", Table{Segments: []Segment{{Rows: 5, Damaged: "cut"}}}, 0, false},
		{"with deleted rows", Table{Segments: []Segment{marked}}, 0, false},
		{"merging", Table{Merge: LastRow, Segments: []Segment{{Rows: 5}}}, 0, false},
		{"once merging", Table{Eras: Eras{{Merge: LastNonNull}}, Segments: []Segment{{Rows: 5}}}, 0, false},
		{"some expired", Table{ExpiredBefore: &three, Segments: []Segment{{Rows: 5, MinTime: 2, MaxTime: 9}}}, 0, false},
		{"some of memory expired", Table{ExpiredBefore: &three, Batches: []*column.Batch{
			{Header: column.Header{Rows: 5, MinTime: 2}},
		}}, 0, false},
		{"none expired", Table{ExpiredBefore: &three, Segments: []Segment{{Rows: 5, MinTime: 3, MaxTime: 9}}}, 5, true},
	} {
		if rows, ok := CountRows(&c.table); ok != c.ok || ok && rows != c.rows {
			t.Errorf("%s: %d, %v", c.name, rows, ok)
		}
	}
}
