package engine

import (
	"slices"
	"strings"
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// TestFill reads rows that are older than columns with NOT NULL: from files and batches without the
// columns, from a compacted file with rows of both kinds, and from tables that merge rows.
func TestFill(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	number, text, object, yes := "3", "'it''s'", `'{"a":1}'`, "true"
	older := mergeColumns[:4]
	now := append(slices.Clone(older),
		schema.Column{
			ID: 20, Name: "n", Type: schema.Int64, Semantic: schema.Field, NotNull: true, Default: &number,
			Index: &schema.Index{Kind: schema.SkippingIndex, Options: schema.DefaultIndexOptions(schema.SkippingIndex)},
		},
		schema.Column{
			ID: 21, Name: "s", Type: schema.String, Semantic: schema.Field, NotNull: true, Default: &text,
			Index: &schema.Index{Kind: schema.FulltextIndex, Options: schema.DefaultIndexOptions(schema.FulltextIndex)},
		},
		schema.Column{ID: 22, Name: "j", Type: schema.JSON, Semantic: schema.Field, NotNull: true, Default: &object},
		schema.Column{ID: 23, Name: "b", Type: schema.Boolean, Semantic: schema.Field, NotNull: true, Default: &yes},
		schema.Column{ID: 24, Name: "null", Type: schema.Int64, Semantic: schema.Field, Default: &number})
	mixed := indexed(t, dir, now, 0, batch(t, now,
		[]any{2, "a", 1, 0.5, nil, nil, nil, nil, nil},
		[]any{3, "a", 1, 0.5, 7, "new", `{"a":2}`, false, nil}))
	for _, how := range []query.Merge{query.Append, query.LastRow, query.LastNonNull} {
		tab := table("t", now, mixed.Segments[0], fileOf(t, dir, 0, older, []any{1, "a", 1, 0.5}),
			batch(t, older, []any{3, "b", 1, 0.5}, []any{4, "a", 1, 0.5}),
			batch(t, now, []any{5, "a", 1, 0.5, 9, "new", `{"a":2}`, false, 1}))
		tab.Merge = how
		for sql, want := range map[string]string{
			`SELECT n FROM t ORDER BY ts, host`:                                     "3 3 7 3 3 9",
			`SELECT s FROM t ORDER BY ts, host`:                                     "it's it's new it's it's new",
			`SELECT j->>'a' FROM t ORDER BY ts, host`:                               "1 1 2 1 1 2",
			`SELECT count(*) FROM t WHERE b`:                                        "4",
			`SELECT "null" FROM t ORDER BY ts, host`:                                "NULL NULL NULL NULL NULL 1",
			`SELECT count(*) FROM t WHERE n = 3`:                                    "4",
			`SELECT count(*) FROM t WHERE n = 7`:                                    "1",
			`SELECT count(*) FROM t WHERE n IN (3, 9)`:                              "5",
			`SELECT count(*) FROM t WHERE n IS NULL`:                                "0",
			`SELECT count(*) FROM t WHERE s = 'it''s'`:                              "4",
			`SELECT count(*) FROM t WHERE matches_term(s, 'it')`:                    "4",
			`SELECT count(n) FROM t`:                                                "6",
			`SELECT n FROM t WHERE s = 'it''s' ORDER BY ts DESC LIMIT 1`:            "3",
			`SELECT count(*) FROM t WHERE ts < '1970-01-01 00:00:03' AND n + 1 = 4`: "2",
			`SELECT n FROM t WHERE ts > '1980-01-01'`:                               "",
		} {
			if got := strings.Join(mustQuery(t, e, sql, tab), " "); got != want {
				t.Errorf("merge %v: %s: got %s, want %s", how, sql, got, want)
			}
		}
	}
}

// TestFillNothing checks that nothing is filled in for a column whose default is a function of the
// time.
func TestFillNothing(t *testing.T) {
	e := openEngine(t, t.TempDir())
	moment, broken := "now()", "it's"
	columns := []schema.Column{
		mergeColumns[0],
		{ID: 2, Name: "at", Type: schema.TimestampSecond, Semantic: schema.Field, NotNull: true, Default: &moment},
		{ID: 3, Name: "s", Type: schema.String, Semantic: schema.Field, NotNull: true, Default: &broken},
	}
	tab := table("t", columns, batch(t, columns[:1], []any{1}))
	if got := mustQuery(t, e, "SELECT at, s FROM t", tab); got[0] != "NULL|NULL" {
		t.Errorf("got %v", got)
	}
}
