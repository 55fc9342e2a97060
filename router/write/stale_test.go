package write

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
)

// TestTableOfAnotherRouter checks that the new definition of a table that another router created or changed is used
// only after it has reached the local view, so that another run of the pipeline uses it too.
func TestTableOfAnotherRouter(t *testing.T) {
	ts := schema.Column{ID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true}
	table := func(version uint32, columns ...schema.Column) *schema.Table {
		return (&schema.Table{
			ID: 1, Database: "public", Name: "a", Version: version, NextColumnID: 9, Placement: []schema.Placement{{Epoch: 1}},
			Columns: append([]schema.Column{ts}, columns...),
		}).Index()
	}
	before := table(1)
	tests := []struct {
		name string
		now  schema.Column // the column's type in the current table
		seen *schema.Table // the table in the local view and in the pipeline
		rows *pipeline.TableRows
		text string
	}{
		{
			"a tag",
			schema.Column{ID: 2, Name: "k", Type: schema.String, Semantic: schema.Tag},
			nil,
			rows("a", 1, field("k", schema.String)), "expected String TAG, given String",
		},
		{
			"another type",
			schema.Column{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field},
			nil,
			rows("a", 1, field("n", schema.String)), "expected Int64, given String",
		},
		{
			"a new column",
			schema.Column{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field},
			before,
			rows("a", 1, field("n", schema.String)), "expected Int64, given String",
		},
		{
			"no columns are added",
			schema.Column{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field},
			nil,
			func() *pipeline.TableRows {
				r := rows("a", 1, field("m", schema.Int64))
				r.NoCreate = true
				return r
			}(), "Column `m` of table `a` does not exist",
		},
		{
			"a default",
			schema.Column{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field, Default: new("7")},
			nil, rows("a", 1), `column "n" has a default`,
		},
		{
			"a default of a new column",
			schema.Column{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field, Default: new("7")},
			before,
			rows("a", 1, field("m", schema.Int64)), `column "n" has a default`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, s := newFakeMeta(), &fakeShards{}
			m.put(table(2, tt.now))
			m.stale = map[string]*schema.Table{"public.a": tt.seen}
			tt.rows.Existing = tt.seen
			_, err := newWriter(t, m, s).Write(t.Context(), output(tt.rows))
			e := errs.From(err)
			if !errors.Is(err, ErrSchemaChanged) || e.Status() != http.StatusServiceUnavailable || e.RetryAfter == 0 ||
				!strings.Contains(err.Error(), tt.text) {
				t.Errorf("status %d, again %v: %v", e.Status(), errors.Is(err, ErrSchemaChanged), err)
			}
			if now, _ := m.Table("public", "a"); now == nil || now.Version < 2 {
				t.Errorf("the caller is asked to run again while the view has %+v", now)
			}
			if s.calls != 0 {
				t.Error("something was written")
			}
		})
	}

	t.Run("the view did not update", func(t *testing.T) {
		m, s := newFakeMeta(), &fakeShards{}
		m.put(table(2, schema.Column{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field}))
		m.stale, m.cut = map[string]*schema.Table{"public.a": nil}, true
		_, err := newWriter(t, m, s).Write(t.Context(), output(rows("a", 1, field("n", schema.String))))
		if e := errs.From(err); e.Status() != http.StatusServiceUnavailable || e.RetryAfter == 0 ||
			errors.Is(err, ErrSchemaChanged) {
			t.Errorf("status %d: %v", e.Status(), err)
		}
	})
}
