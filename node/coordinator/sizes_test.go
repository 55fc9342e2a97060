package coordinator

import (
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/schema"
)

// TestTooOld checks which rows expire because of limits of size: the oldest ones, first of tables with a limit of their
// own, then of all tables, and never the newest part of a table, or the newest one without rows of the future.
func TestTooOld(t *testing.T) {
	table := func(name string, limit int64, kind schema.Type) sizedTable {
		return sizedTable{(&schema.Table{
			Database: "public", Name: name,
			Columns: []schema.Column{{ID: 1, Name: "ts", Type: kind, Semantic: schema.Timestamp}},
		}).Index(), limit}
	}
	part := func(table int, newest, bytes int64, kind schema.Type) sizePart {
		return sizePart{table: table, newest: newest, bytes: bytes, at: kind.Moment(newest)}
	}
	const s, ns = schema.TimestampSecond, schema.TimestampNanosecond
	for name, c := range map[string]struct {
		tables []sizedTable
		parts  []sizePart
		all    int64
		want   map[int]int64
		warns  bool
	}{
		"below the limit": {
			tables: []sizedTable{table("a", 100, s)},
			parts:  []sizePart{part(0, 1, 60, s), part(0, 2, 40, s)},
		},
		"down to 95 %": {
			tables: []sizedTable{table("a", 100, s)},
			parts:  []sizePart{part(0, 3, 90, s), part(0, 1, 5, s), part(0, 2, 6, s), part(0, 4, 5, s)},
			want:   map[int]int64{0: 3},
		},
		"parts of several shards": {
			tables: []sizedTable{table("a", 100, s)},
			parts:  []sizePart{part(0, 5, 60, s), part(0, 7, 30, s), part(0, 5, 60, s), part(0, 6, 60, s)},
			want:   map[int]int64{0: 6},
		},
		"the newest part stays": {
			tables: []sizedTable{table("a", 100, s)},
			parts:  []sizePart{part(0, -5, 10, s), part(0, 7, 300, s)},
			want:   map[int]int64{0: -4},
			warns:  true,
		},
		"all tables, of different units": {
			tables: []sizedTable{table("a", 0, s), table("b", 0, ns)},
			parts: []sizePart{
				part(0, 10, 50, s), part(1, 9e9, 20, ns), part(1, 11e9, 20, ns), part(0, 12, 50, s), part(1, 13e9, 50, ns),
			},
			all:  130,
			want: map[int]int64{0: 11, 1: 9e9 + 1},
		},
		"a limit of a table helps the others": {
			tables: []sizedTable{table("a", 100, s), table("b", 0, s)},
			parts:  []sizePart{part(0, 1, 100, s), part(0, 2, 80, s), part(1, 0, 20, s), part(1, 1, 20, s)},
			all:    130,
			want:   map[int]int64{0: 2},
		},
		"a row of the future": {
			tables: []sizedTable{table("a", 100, s)},
			parts:  []sizePart{part(0, 98, 90, s), part(0, 99, 90, s), part(0, 1000, 1, s)},
			want:   map[int]int64{0: 99},
		},
		"times at the end": {
			tables: []sizedTable{table("a", 100, ns)},
			parts: []sizePart{
				part(0, math.MaxInt64, 70, ns), part(0, math.MaxInt64, 70, ns), part(0, 0, 1, ns), part(0, 1, 1, ns),
			},
			want:  map[int]int64{0: 1},
			warns: true,
		},
	} {
		var log strings.Builder
		co := &Coordinator{
			cfg: Config{MaxSize: c.all}, log: slog.New(slog.NewTextHandler(&log, nil)), metrics: newMetrics(nil),
		}
		l := &leading{Coordinator: co, tooLarge: map[string]bool{}}
		got := l.tooOld(c.tables, c.parts, time.Unix(100, 0))
		if c.want == nil {
			c.want = map[int]int64{}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
		if n := strings.Count(log.String(), "expire because"); n != len(c.want) {
			t.Errorf("%s: %d lines about expired rows:\n%s", name, n, log.String())
		}
		l.tooOld(c.tables, c.parts, time.Unix(100, 0))
		warned := strings.Count(log.String(), "which stay")
		if c.warns && warned != 1 || !c.warns && warned > 0 {
			t.Errorf("%s: %d warnings about the newest files:\n%s", name, warned, log.String())
		}
	}
}
