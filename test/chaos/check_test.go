package chaos

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestCheckerCatches checks that tables with one fault are reported.
func TestCheckerCatches(t *testing.T) {
	fresh := func() (*Load, map[int][][]any) {
		l := &Load{opt: Options{Tables: 2}}
		tables := map[int][][]any{}
		add := func(r *request, stored int) {
			l.requests = append(l.requests, r)
			for range stored {
				for row := r.first; row < r.first+r.rows; row++ {
					tables[r.at] = append(tables[r.at], line(r.writer, row))
				}
			}
		}
		add(&request{writer: "keyed0", manner: Keyed, rows: 3, acked: true, maybe: 4}, 1)
		add(&request{writer: "keyed0", manner: Keyed, first: 3, rows: 3, at: 1, maybe: 2}, 0)
		add(&request{writer: "again0", manner: Again, rows: 3, acked: true, maybe: 3}, 2)
		add(&request{writer: "once0", manner: Once, rows: 3, acked: true, maybe: 1}, 1)
		add(&request{writer: "once0", manner: Once, first: 3, rows: 3, at: 1, maybe: 1}, 1)
		add(&request{writer: "once0", manner: Once, first: 6, rows: 3, at: 1}, 0)
		return l, tables
	}
	drop := func(rows [][]any, writer string, row int) [][]any {
		var out [][]any
		for _, r := range rows {
			if r[0] != writer || fmt.Sprint(r[1]) != fmt.Sprint(row) {
				out = append(out, r)
			}
		}
		return out
	}
	for _, c := range []struct {
		name   string
		change func(l *Load, tables map[int][][]any)
		want   string
	}{
		{"nothing", func(*Load, map[int][][]any) {}, ""},
		{"an unacknowledged row stored once", func(_ *Load, x map[int][][]any) {
			x[1] = append(x[1], line("keyed0", 3))
		}, ""},
		{"a keyed row lost", func(_ *Load, x map[int][][]any) { x[0] = drop(x[0], "keyed0", 1) }, "lost"},
		{"a row sent again lost", func(_ *Load, x map[int][][]any) { x[0] = drop(x[0], "again0", 1) }, "lost"},
		{"a keyed row doubled", func(_ *Load, x map[int][][]any) { x[0] = append(x[0], line("keyed0", 2)) }, "doubled"},
		{"an unacknowledged keyed row doubled", func(_ *Load, x map[int][][]any) {
			x[1] = append(x[1], line("keyed0", 3), line("keyed0", 3))
		}, "doubled"},
		{"a row sent once doubled", func(_ *Load, x map[int][][]any) { x[0] = append(x[0], line("once0", 0)) }, "doubled"},
		{"a row stored more often than it was sent", func(_ *Load, x map[int][][]any) {
			x[0] = append(x[0], line("again0", 0), line("again0", 0))
		}, "doubled"},
		{"a refused row stored", func(_ *Load, x map[int][][]any) {
			x[1] = append(x[1], line("once0", 6))
		}, "refused and stored"},
		{"a row in another table", func(_ *Load, x map[int][][]any) {
			x[1] = append(x[1], line("keyed0", 0))
		}, "nobody sent"},
		{"an unsent row", func(_ *Load, x map[int][][]any) { x[1] = append(x[1], line("keyed0", 900)) }, "nobody sent"},
		{"a row with another content", func(_ *Load, x map[int][][]any) { x[0][0][2] = "x" }, "content that nobody sent"},
		{"a row without content", func(_ *Load, x map[int][][]any) { x[0][0][2] = nil }, "content that nobody sent"},
	} {
		l, tables := fresh()
		c.change(l, tables)
		s := &Stored{tables: map[int]map[rowID]int{}}
		for i, rows := range tables {
			s.add(i, rows)
		}
		got := strings.Join(l.Compare(s), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: the checker reports %q, want %q in it", c.name, got, c.want)
		}
	}
}

func line(writer string, row int) []any {
	return []any{writer, json.Number(fmt.Sprint(row)), payload(writer, row)}
}
