package distribute

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// ownNodes are ten nodes with ten shards each. This node leads those of the first node, for which own answers; the
// others answer with ask.
type ownNodes struct {
	definition []byte // of the table, encoded, in the requests
	*Nodes
	engine *fakeEngine
	// last counts the last steps that the engine ran.
	last atomic.Int64
}

// countingEngine counts the last steps.
type countingEngine struct {
	*fakeEngine
	last *atomic.Int64
}

func (e countingEngine) Query(ctx context.Context, req *query.Request, emit func([]byte) error) error {
	e.last.Add(1)
	return e.fakeEngine.Query(ctx, req, emit)
}

func newOwnNodes(own func(context.Context, *shardpb.QueryRequest, func([]byte) error) (OwnAnswer, error),
	ask func(context.Context, *shardpb.QueryRequest) (Reader, error),
) *ownNodes {
	n := &ownNodes{engine: &fakeEngine{split: query.Split{
		Table: query.TableName{Database: "public", Name: "logs"}, Worker: "W", Final: "F", Kind: "aggregate",
	}}}
	n.Nodes = New(Config{
		Engine: countingEngine{n.engine, &n.last}, Shows: func(id uint32, _ bool) bool { return id%10 == 0 },
		Own: own, Ask: ask, KeptAnswers: 1 << 20,
	})
	return n
}

// run runs the statement and returns its answer.
func (n *ownNodes) run(ctx context.Context, t *testing.T, limit uint64) (string, error) {
	t.Helper()
	out := &sink{}
	req := spreadRequest(100, 10, false)
	req.Limit, req.Tables[0].Definition = limit, n.definition
	d, err := n.TakeApart(ctx, req, "id", out, false)
	if err != nil {
		t.Fatal(err)
	}
	done, err := d.Run(ctx, out)
	if !done {
		t.Fatal("the rows are fetched")
	}
	return out.String(), err
}

// TestOwnPart checks that the part of this node needs no call, unless another node leads one of its shards by now.
func TestOwnPart(t *testing.T) {
	for _, moved := range []bool{false, true} {
		var calls atomic.Int64
		n := newOwnNodes(func(_ context.Context, req *shardpb.QueryRequest, emit func([]byte) error) (OwnAnswer, error) {
			if shards := ShardsOf(req.Tables[0]); len(shards) != 10 || shards[0]%10 != 0 {
				t.Errorf("the part of this node has the shards %v", shards)
			}
			if err := emit([]byte("lost")); moved {
				return OwnAnswer{}, errors.Join(err, errs.New(errs.ShardUnreachable, "moved").WithReason(errs.NotLeader))
			}
			return OwnAnswer{}, nil
		}, func(context.Context, *shardpb.QueryRequest) (Reader, error) {
			calls.Add(1)
			return answerOf{bytes.NewReader(hashStream(t, 1))}, nil
		})
		n.cfg.Own = ownStream(t, n.cfg.Own, moved)
		answer, err := n.run(t.Context(), t, 0)
		if want := map[bool]int64{false: 9, true: 10}[moved]; err != nil || answer != "answer" || calls.Load() != want {
			t.Errorf("moved %t: %d calls instead of %d, %q, %v", moved, calls.Load(), want, answer, err)
		}
		if streams := len(n.engine.last.Partials.Streams); streams != 10 {
			t.Errorf("moved %t: %d streams", moved, streams)
		}
		if held := n.partials.Load(); held != 0 {
			t.Errorf("moved %t: %d bytes of partial results are still counted", moved, held)
		}
	}
}

// ownStream makes own emit a stream of rows in two pieces, unless it fails.
func ownStream(t *testing.T, own func(context.Context, *shardpb.QueryRequest, func([]byte) error) (OwnAnswer, error),
	fails bool,
) func(context.Context, *shardpb.QueryRequest, func([]byte) error) (OwnAnswer, error) {
	return func(ctx context.Context, req *shardpb.QueryRequest, emit func([]byte) error) (OwnAnswer, error) {
		if fails {
			return own(ctx, req, emit)
		}
		stream := hashStream(t, 2)
		return own(ctx, req, func([]byte) error {
			piece := slices.Clone(stream[:20])
			err := emit(piece)
			clear(piece) // the callee may not keep it
			return errors.Join(err, emit(stream[20:]))
		})
	}
}

// TestOwnPartFails checks that the first error ends the query, whether this node or another one returned it, and that
// a query that has ended returns no answer.
func TestOwnPartFails(t *testing.T) {
	failed, broken := errs.New(errs.RuntimeResourcesExhausted, "own"), errs.New(errs.RuntimeResourcesExhausted, "other")
	for _, first := range []string{"own", "other", "query"} {
		ctx, cancel := context.WithCancel(t.Context())
		var begun sync.WaitGroup
		begun.Add(1)
		ended := make(chan struct{})
		n := newOwnNodes(func(ctx context.Context, _ *shardpb.QueryRequest, _ func([]byte) error) (OwnAnswer, error) {
			begun.Wait()
			switch first {
			case "own":
				return OwnAnswer{}, failed
			case "query":
				cancel()
			}
			<-ctx.Done()
			return OwnAnswer{}, errs.New(errs.Cancelled, "query: cancelled")
		}, func(ctx context.Context, req *shardpb.QueryRequest) (Reader, error) {
			if first == "query" {
				if req.Tables[0].ShardId == 1 {
					begun.Done()
				}
				return answerOf{bytes.NewReader(hashStream(t, 1))}, nil
			}
			if req.Tables[0].ShardId == 1 {
				begun.Done()
				if first == "other" {
					close(ended)
					return nil, broken
				}
			}
			<-ctx.Done()
			return nil, errs.New(errs.Cancelled, "query: cancelled")
		})
		answer, err := n.run(ctx, t, 0)
		want := map[string]error{"own": failed, "other": broken}[first]
		if first == "query" && (errs.CodeOf(err) != errs.Cancelled || answer != "") || want != nil && !errors.Is(err, want) {
			t.Errorf("first %s: %q, %v", first, answer, err)
		}
		cancel()
	}
}

// TestKnownAnswers checks that the answer of a repeated statement is kept, and is used only as long as all nodes return
// the same partial results.
func TestKnownAnswers(t *testing.T) {
	var value, large atomic.Uint64
	n := newOwnNodes(nil, func(_ context.Context, req *shardpb.QueryRequest) (Reader, error) {
		of := make([]uint64, 1+large.Load())
		of[0] = 7
		if req.Tables[0].ShardId == 3 {
			of[0] = value.Load()
		}
		return answerOf{bytes.NewReader(hashStream(t, of...))}, nil
	})
	for _, step := range []struct {
		value, limit, large uint64
		steps               int64
		final               string
	}{
		{1, 0, 0, 1, "F"},
		{1, 0, 0, 1, "F"},
		{1, 0, 0, 0, "F"},
		{1, 0, 0, 0, "F"},
		{2, 0, 0, 1, "F"},
		{2, 0, 0, 0, "F"}, // another partial result
		{1, 0, 0, 1, "F"},
		{1, 0, 0, 0, "F"},
		{1, 9, 0, 1, "F"},
		{1, 9, 0, 1, "F"},
		{1, 9, 0, 0, "F"}, // another limit
		{1, 0, 0, 1, "F HAVING 2"},
		{1, 0, 0, 1, "F HAVING 2"},
		{1, 0, 0, 0, "F HAVING 2"}, // another value of a subquery
		{1, 0, 20_000, 1, "F"},
		{1, 0, 20_000, 1, "F"},
		{1, 0, 20_000, 1, "F"}, // too large to be kept
	} {
		value.Store(step.value)
		large.Store(step.large)
		n.engine.split.Final = step.final
		before := n.last.Load()
		if answer, err := n.run(t.Context(), t, step.limit); err != nil || answer != "answer" {
			t.Fatalf("%+v: %q, %v", step, answer, err)
		}
		if ran := n.last.Load() - before; ran != step.steps {
			t.Errorf("%+v: the last step ran %d times", step, ran)
		}
	}
}

// TestEncodedDefinition checks that the requests to other nodes contain the encoded definition of the table if the
// whole cluster understands it, and that the part of this node contains the table itself.
func TestEncodedDefinition(t *testing.T) {
	for _, version := range []uint32{0, metapb.ProtocolDefinitions - 1, metapb.ProtocolDefinitions} {
		var mu sync.Mutex // guards encoded
		var encoded [][]byte
		n := newOwnNodes(func(_ context.Context, req *shardpb.QueryRequest, _ func([]byte) error) (OwnAnswer, error) {
			if of := req.Tables[0]; of.Table == nil || of.Definition != nil {
				t.Errorf("version %d: the part of this node has %v", version, of)
			}
			return OwnAnswer{}, nil
		}, func(_ context.Context, req *shardpb.QueryRequest) (Reader, error) {
			of := req.Tables[0]
			if sent := of.Definition != nil; sent != (version >= metapb.ProtocolDefinitions) || sent == (of.Table != nil) {
				t.Errorf("version %d: the part of another node has %v", version, of)
			}
			mu.Lock()
			defer mu.Unlock()
			encoded = append(encoded, of.Definition)
			return answerOf{bytes.NewReader(hashStream(t, 1))}, nil
		})
		n.cfg.Own = ownStream(t, n.cfg.Own, false)
		if version > 0 {
			n.cfg.ClusterVersion = func() uint32 { return version }
		}
		for range 2 {
			if _, err := n.run(t.Context(), t, 0); err != nil {
				t.Fatal(err)
			}
		}
		want := spreadRequest(100, 10, false).Tables[0].Table
		for _, e := range encoded {
			var got schemapb.Table
			if version < metapb.ProtocolDefinitions {
				continue
			}
			if err := proto.Unmarshal(e, &got); err != nil || !proto.Equal(&got, want) || !bytes.Equal(e, encoded[0]) {
				t.Errorf("the definition became %v (%v)", &got, err)
			}
		}
		if len(encoded) != 18 {
			t.Errorf("version %d: %d requests", version, len(encoded))
		}
	}
}

// TestBroughtDefinition checks that the requests to other nodes contain the definition as the request brought it.
func TestBroughtDefinition(t *testing.T) {
	brought := []byte("definition")
	n := newOwnNodes(nil, func(_ context.Context, req *shardpb.QueryRequest) (Reader, error) {
		if of := req.Tables[0]; !bytes.Equal(of.Definition, brought) || of.Table != nil {
			t.Errorf("the part of another node has %v", of)
		}
		return answerOf{bytes.NewReader(hashStream(t, 1))}, nil
	})
	n.cfg.Own = nil
	n.definition = brought
	if _, err := n.run(t.Context(), t, 0); err != nil {
		t.Fatal(err)
	}
}

// TestPassedOnRowsAgain checks that the rows of a node that goes away are requested again, as long as none of them were
// sent: neither lost nor doubled.
func TestPassedOnRowsAgain(t *testing.T) {
	away := errs.New(errs.ShardUnreachable, "away")
	large := make([]uint64, flushBytes/8+1)
	for _, test := range []struct {
		name          string
		first, second []uint64 // the batches of the part that breaks after them
		breaks        int      // how often
		want          int      // rows of all parts; 0: an error
	}{
		{"before any row", nil, nil, 1, 30},
		{"after some rows", []uint64{7, 8}, []uint64{9}, 2, 30},
		{"too often", []uint64{7, 8}, nil, Tries, 0},
		{"after rows were sent", large, []uint64{9}, 1, 0},
	} {
		var calls atomic.Int64
		n := newOwnNodes(nil, func(_ context.Context, req *shardpb.QueryRequest) (Reader, error) {
			stream := hashStream(t, 1, 2, 3)
			if ShardsOf(req.Tables[0])[0]%10 != 3 || int(calls.Add(1)) > test.breaks {
				return answerOf{bytes.NewReader(stream)}, nil
			}
			if test.first != nil {
				stream = hashBatches(t, test.first, test.second)
			}
			cut := 20 // within the schema
			if test.first != nil {
				cut = len(stream) - 8 // before the end mark
			}
			return answerOf{io.MultiReader(bytes.NewReader(stream[:cut]), iotest.ErrReader(away))}, nil
		})
		n.cfg.Own = nil
		n.engine.split.Final, n.engine.split.Kind = "", "rows"
		answer, err := n.run(t.Context(), t, 0)
		if test.want == 0 {
			if errs.CodeOf(err) != errs.ShardUnreachable {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		rows := 0
		if err == nil {
			err = eachBatch([]byte(answer), func(rec arrow.RecordBatch) error {
				rows += int(rec.NumRows())
				return nil
			})
		}
		if err != nil || rows != test.want {
			t.Errorf("%s: %d rows instead of %d, %v", test.name, rows, test.want, err)
		}
	}
}

// TestNodeThatAnswered checks that EXPLAIN shows the node that answered a part, and not the presumed leader.
func TestNodeThatAnswered(t *testing.T) {
	for _, explain := range []string{"EXPLAIN ", "EXPLAIN ANALYZE "} {
		n := newOwnNodes(nil, func(context.Context, *shardpb.QueryRequest) (Reader, error) {
			return namedAnswer{answerOf{bytes.NewReader(hashStream(t, 1))}, "other"}, nil
		})
		n.cfg.Own = nil
		n.engine.split.Explain = explain
		if _, err := n.run(t.Context(), t, 0); err != nil {
			t.Fatal(err)
		}
		if note := n.engine.last.Note; strings.Count(note, "\nnode other: shards ") != 10 {
			t.Errorf("%s shows %q", explain, note)
		}
	}
}

// namedAnswer is an answer of which the node is known.
type namedAnswer struct {
	answerOf
	node string
}

func (a namedAnswer) Node() string { return a.node }
