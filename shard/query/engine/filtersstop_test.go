package engine

import (
	"context"
	"errors"
	"testing"

	"cordwood/proto/schema"
)

// TestFiltersStop checks that a plan whose query has ended reads no filters of further files.
func TestFiltersStop(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampSecond", "msg:String")
	columns[1].Index = &schema.Index{Kind: schema.FulltextIndex, Options: schema.DefaultIndexOptions(schema.FulltextIndex)}
	tab := indexed(t, dir, columns, 2, batch(t, columns, []any{1, "a"}, []any{2, "b"}))
	for _, off := range []string{"filters", "pages"} { // each looks by itself
		planned := plansOf(t, e, "SELECT count(*) FROM t WHERE matches_term(msg, 'a')", tab, off, "codes")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := planned.Plans[0].Source(ctx, false); !errors.Is(err, context.Canceled) {
			t.Errorf("without %s: the plan ends with %v", off, err)
		}
	}
}
