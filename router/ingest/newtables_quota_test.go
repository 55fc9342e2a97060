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
