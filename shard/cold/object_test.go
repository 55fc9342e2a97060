package cold

import (
	"testing"

	"cordwood/shard/segment"
)

// TestSpan finds the part of a table in an object of one table and in one that tables share.
func TestSpan(t *testing.T) {
	own := Object{Meta: segment.Meta{TableID: 7, Rows: 3, MinTime: 10, MaxTime: 20}}
	if s, ok := own.Span(7); !ok || s != (segment.TableSpan{TableID: 7, Rows: 3, MinTime: 10, MaxTime: 20}) {
		t.Errorf("table 7 of its own object: %+v, %t", s, ok)
	}
	if own.Has(8) {
		t.Error("the object of table 7 has rows of table 8")
	}
	spans := []segment.TableSpan{{TableID: 2, Rows: 1}, {TableID: 5, Rows: 4, MinTime: -1}, {TableID: 9, Rows: 2}}
	shared := Object{Meta: segment.Meta{Rows: 7, Tables: spans}}
	for _, want := range spans {
		if s, ok := shared.Span(want.TableID); !ok || s != want {
			t.Errorf("table %d of a shared object: %+v, %t, want %+v", want.TableID, s, ok, want)
		}
	}
	for _, id := range []uint64{0, 1, 3, 10} {
		if shared.Has(id) {
			t.Errorf("the shared object has rows of table %d", id)
		}
	}
}
