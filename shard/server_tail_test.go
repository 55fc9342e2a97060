package shard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
	"cordwood/shard/query/engine"
	"cordwood/shard/server"
)

// tailReader reads the answers of a tail one after another.
type tailReader struct {
	t      *testing.T
	stream interface {
		Recv() (*shardpb.TailChunk, error)
	}
}

// next returns the names of the next answer's columns, and its values of column m.
func (r *tailReader) next() (columns string, rows []string, err error) {
	r.t.Helper()
	var data []byte
	for {
		c, err := r.stream.Recv()
		if err != nil {
			return "", nil, errs.FromGRPC(err)
		}
		if data = append(data, c.ArrowIpc...); c.End {
			break
		}
	}
	in, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		r.t.Fatal(err)
	}
	defer in.Release()
	var names []string
	for _, f := range in.Schema().Fields() {
		names = append(names, f.Name)
	}
	for in.Next() {
		m := in.RecordBatch().Column(in.Schema().FieldIndices("m")[0]).(*array.String)
		for i := range m.Len() {
			rows = append(rows, m.Value(i))
		}
	}
	if in.Err() != nil && !errors.Is(in.Err(), io.EOF) {
		r.t.Fatal(in.Err())
	}
	return strings.Join(names, " "), rows, nil
}

// rows reads answers until they have as many rows as want has words.
func (r *tailReader) rows(want string) {
	r.t.Helper()
	var got []string
	for n := len(strings.Fields(want)); len(got) < n; {
		_, more, err := r.next()
		if err != nil {
			r.t.Fatalf("after %q: %v", got, err)
		}
		got = append(got, more...)
	}
	if s := strings.Join(got, " "); s != want {
		r.t.Errorf("rows are %q, want %q", s, want)
	}
}

// listening is an engine that records the texts of its queries.
type listening struct {
	server.Engine
	texts chan string
}

func (l listening) Query(ctx context.Context, req *query.Request, emit func([]byte) error) error {
	l.texts <- req.SQL
	return l.Engine.Query(ctx, req, emit)
}

// TestTailTexts checks that the statements for stored and for new rows have different texts: the engine refuses a
// statement that ended its process by its text, and only the one for stored rows may be that heavy.
func TestTailTexts(t *testing.T) {
	t.Parallel()
	o := openShard(t, testConfig(t))
	eng, err := engine.Open(engine.Config{Dirs: []string{o.Shard.cfg.Dir}, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = eng.Close() })
	texts := make(chan string, 10)
	client := serve(t, listening{eng, texts}, o.Shard)
	o.mustPut(batch(head(1, 1, 1), "old"))
	stream, err := client.Tail(wait(t), &shardpb.TailRequest{
		ShardId: testShard, Name: &shardpb.TableName{Database: "public", Name: "t1"}, Table: def(1),
		Since: new(int64(0)),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &tailReader{t, stream}
	r.rows("old")
	o.mustPut(batch(head(1, 1, 2), "new"))
	r.rows("new")
	if stored, live := <-texts, <-texts; stored == live || !strings.HasPrefix(stored, live) {
		t.Errorf("the statements are %s and %s", stored, live)
	}
}

func TestTailService(t *testing.T) {
	t.Parallel()
	o := openShard(t, testConfig(t))
	eng, err := engine.Open(engine.Config{Dirs: []string{o.Shard.cfg.Dir}, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = eng.Close() })
	client := serve(t, eng, o.Shard)
	follow := func(req *shardpb.TailRequest) *tailReader {
		t.Helper()
		req.ShardId, req.Name = testShard, &shardpb.TableName{Database: "public", Name: "t1"}
		if req.Table == nil {
			req.Table = def(1)
		}
		stream, err := client.Tail(wait(t), req)
		if err != nil {
			t.Fatal(err)
		}
		return &tailReader{t, stream}
	}
	o.mustPut(batch(head(1, 1, 1), "old1", "old2"))
	o.flush()
	o.mustPut(batch(head(1, 1, 2), "old3"))

	all, some, since := follow(&shardpb.TailRequest{}), follow(&shardpb.TailRequest{
		Where: "m LIKE 'new%' AND host = 'h0' -- a comment",
	}),
		follow(&shardpb.TailRequest{Since: new(int64(1001)), Where: "true"})
	for _, r := range []*tailReader{all, some} {
		if columns, rows, err := r.next(); err != nil || len(rows) > 0 || columns != "ts host m" {
			t.Fatalf("the first answer has columns %q, rows %q, error %v", columns, rows, err)
		}
	}
	since.rows("old2 old3")
	for i := range 20 {
		o.mustPut(batch(head(1, 2, uint64(i+1)), fmt.Sprint("new", i), "x"))
		o.flush()
	}
	want := ""
	for i := range 20 {
		want += fmt.Sprint("new", i, " ")
	}
	some.rows(strings.TrimSpace(want))
	all.rows(strings.TrimSpace(strings.ReplaceAll(want, " ", " x ")))
	since.rows(strings.TrimSpace(strings.ReplaceAll(want, " ", " x ")))

	// Answers contain a new column once it is added.
	wider := def(1)
	wider.Version = 2
	wider.Columns = append(wider.Columns, &schemapb.Column{
		Id: 4, Name: "extra", Type: schemapb.Type_TYPE_INT64, Semantic: schemapb.Semantic_SEMANTIC_FIELD,
	})
	if _, need, err := o.Write(wait(t), [][]byte{batch(head(1, 3, 1), "wide")}, []*schemapb.Table{wider}); err != nil ||
		need != nil {
		t.Fatal(need, err)
	}
	if columns, rows, err := all.next(); err != nil || columns != "ts host m extra" || len(rows) != 1 {
		t.Errorf("after a column was added: columns %q, rows %q, %v", columns, rows, err)
	}

	for name, test := range map[string]struct {
		where string
		code  errs.Code
	}{
		"no such column":     {"nope = 1", errs.ColumnNotFound},
		"no condition":       {"m = ", errs.InvalidSyntax},
		"more than that":     {"m = 'a'); DROP TABLE t1; --", errs.InvalidSyntax},
		"an aggregate":       {"count(*) > 1", errs.PlanQuery},
		"another statements": {"m = 'a') UNION ALL (SELECT 1", errs.InvalidSyntax},
	} {
		_, _, err := follow(&shardpb.TailRequest{Where: test.where}).next()
		if code := errs.CodeOf(err); code != test.code && errs.From(err).Status() != 400 {
			t.Errorf("%s: error is %v, want code %d", name, err, test.code)
		}
	}
	if err := o.DropTable(wait(t), 1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := all.next(); errs.CodeOf(err) != errs.TableNotFound {
		t.Errorf("after the drop: %v, want table not found", err)
	}
}
