package ingest_test

import (
	"context"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/router/ingest"
	"cordwood/router/ingest/ingesttest"
	"cordwood/router/ingest/native"
)

// lines returns a batch of NDJSON for a table, through a pipeline.
func lines(table, pipeline, text string) *ingest.Batch {
	return &ingest.Batch{
		Database: "public", Table: table, Pipeline: pipeline,
		Input: ingest.Body{Data: []byte(text), Kind: native.NDJSON},
	}
}

// behind returns a service whose view is updated from f and the store when it is refreshed for the first time,
// and a count of the refreshes.
func behind(t *testing.T, f func(st *ingesttest.Store) error, change ...func(*ingest.Config)) (*ingest.Service,
	*ingesttest.Store, *int,
) {
	t.Helper()
	count := new(int)
	var st *ingesttest.Store
	s, st := ingesttest.New(t, append(change, func(c *ingest.Config) {
		c.Fresh = func(context.Context) error {
			if *count++; *count > 1 {
				return nil
			}
			return f(st)
		}
	})...)
	return s, st, count
}

var (
	timeColumn = schema.Column{
		Name: "svc_timestamp", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true,
	}
	tookColumn = schema.Column{Name: "took", Type: schema.Int64, Semantic: schema.Field}
)

// A request uses the rules of a table that another router has just created or altered, and not the defaults.
func TestNewTableIsSeenBeforeTypesAreRefused(t *testing.T) {
	const text = `{"took":1}` + "\n" + `{"took":"x"}` + "\n"
	aside := map[string]string{schema.OptionOnTypeConflict: "aside"}
	create := func(st *ingesttest.Store) error {
		st.CreateWith(aside, "public", "t", timeColumn, tookColumn)
		return nil
	}
	for _, skip := range []bool{false, true} {
		for _, known := range []bool{false, true} {
			s, st, count := behind(t, create)
			if known {
				st.Create("public", "t", timeColumn, tookColumn)
			}
			b := lines("t", ingest.IdentityPipeline, text)
			b.SkipError = skip
			out := s.Store(t.Context(), request(b))[0]
			rows := st.Rows("public.t")
			if out.Err != nil || out.Skipped != 0 || len(rows) != 2 || rows[1]["took_conflict"] != "x" || *count != 1 {
				t.Errorf("skip %v, known %v: %+v, rows %v, %d refreshes", skip, known, out, rows, *count)
			}
		}
	}
}

// Records are refused after one refresh of the view, and without refused records there is no refresh.
func TestViewIsRefreshedOnce(t *testing.T) {
	s, st, count := behind(t, func(*ingesttest.Store) error { return nil })
	out := s.Store(t.Context(), request(lines("t", ingest.IdentityPipeline, `{"took":1}`+"\n"+`{"took":"x"}`)))[0]
	if errs.CodeOf(out.Err) != errs.InvalidArguments || *count != 1 || len(st.Rows("public.t")) != 0 {
		t.Errorf("%v, %d refreshes", out.Err, *count)
	}
	for _, text := range []string{`{"took":1}`, `{"took":`, ``} {
		_ = s.Store(t.Context(), request(lines("t", ingest.IdentityPipeline, text)))
	}
	if *count != 1 {
		t.Errorf("%d refreshes", *count)
	}
}

// Without the metadata, a row for a known table can be refused. An unknown table may exist.
func TestViewCannotBeRefreshed(t *testing.T) {
	for _, known := range []bool{false, true} {
		s, st, _ := behind(t, func(*ingesttest.Store) error { return errs.New(errs.ShardNotReady, "no leader") })
		want := errs.TableUnavailable
		if known {
			st.Create("public", "t", timeColumn, tookColumn)
			want = errs.InvalidArguments
		}
		out := s.Store(t.Context(), request(lines("t", ingest.IdentityPipeline, `{"took":1}`+"\n"+`{"took":"x"}`)))[0]
		if errs.CodeOf(out.Err) != want || !known && errs.From(out.Err).RetryAfter == 0 {
			t.Errorf("known %v: %v", known, out.Err)
		}
	}
}

// A pipeline and a database that another router has just stored are found.
func TestNewPipelineIsSeen(t *testing.T) {
	put := func(st *ingesttest.Store) error {
		st.Put("mine", "processors: [{vrl: {source: .}}]\ntransform: [{field: a, type: int32}]")
		return nil
	}
	s, st, count := behind(t, put)
	if out := s.Store(t.Context(), request(lines("t", "mine", `{"a":1}`)))[0]; out.Err != nil || *count != 1 {
		t.Errorf("%v, %d refreshes", out.Err, *count)
	}
	st.Put("over", "dispatcher: {field: a, rules: [{value: 1, table_suffix: _x, pipeline: mine}]}")
	if out := s.Store(t.Context(), request(lines("t", "over", `{"a":1}`)))[0]; out.Err != nil {
		t.Error(out.Err)
	}
	out := s.Store(t.Context(), request(lines("t", "nope", `{"a":1}`)))[0]
	if out.Err == nil || !strings.Contains(out.Err.Error(), "Pipeline not found") {
		t.Error(out.Err)
	}
}

// lateDatabase is a catalog that gets a database.
type lateDatabase struct {
	ingest.Catalog
	there *bool
}

func (c lateDatabase) Database(name string) (*schemapb.Database, bool) {
	if name == "late" && *c.there {
		return &schemapb.Database{Name: name}, true
	}
	return c.Catalog.Database(name)
}

func TestNewDatabaseIsSeen(t *testing.T) {
	there := false
	s, _, count := behind(t, func(*ingesttest.Store) error { there = true; return nil }, func(c *ingest.Config) {
		c.Catalog = lateDatabase{c.Catalog, &there}
	})
	b := lines("t", ingest.IdentityPipeline, `{"a":1}`)
	b.Database = "late"
	if out := s.Store(t.Context(), request(b))[0]; out.Err != nil || *count != 1 {
		t.Errorf("%v, %d refreshes", out.Err, *count)
	}
	b = lines("t", ingest.IdentityPipeline, `{"a":1}`)
	b.Database = "never"
	if out := s.Store(t.Context(), request(b))[0]; errs.CodeOf(out.Err) != errs.DatabaseNotFound || *count != 2 {
		t.Errorf("%v, %d refreshes", out.Err, *count)
	}
}
