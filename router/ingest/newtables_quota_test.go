package ingest_test

import (
	"errors"
	"fmt"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/ingest"
	"cordwood/router/ingest/ingesttest"
	"cordwood/router/ingest/native"
	"cordwood/router/pipeline"
)

// TestRefusedTablesAreNotCounted: tables that could not be created, because of a quota or for another reason, do not
// count as tables that the user created.
func TestRefusedTablesAreNotCounted(t *testing.T) {
	s, store := ingesttest.New(t, func(c *ingest.Config) { c.MaxNewTablesPerMinute = 2 })
	send := func(table string) error {
		return s.Store(t.Context(), &ingest.Request{
			Protocol: ingest.Native, Caller: ingesttest.Caller(access.ReadWrite), Batches: []*ingest.Batch{{
				Database: "public", Table: table, Pipeline: ingest.IdentityPipeline,
				Input: ingest.Body{Data: []byte(`{"a":1}`), Kind: native.NDJSON},
			}},
		})[0].Err
	}
	for i := range 5 {
		table := fmt.Sprint("refused", i)
		store.Refuse("public."+table, schema.TooManyTables("public", table, 2, 2))
		if e := errs.From(send(table)); e.Quota == nil {
			t.Fatal(e)
		}
	}
	if err := errors.Join(send("a"), send("b")); err != nil {
		t.Error(err)
	}
	if err := send("c"); errs.CodeOf(err) != errs.RateLimited || errs.From(err).Quota != nil {
		t.Errorf("the third table: %v", err)
	}
}

// TestRefusalIsRemembered: a quota of tables refuses a new table, and the writer has forgotten it when the pipeline
// runs again. The records of this table fail, and the others are stored.
func TestRefusalIsRemembered(t *testing.T) {
	s, store := ingesttest.New(t, func(*ingest.Config) {})
	store.Create("public", "app",
		schema.Column{Name: "svc_timestamp", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
		schema.Column{Name: "a", Type: schema.Int64, Semantic: schema.Field})
	store.Refuse("public.app_new", schema.TooManyTables("public", "app_new", 2, 2))
	out := s.Store(t.Context(), &ingest.Request{
		Protocol: ingest.Native, Caller: ingesttest.Caller(access.ReadWrite), Batches: []*ingest.Batch{{
			Database: "public", Table: "app", Pipeline: ingest.IdentityPipeline, Each: true, SkipError: true,
			Input: ingest.Body{Data: []byte("{\"a\":1}\n{\"a\":2,\"svc_table_suffix\":\"_new\"}\n"), Kind: native.NDJSON},
		}},
	})[0]
	if out.Err != nil || len(out.Refused) != 1 || out.Refused[0].Kind != pipeline.SkipQuota {
		t.Fatalf("%v, refused: %+v", out.Err, out.Refused)
	}
}
