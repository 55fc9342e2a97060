package ingest_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/ingest"
	"cordwood/router/ingest/ingesttest"
	"cordwood/router/pipeline"
	"cordwood/router/vrl/value"
	"cordwood/router/write"
)

// batch returns a batch for public.NAME through svc_identity.
func batch(name string, feed ingest.Records) *ingest.Batch {
	return &ingest.Batch{
		Database: "public", Table: name, Pipeline: ingest.IdentityPipeline, SkipError: true, Each: true, Input: feed,
	}
}

func request(batches ...*ingest.Batch) *ingest.Request {
	return &ingest.Request{Protocol: ingest.Elasticsearch, Caller: ingesttest.Caller(access.WriteOnly), Batches: batches}
}

func object(list ...value.Field) value.Value {
	o := value.MakeFields(len(list))
	for _, f := range list {
		o.Add(f.Key, f.Value)
	}
	o.Sort()
	return o.Value()
}

// Records of all kinds with their own times, and an outcome for each.
func TestRecords(t *testing.T) {
	s, st := ingesttest.New(t)
	at := time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC)
	out := s.Store(t.Context(), request(batch("t", func(to *ingest.Sink) error {
		to.At(at.UnixNano())
		for _, doc := range []string{`{"n":1}`, `{"n":`, `[1]`, "{\"n\":\"\xff\"}", `{"n":"x"}`} {
			if err := to.JSON([]byte(doc)); err != nil {
				return err
			}
		}
		to.At(at.Add(time.Second).UnixNano())
		if err := to.Text([]byte("line \xff")); err != nil {
			return err
		}
		if err := to.Refuse([]byte("?"), errs.New(errs.InvalidArguments, "no record")); err != nil {
			return err
		}
		inner := object(value.Field{Key: "b", Value: value.NewFloat(1)}, value.Field{Key: "a", Value: value.NewBool(true)})
		return to.Record(object(value.Field{Key: "o", Value: inner}, value.Field{Key: "n", Value: value.NewInt(7)}), 20)
	})))[0]
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	want := []ingesttest.Row{
		{"svc_timestamp": at, "n": int64(1)},
		{"svc_timestamp": at.Add(time.Second), "message": "line \ufffd"},
		{"svc_timestamp": at.Add(time.Second), "n": int64(7), "o.a": true, "o.b": 1.0},
	}
	if diff := cmp.Diff(want, st.Rows("public.t")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	type refused struct {
		Index int
		Kind  pipeline.SkipKind
	}
	var got []refused
	for _, r := range out.Refused {
		got = append(got, refused{r.Index, r.Kind})
		if r.Error == "" {
			t.Errorf("record %d: no reason", r.Index)
		}
	}
	if diff := cmp.Diff([]refused{
		{1, pipeline.SkipParse},
		{2, pipeline.SkipParse},
		{3, pipeline.SkipParse},
		{4, pipeline.SkipType},
		{6, pipeline.SkipParse},
	}, got); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if out.Records != 8 || out.Skipped != 5 || out.Written.Rows != 3 || len(out.Warnings) != 1 {
		t.Errorf("%+v", out)
	}
}

// Records of all kinds go through a stored pipeline that does not set the time.
func TestRecordsThroughPipeline(t *testing.T) {
	s, st := ingesttest.New(t)
	st.Put("p", "version: 2\nprocessors:\n  - vrl:\n      source: |\n        .m = upcase(string!(.m))\n        .\n")
	b := batch("t", func(to *ingest.Sink) error {
		to.At(ingesttest.Now.Add(-time.Hour).UnixNano())
		if err := to.Record(object(value.Field{Key: "m", Value: value.NewString("a")}), 1); err != nil {
			return err
		}
		if err := to.Record(value.NewInt(1), 1); err != nil {
			return err
		}
		return to.Record(object(value.Field{Key: "m", Value: value.NewInt(1)}), 1)
	})
	b.Pipeline = "p"
	out := s.Store(t.Context(), request(b))[0]
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	if diff := cmp.Diff([]ingesttest.Row{{"svc_timestamp": ingesttest.Now.Add(-time.Hour), "m": "A"}},
		st.Rows("public.t")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if len(out.Refused) != 2 || out.Refused[0].Index != 1 || out.Refused[1].Kind != pipeline.SkipProcessor {
		t.Errorf("refused %+v", out.Refused)
	}
}

// Each table is stored or refused separately.
func TestBatchesByThemselves(t *testing.T) {
	s, st := ingesttest.New(t)
	one := func(to *ingest.Sink) error { return to.JSON([]byte(`{"a":1}`)) }
	st.Refuse("public.t3", errs.New(errs.ShardNotReady, "no leader"))
	unknown := batch("t1", one)
	unknown.Pipeline = "unknown"
	out := s.Store(t.Context(), request(batch("t0", one), unknown, batch("?", one), batch("t3", one), batch("t4", one)))
	for i, code := range []errs.Code{
		errs.Success, errs.InvalidArguments, errs.InvalidArguments, errs.ShardNotReady, errs.Success,
	} {
		if got := errs.CodeOf(out[i].Err); out[i].Err == nil != (code == errs.Success) || out[i].Err != nil && got != code {
			t.Errorf("batch %d: %v", i, out[i].Err)
		}
	}
	if diff := cmp.Diff([]string{"public.t0", "public.t4"}, st.Tables()); diff != "" {
		t.Error(diff)
	}
}

// A panic fails a batch, alone or among others, and not the process.
func TestPanicOfABatch(t *testing.T) {
	s, st := ingesttest.New(t)
	one := func(to *ingest.Sink) error { return to.JSON([]byte(`{"a":1}`)) }
	fault := func(*ingest.Sink) error { panic("a fault") }
	out := s.Store(t.Context(), request(batch("t0", fault)))
	out = append(out, s.Store(t.Context(), request(batch("t1", one), batch("t2", fault), batch("t3", one)))...)
	for i, code := range []errs.Code{errs.Internal, errs.Success, errs.Internal, errs.Success} {
		if got := errs.CodeOf(out[i].Err); out[i].Err == nil != (code == errs.Success) || out[i].Err != nil && got != code {
			t.Errorf("batch %d: %v", i, out[i].Err)
		}
	}
	if diff := cmp.Diff([]string{"public.t1", "public.t3"}, st.Tables()); diff != "" {
		t.Error(diff)
	}
}

// The right is checked before the body is read, and again with the names of the tables.
func TestRights(t *testing.T) {
	s, st := ingesttest.New(t)
	reader := ingesttest.Caller(access.ReadOnly)
	if err := s.Admit(t.Context(), &ingest.Arrival{Protocol: ingest.Loki, Caller: reader}); errs.CodeOf(err) !=
		errs.PermissionDenied {
		t.Errorf("before the body: %v", err)
	}
	var asked []access.Need
	caller := ingesttest.Caller(access.WriteOnly)
	caller.Work = recording{&asked}
	b := batch("t", func(to *ingest.Sink) error { return to.JSON([]byte(`{"a":1,"svc_table_suffix":"_x"}`)) })
	out := s.Store(t.Context(), &ingest.Request{Protocol: ingest.Loki, Caller: caller, Batches: []*ingest.Batch{b}})[0]
	if errs.CodeOf(out.Err) != errs.PermissionDenied || st.Writes() != 0 {
		t.Errorf("%v, %d writes", out.Err, st.Writes())
	}
	if len(asked) != 1 || asked[0].Object != (access.Object{Kind: access.Table, Database: "public", Name: "t_x"}) {
		t.Errorf("asked %+v", asked)
	}
}

// recording is work that records the needed rights, and grants none.
type recording struct{ asked *[]access.Need }

func (n recording) End() {}

func (n recording) Require(need access.Need) error {
	*n.asked = append(*n.asked, need)
	return errs.New(errs.PermissionDenied, "no right on %s", need.Object)
}

// A request that may wait succeeds when the shards are free again. A request that may not wait is refused at once.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := ingesttest.New(t)
		st.Press("public.t", true)
		a := &ingest.Arrival{
			Protocol: ingest.Loki, Caller: ingesttest.Caller(access.WriteOnly), Database: "public", Table: "t",
		}
		begin := time.Now()
		if err := s.Admit(t.Context(), a); errs.CodeOf(err) != errs.ShardBusy || time.Since(begin) != 0 {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		a.Wait = true
		if err := s.Admit(t.Context(), a); errs.CodeOf(err) != errs.ShardBusy || time.Since(begin) < 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		begin = time.Now()
		time.AfterFunc(3*time.Second, func() { st.Press("public.t", false) })
		q := request(batch("t", func(to *ingest.Sink) error { return to.JSON([]byte(`{"a":1}`)) }))
		q.Wait = true
		if out := s.Store(t.Context(), q)[0]; out.Err != nil || time.Since(begin) < 3*time.Second ||
			time.Since(begin) > 4*time.Second {
			t.Errorf("%v after %s", out.Err, time.Since(begin))
		}
	})
}

// TestManyWait checks that a request is refused at once, after one run of its pipeline, if a thousand others wait.
func TestManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := ingesttest.New(t)
		st.Press("public.t", true)
		var others sync.WaitGroup
		for range 1000 {
			others.Go(func() {
				_ = s.Admit(t.Context(), &ingest.Arrival{
					Protocol: ingest.Loki, Caller: ingesttest.Caller(access.WriteOnly), Database: "public", Table: "t", Wait: true,
				})
			})
		}
		synctest.Wait()
		q := request(batch("t", func(to *ingest.Sink) error { return to.JSON([]byte(`{"a":1}`)) }))
		q.Wait = true
		begin, writes := time.Now(), st.Writes()
		out := s.Store(t.Context(), q)[0]
		if errs.CodeOf(out.Err) != errs.ShardBusy || time.Since(begin) != 0 || st.Writes() != writes+1 {
			t.Errorf("%v after %s and %d writes", out.Err, time.Since(begin), st.Writes()-writes)
		}
		others.Wait()
	})
}

// Values go directly into columns, for an existing and a new table, and refused records are kept among the
// rejects.
func TestColumns(t *testing.T) {
	s, st := ingesttest.New(t)
	st.Create("public", "old",
		schema.Column{Name: "at", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp, NotNull: true},
		schema.Column{Name: "line", Type: schema.String, Semantic: schema.Field},
		schema.Column{Name: "level", Type: schema.String, Semantic: schema.Field},
	)
	at := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	input := func() ingest.Columns { // the batches of a request are read at the same time
		text := ""
		return ingest.Columns{
			Layout: &pipeline.Layout{
				Columns: []schema.Column{
					{Name: "line", Type: schema.String, Semantic: schema.Field},
					{Name: "level", Type: schema.Int64, Semantic: schema.Field},
				},
			},
			Fill: func(to *pipeline.Direct) error {
				app := to.Column(schema.Column{Name: "app", Type: schema.String, Semantic: schema.Tag})
				for i, line := range []string{"a", "b", "c"} {
					text = `{"line":"` + line + `"}`
					if line == "b" {
						if err := to.Drop(errs.New(errs.InvalidArguments, "not b")); err != nil {
							return err
						}
						continue
					}
					to.Time(at.Add(time.Duration(i) * time.Second).UnixNano())
					to.Text(0, []byte(line))
					if line == "c" {
						to.Int(1, 3)
					}
					to.Text(app, []byte("x"))
					if err := to.End(); err != nil {
						return err
					}
				}
				return nil
			},
			Text: func() []byte { return []byte(text) },
		}
	}
	direct := func(table string) *ingest.Batch {
		return &ingest.Batch{
			Database: "public", Table: table, SkipError: true, Each: true, OnReject: ingest.StoreRejects, Input: input(),
		}
	}
	out := s.Store(t.Context(), request(direct("new"), direct("old")))
	for i := range out {
		if o := &out[i]; o.Err != nil || o.Records != 3 || !o.Kept || len(o.Refused) != (1+i) || o.Refused[0].Index != 1 {
			t.Errorf("%d: %+v", i, o)
		}
	}
	want := []ingesttest.Row{
		{"svc_timestamp": at, "line": "a", "app": "x"},
		{"svc_timestamp": at.Add(2 * time.Second), "line": "c", "level": int64(3), "app": "x"},
	}
	if diff := cmp.Diff(want, st.Rows("public.new")); diff != "" {
		t.Errorf("a new table (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]ingesttest.Row{{"at": at, "line": "a", "app": "x"}}, st.Rows("public.old")); diff != "" {
		t.Errorf("an old table (-want +got):\n%s", diff)
	}
	if rows := st.Rows("svc_private.rejects"); len(rows) != 3 || rows[0]["record"] != `{"line":"b"}` ||
		rows[0]["pipeline"] != nil {
		t.Errorf("rejects %+v", rows)
	}
}

// TestNewColumnsOfARequest checks that the batches of a request share the limit on new columns, and that a batch that
// is retried keeps its share.
func TestNewColumnsOfARequest(t *testing.T) {
	s, st := ingesttest.New(t, func(c *ingest.Config) { c.MaxNewColumns = 5 })
	feed := func(doc string) ingest.Records {
		return func(to *ingest.Sink) error {
			for range 2 {
				if err := to.JSON([]byte(doc)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	st.Refuse("public.a", fmt.Errorf("a change: %w", write.ErrSchemaChanged)) // it is retried three times
	outs := s.Store(t.Context(), request(batch("a", feed(`{"a":1,"b":1,"c":1}`)), batch("f", feed(`{"a":1,"b":1}`))))
	if outs[0].Err == nil || outs[1].Err != nil || outs[1].Skipped != 0 {
		t.Errorf("next to a batch that is retried: %+v", outs)
	}
	st.Refuse("public.a", nil)
	outs = s.Store(t.Context(), request(batch("a", feed(`{"a":1,"b":1,"c":1}`)), batch("b", feed(`{"a":1,"b":1,"c":1}`)),
		batch("c", feed(`{"a":1,"b":1,"c":1}`))))
	stored, skipped := 0, 0
	for _, out := range outs {
		if out.Err != nil {
			t.Fatal(out.Err)
		}
		stored, skipped = stored+out.Records-out.Skipped, skipped+out.Skipped
	}
	if stored > 2 || skipped < 4 || stored+skipped != 6 {
		t.Errorf("%d records stored, %d left out", stored, skipped)
	}
	// Existing columns do not count, and each request has the whole limit.
	if out := s.Store(t.Context(), request(batch("d", feed(`{"a":1,"b":1,"c":1,"d":1,"e":1}`)),
		batch("e", feed(`{}`))))[0]; out.Err != nil || out.Skipped != 0 {
		t.Errorf("%+v", out)
	}
}

// TestRepeat checks that the bytes that records repeat are limited, and that the request fails when they are too many.
func TestRepeat(t *testing.T) {
	s, st := ingesttest.New(t)
	b := batch("t", func(to *ingest.Sink) error {
		for range 3 {
			if err := to.Repeat(1 << 29); err != nil {
				return err
			}
			if err := to.JSON([]byte(`{"a":1}`)); err != nil {
				return err
			}
		}
		return nil
	})
	b.SkipError = true
	out := s.Store(t.Context(), request(b))
	if err := out[0].Err; err == nil || errs.From(err).Status() != 413 || len(st.Tables()) > 0 {
		t.Errorf("%v, tables %v", err, st.Tables())
	}
}
