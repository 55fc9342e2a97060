package write

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
)

func TestConflicts(t *testing.T) {
	table := func() *schema.Table {
		return (&schema.Table{ID: 1, Database: "public", Name: "a", Version: 4, NextColumnID: 9, Columns: []schema.Column{
			{ID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
			{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field},
		}}).Index()
	}
	wrong := func() *pipeline.TableRows { return rows("a", 2, field("n", schema.String)) }
	seen := func(tr *pipeline.TableRows, t *schema.Table) *pipeline.TableRows { tr.Existing = t; return tr }
	otherIndex := &pipeline.TableRows{Database: "public", Table: "a", Rows: &column.Builder{}}
	c := otherIndex.Rows.Add(schema.Column{
		Name: "at", Type: schema.TimestampSecond, Semantic: schema.Timestamp, NotNull: true,
	})
	c.SetInt(0, 1)
	otherIndex.Rows.EndRow()

	tests := []struct {
		name  string
		out   *pipeline.Output
		again bool // another run of the pipeline may succeed
		text  string
	}{
		{"pipeline saw no table", output(wrong()), true, `table public.a: column "n": expected Int64, given String`},
		{"pipeline saw this table", output(seen(wrong(), table())), false, `column "n": expected Int64, given String`},
		{"second time index", output(otherIndex), true, `a second time index "at" is not possible`},
		{
			"field as tag", output(rows("a", 1, schema.Column{Name: "n", Type: schema.Int64, Semantic: schema.Tag})),
			true, "given Int64 TAG",
		},
		{
			"within the request",
			output(rows("new", 1, field("x", schema.Int64)), rows("new", 1, field("x", schema.String))), false,
			`table public.new: column "x"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, s := newFakeMeta(), &fakeShards{}
			m.put(table())
			_, err := newWriter(t, m, s).Write(t.Context(), tt.out)
			code := errs.InvalidArguments
			if tt.again {
				code = errs.TableUnavailable
			}
			if errors.Is(err, ErrSchemaChanged) != tt.again || errs.CodeOf(err) != code ||
				!strings.Contains(err.Error(), tt.text) {
				t.Fatalf("%v (code %d, again %v)", err, errs.CodeOf(err), errors.Is(err, ErrSchemaChanged))
			}
			if s.calls != 0 || m.ensured != 0 {
				t.Fatal("something was written")
			}
		})
	}
}

func TestConflictDecidedByTheMetadataGroup(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	m.hold, m.entered = make(chan struct{}), make(chan struct{}, 1)
	w := newWriter(t, m, s)
	got := make(chan error)
	go func() {
		_, err := w.Write(context.Background(), output(rows("a", 1, field("n", schema.Int64))))
		got <- err
	}()
	<-m.entered
	m.put(&schema.Table{ID: 5, Database: "public", Name: "a", Version: 1, Columns: []schema.Column{
		{ID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
		{ID: 2, Name: "n", Type: schema.String, Semantic: schema.Field},
	}})
	close(m.hold)
	err := <-got
	if !errors.Is(err, ErrSchemaChanged) || errs.CodeOf(err) != errs.TableUnavailable ||
		!strings.Contains(err.Error(), "expected String, given Int64") {
		t.Fatal(err)
	}
}

func TestNoCreate(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	w := newWriter(t, m, s)
	tr := rows("a", 1)
	tr.NoCreate = true
	_, err := w.Write(t.Context(), output(tr))
	if errs.CodeOf(err) != errs.InvalidArguments ||
		err.Error() != "Table `a` does not exist, and `auto_create_table` hint is disabled" {
		t.Fatal(err)
	}
	if _, err := w.Write(t.Context(), output(rows("a", 1))); err != nil {
		t.Fatal(err)
	}
	tr = rows("a", 1)
	tr.NoCreate = true
	if _, err := w.Write(t.Context(), output(tr)); err != nil {
		t.Fatal("an existing table:", err)
	}
	tr = rows("b", 1)
	tr.NoCreate = true
	w.cfg.NoAutoCreate = true
	if _, err = w.Write(t.Context(), output(tr)); errs.CodeOf(err) != errs.InvalidArguments ||
		!strings.HasSuffix(err.Error(), "disabled by configuration") {
		t.Fatal(err)
	}
}

func TestNotNull(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	w := newWriter(t, m, s)
	table := &schema.Table{ID: 1, Database: "public", Name: "a", Version: 1, Columns: []schema.Column{
		{ID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
		{ID: 2, Name: "must", Type: schema.Int64, Semantic: schema.Field, NotNull: true},
	}}
	m.put(table)
	tr := rows("a", 1)
	if _, err := w.Write(t.Context(), output(tr)); !errors.Is(err, ErrSchemaChanged) ||
		!strings.Contains(err.Error(), `missing column "must"`) {
		t.Fatal(err)
	}
	tr.Existing = table
	_, err := w.Write(t.Context(), output(tr))
	if errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), `missing column "must"`) {
		t.Fatal(err)
	}
	tr = rows("a", 1, field("must", schema.Int64))
	tr.Existing = table
	tr.Rows.Cols()[0].SetInt(1, 1)
	tr.Rows.EndRow()
	_, err = w.Write(t.Context(), output(tr))
	if errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), `"must" must not be null, but 1 of 2`) {
		t.Fatal(err)
	}
}

func TestDefaultsThatThePipelineDidNotSee(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	w := newWriter(t, m, s)
	table := &schema.Table{ID: 1, Database: "public", Name: "a", Version: 1, Columns: []schema.Column{
		{ID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
		{ID: 2, Name: "d", Type: schema.Int64, Semantic: schema.Field, Default: new("7")},
	}}
	m.put(table)
	if _, err := w.Write(t.Context(), output(rows("a", 1))); !errors.Is(err, ErrSchemaChanged) || s.calls != 0 {
		t.Fatal(err)
	}
	tr := rows("a", 1)
	tr.Existing = table
	if _, err := w.Write(t.Context(), output(tr)); err != nil {
		t.Fatal(err)
	}
}

func TestPartialThenConflictIsNotRunAgain(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	m.shards = 2
	w := newWriter(t, m, s)
	s.refuse = func(_ int, shard uint32, _ []column.Header) error {
		if shard != 1 {
			return nil
		}
		m.put(&schema.Table{ID: 101, Database: "public", Name: "a", Version: 9, Columns: []schema.Column{
			{ID: 1, Name: "other", Type: schema.TimestampSecond, Semantic: schema.Timestamp, NotNull: true},
		}, Placement: []schema.Placement{{Epoch: 1, ShardID: 1}}})
		return errs.New(errs.RequestOutdated, "old").WithReason(errs.SchemaStale)
	}
	_, err := w.Write(t.Context(), output(rows("a", 3), rows("b", 2)))
	partial := (*PartialError)(nil)
	if !errors.As(err, &partial) || partial.Acked != 2 || errors.Is(err, ErrSchemaChanged) ||
		errs.From(err).Status() != 503 {
		t.Fatalf("%v", err)
	}
}
