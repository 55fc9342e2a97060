package engine

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"cordwood/shard/query"
)

// TestBatchesAreBounded reads wide rows. A batch of the answer is bounded in bytes, so that what waits for a slow
// client is, and the values of each type are right in all parts of the engine's chunks.
func TestBatchesAreBounded(t *testing.T) {
	const rows, mostBytes = 5000, 1 << 20
	e := openEngine(t, t.TempDir())
	var stream bytes.Buffer
	largest := 0
	err := e.Query(t.Context(), &query.Request{
		SQL: "SELECT i, '" + strings.Repeat("x", 2000) + "' || i AS a, [i, NULL, i + 1] AS l, " +
			"{'x': i, 's': i::VARCHAR} AS s, map([i::VARCHAR], [i]) AS m, i % 3 = 0 AS f, nullif(i % 5, 0) AS n, " +
			"[[i]] AS ll FROM range(5000) AS t(i)",
		Database: "public",
	}, func(ipc []byte) error {
		largest = max(largest, len(ipc))
		stream.Write(ipc)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if largest > mostBytes {
		t.Errorf("a part of the stream has %d bytes, more than %d", largest, mostBytes)
	}
	r, err := ipc.NewReader(&stream)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	i := 0
	for r.Next() {
		batch := r.RecordBatch()
		for row := range int(batch.NumRows()) {
			number := "(null)"
			if i%5 != 0 {
				number = fmt.Sprint(i % 5)
			}
			wide := batch.Column(1).ValueStr(row)
			want := []string{
				fmt.Sprint(i), fmt.Sprint(i%3 == 0), number, fmt.Sprintf("[%d,null,%d]", i, i+1),
				fmt.Sprintf(`{"s":"%d","x":%d}`, i, i), fmt.Sprintf(`[{"key":"%d","value":%d}]`, i, i), fmt.Sprintf("[[%d]]", i),
			}
			for k, column := range []int{0, 5, 6, 2, 3, 4, 7} {
				if got := batch.Column(column).ValueStr(row); got != want[k] {
					t.Fatalf("row %d, column %d: %s, want %s", i, column, got, want[k])
				}
			}
			if wide != strings.Repeat("x", 2000)+fmt.Sprint(i) {
				t.Fatalf("row %d: the text is %.20s… of %d bytes", i, wide, len(wide))
			}
			i++
		}
	}
	if r.Err() != nil || i != rows {
		t.Errorf("%d rows, want %d: %v", i, rows, r.Err())
	}
}
