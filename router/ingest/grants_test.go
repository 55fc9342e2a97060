package ingest_test

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/ingest"
	"cordwood/router/ingest/ingesttest"
	"cordwood/router/ingest/native"
)

// holder returns a caller with grants.
func holder(grants ...rights.Grant) *access.Caller {
	return &access.Caller{Sender: access.Sender{User: "ann", Grants: rights.NewIndex(grants, nil), Proof: "password"}}
}

func tables(privileges rights.Set, name string) rights.Grant {
	return rights.Grant{
		Target: rights.Target{Kind: rights.Tables, Database: "public", Name: name}, Privileges: privileges,
	}
}

// TestRowsNeedGrantsOnTheirTables checks that rows need INSERT on the table in which they are stored, whatever table
// the request names, and CREATE if that table does not exist. With skip_error, records for tables without the grant are
// skipped.
func TestRowsNeedGrantsOnTheirTables(t *testing.T) {
	const mixed = `{"a":1,"svc_table_suffix":"_a"}` + "\n" + `{"a":2,"svc_table_suffix":"_b"}` + "\n"
	for _, tt := range []struct {
		name    string
		grants  []rights.Grant
		body    string
		skip    bool
		refused bool
		tables  string
		skipped int
	}{
		{"nothing", nil, mixed, true, true, "", 0},
		{
			"all",
			[]rights.Grant{tables(rights.Insert|rights.Create, "*")},
			mixed, false, false,
			"public.logs_a public.logs_b", 0,
		},
		{"no CREATE", []rights.Grant{tables(rights.Insert, "*")}, mixed, false, true, "", 0},
		{"one", []rights.Grant{tables(rights.Insert|rights.Create, "logs_a")}, mixed, false, true, "", 0},
		{"one, skip", []rights.Grant{tables(rights.Insert|rights.Create, "logs_a")}, mixed, true, false, "public.logs_a", 1},
		{"only the named table", []rights.Grant{tables(rights.Insert|rights.Create, "logs")}, mixed, false, true, "", 0},
		{"SELECT", []rights.Grant{tables(rights.Select, "*")}, mixed, true, true, "", 0},
	} {
		s, store := ingesttest.New(t)
		caller := holder(tt.grants...)
		err := s.Admit(t.Context(), &ingest.Arrival{
			Protocol: ingest.Native, Caller: caller, Database: "public", Table: "logs",
		})
		out := ingest.Outcome{Err: err}
		if err == nil {
			out = s.Store(t.Context(), &ingest.Request{Protocol: ingest.Native, Caller: caller, Batches: []*ingest.Batch{{
				Database: "public", Table: "logs", Pipeline: ingest.IdentityPipeline, SkipError: tt.skip,
				Input: ingest.Body{Data: []byte(tt.body), Kind: native.NDJSON},
			}}})[0]
		}
		if got := strings.Join(store.Tables(), " "); got != tt.tables || (out.Err != nil) != tt.refused ||
			out.Skipped != tt.skipped {
			t.Errorf("%s: tables %s, %d skipped, %v", tt.name, got, out.Skipped, out.Err)
		}
		if out.Err != nil && errs.From(out.Err).Status() != 403 {
			t.Errorf("%s: status %d, %v", tt.name, errs.From(out.Err).Status(), out.Err)
		}
	}
}

// TestPipelineNeedsGrant checks that a pipeline on which the sender has no privilege is reported as missing, and that a
// pipeline that the sender may only read is refused.
func TestPipelineNeedsGrant(t *testing.T) {
	s, _ := ingesttest.New(t)
	pipeline := func(privileges rights.Set) rights.Grant {
		return rights.Grant{Target: rights.Target{Kind: rights.Pipelines, Name: "p*"}, Privileges: privileges}
	}
	store := func(name string, grants ...rights.Grant) error {
		return s.Store(t.Context(), &ingest.Request{
			Protocol: ingest.Native, Caller: holder(append(grants, tables(rights.OfTables, "*"))...),
			Batches: []*ingest.Batch{{
				Database: "public", Table: "logs", Pipeline: name, Input: ingest.Body{Data: []byte("{}"), Kind: native.JSON},
			}},
		})[0].Err
	}
	hidden, missing := store("p1"), store("p1", pipeline(rights.Use))
	if hidden == nil || missing == nil || hidden.Error() != missing.Error() {
		t.Errorf("%v, %v", hidden, missing)
	}
	if err := store("p1", pipeline(rights.Read)); errs.CodeOf(err) != errs.PermissionDenied ||
		!strings.Contains(err.Error(), "GRANT USE ON PIPELINE p1 TO ann") {
		t.Error(err)
	}
}

// TestDispatchNeedsGrant checks that a dispatcher sends records only to pipelines that the sender may use.
func TestDispatchNeedsGrant(t *testing.T) {
	const plain = "processors: [{vrl: {source: .}}]\ntransform: [{field: a, type: int32}]"
	for _, tt := range []struct {
		pattern string
		stored  bool
	}{{"over*", false}, {"*", true}} {
		s, st := ingesttest.New(t)
		st.Put("mine", plain)
		st.Put("over", "dispatcher: {field: a, rules: [{value: 1, table_suffix: _x, pipeline: mine}]}")
		grant := rights.Grant{Target: rights.Target{Kind: rights.Pipelines, Name: tt.pattern}, Privileges: rights.Use}
		out := s.Store(t.Context(), &ingest.Request{
			Protocol: ingest.Native, Caller: holder(grant, tables(rights.OfTables, "*")),
			Batches: []*ingest.Batch{{
				Database: "public", Table: "logs", Pipeline: "over",
				Input: ingest.Body{Data: []byte(`{"a":1}`), Kind: native.JSON},
			}},
		})[0]
		if (out.Err == nil) != tt.stored || !tt.stored && !strings.Contains(out.Err.Error(), "Pipeline not found") {
			t.Errorf("USE on %s: %v", tt.pattern, out.Err)
		}
	}
}

// BenchmarkRights measures the check of a sender with 1,000 grants before rows are stored.
func BenchmarkRights(b *testing.B) {
	var grants []rights.Grant
	for i := range 1000 {
		grants = append(grants, tables(rights.Insert, strings.Repeat("x", i%60)+"logs*"))
	}
	caller := holder(grants...)
	n := access.Need{
		Privilege: access.Insert, Object: access.Object{Kind: access.Table, Database: "public", Name: "logs_app"},
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := caller.Require(n); err != nil {
			b.Fatal(err)
		}
	}
}
