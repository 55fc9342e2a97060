package pipeline

import (
	"fmt"
	"testing"
	"time"

	"cordwood/proto/schema"
)

// TestExpiredRowsAreCounted counts rows that are older than their table's ttl, including encoded rows. The ttl
// comes from the table, the request or the database.
func TestExpiredRowsAreCounted(t *testing.T) {
	now := time.Unix(0, testNow)
	day := 24 * time.Hour
	existing := &schema.Table{ID: 1, Version: 1, Database: "public", Name: "t", Columns: []schema.Column{
		{ID: 1, Name: "at", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp, NotNull: true},
	}, Options: map[string]string{"append_mode": "true", "ttl": "7days"}}
	existing.Index()
	for _, c := range []struct {
		name   string
		change func(q *Request)
		rows   int
		want   int // for rows whose ages are 0, 1, 2, … 9 days, repeatedly
	}{
		{"no ttl", func(*Request) {}, 100, 0},
		{"table", func(q *Request) { q.Catalog = tables{"t": existing} }, 100, 20},
		{"hint", hints(map[string]string{"ttl": "4d"}), 100, 50},
		{"database", func(q *Request) { q.DatabaseTTL = "4days" }, 100, 50},
		{
			"hint before database", func(q *Request) { q.DatabaseTTL, q.Hints = "1day", map[string]string{"ttl": "4d"} },
			100, 50,
		},
		{"instant", hints(map[string]string{"ttl": "instant"}), 100, 0},
		{"parts", hints(map[string]string{"ttl": "4d"}), 200_000, 100_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewIdentity(request(timeIndex("at;epoch;ms"), c.change))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Release()
			for i := range c.rows {
				age := time.Duration(i%10)*day - time.Second
				if err := r.ScanLine(fmt.Appendf(nil, `{"at":%d}`, now.Add(-age).UnixMilli())); err != nil {
					t.Fatal(err)
				}
			}
			out, err := r.Finish()
			if err != nil {
				t.Fatal(err)
			}
			if table := out.Tables[0]; table.Expired != c.want || (len(table.Parts) > 0) != (c.name == "parts") {
				t.Errorf("%d of %d rows had expired, want %d; %d parts", table.Expired, table.Count(), c.want, len(table.Parts))
			}
		})
	}
}
