package distribute

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
	"cordwood/proto/words"
	"cordwood/shard/query"
)

// blockNodes are three nodes with six shards of 32 tables each.
type blockNodes struct {
	*Nodes
	engine *fakeEngine
	req    *shardpb.QueryRequest

	mu     sync.Mutex // guards the fields below
	calls  int
	blocks int
	asking map[uint32]int
	most   int // the maximum number of calls of one node at a time
}

const unionTables = 32

// newBlockNodes returns nodes that answer with the results of change, which gets the right answer to a request.
func newBlockNodes(t *testing.T, version uint32, change func(req *shardpb.QueryRequest, r Reader) (Reader, error),
) *blockNodes {
	t.Helper()
	n := &blockNodes{engine: &fakeEngine{split: query.Split{Kind: "several", Final: "F"}}, asking: map[uint32]int{}}
	n.req = spreadRequest(6, 3, false)
	first := n.req.Tables[0]
	n.req.Tables = nil
	for i := range unionTables {
		of := proto.CloneOf(first)
		of.Name.Name, of.Table.Id = fmt.Sprint("logs", i), uint64(i+1)
		n.req.Tables = append(n.req.Tables, of)
		n.engine.split.Blocks = append(n.engine.split.Blocks, query.Block{
			Table: query.TableName{Database: "public", Name: of.Name.Name}, Worker: fmt.Sprint("W", i), Kind: "aggregate",
			Counts: i == 3,
		})
	}
	n.Nodes = New(Config{
		Engine: n.engine, Shows: func(uint32, bool) bool { return false },
		ClusterVersion: func() uint32 { return version },
		Ask: func(_ context.Context, req *shardpb.QueryRequest) (Reader, error) {
			defer n.enter(req)()
			r := n.answer(t, req)
			if change == nil {
				return r, nil
			}
			return change(req, r)
		},
	})
	return n
}

// enter counts a call until leave is called.
func (n *blockNodes) enter(req *shardpb.QueryRequest) (leave func()) {
	node := ShardsOf(req.Tables[0])[0] % 3
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	n.blocks += max(1, len(req.Blocks))
	n.asking[node]++
	n.most = max(n.most, n.asking[node])
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.asking[node]--
	}
}

// answer returns the right answer: for each block a stream of the length of its table's name and the number of its
// first shard.
func (n *blockNodes) answer(t *testing.T, req *shardpb.QueryRequest) *blockReader {
	blocks := req.Blocks
	if len(blocks) == 0 {
		blocks = []*shardpb.QueryBlock{{Sql: req.Sql, CountAs: req.CountAs}}
	}
	r := &blockReader{}
	var answer []byte
	for _, b := range blocks {
		of := req.Tables[b.Table]
		number := strings.TrimPrefix(of.Name.Name, "logs")
		sql, explain := strings.CutPrefix(b.Sql, "EXPLAIN ")
		if sql != "W"+number || (b.CountAs != "") != (number == "3" && !explain) {
			t.Errorf("statement %q of table %s, count as %q", b.Sql, of.Name.Name, b.CountAs)
		}
		stream := hashStream(t, uint64(len(of.Name.Name)), uint64(of.ShardId))
		if explain {
			stream = textStream(t, []string{"split", "segments"}, []string{"", "segment " + number})
		}
		answer = append(answer, stream...)
		r.blocks = append(r.blocks, &shardpb.BlockAnswer{Bytes: uint64(len(stream))})
	}
	r.Reader = bytes.NewReader(answer)
	return r
}

// run runs the statement.
func (n *blockNodes) run(t *testing.T) error {
	t.Helper()
	out := &sink{}
	d, err := n.TakeApart(t.Context(), n.req, "id", out, false)
	if err != nil {
		t.Fatal(err)
	}
	done, err := d.Run(t.Context(), out)
	if !done {
		t.Fatalf("the rows are fetched: %s", d.Note())
	}
	return err
}

// blockReader is the scripted answer to several blocks.
type blockReader struct {
	io.Reader
	blocks  []*shardpb.BlockAnswer
	missing []words.Missing
}

func (*blockReader) Close() error                     { return nil }
func (r *blockReader) Missing() []words.Missing       { return r.missing }
func (r *blockReader) Blocks() []*shardpb.BlockAnswer { return r.blocks }

// TestOneCallForBlocks checks that a union of 32 tables on three nodes takes one call of each node. If a node may have
// an older version, it takes one call for each table, one at a time.
func TestOneCallForBlocks(t *testing.T) {
	for version, want := range map[uint32]int{metapb.ProtocolBlocks: 3, metapb.ProtocolBlocks - 1: 3 * unionTables} {
		n := newBlockNodes(t, version, nil)
		if err := n.run(t); err != nil {
			t.Fatal(err)
		}
		if n.calls != want || n.blocks != 3*unionTables || n.most != 1 {
			t.Errorf("version %d: %d calls, want %d; %d blocks; %d calls of a node at a time", version, n.calls, want, n.blocks,
				n.most)
		}
		partials := n.engine.last.Partials
		for i, b := range partials.Blocks {
			if b.Worker != fmt.Sprint("W", i) || len(b.Streams) != 3 {
				t.Errorf("version %d: block %d is %s with %d streams", version, i, b.Worker, len(b.Streams))
			}
			for _, stream := range b.Streams {
				values, err := readHashes(stream, uint64(len(fmt.Sprint("logs", i))))
				if err != nil || len(values) != 1 {
					t.Errorf("version %d: block %d got %v, %v", version, i, values, err)
				}
			}
		}
		if held := n.partials.Load(); held != 0 || len(partials.Blocks) != unionTables {
			t.Errorf("version %d: %d blocks; %d bytes of partial results are still counted", version, len(partials.Blocks), held)
		}
	}
}

// textStream returns a stream with two columns of texts.
func textStream(t *testing.T, columns ...[]string) []byte {
	t.Helper()
	var fields []arrow.Field
	var arrays []arrow.Array
	for i, list := range columns {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues(list, nil)
		arrays = append(arrays, b.NewArray())
		fields = append(fields, arrow.Field{Name: fmt.Sprint("c", i), Type: arrow.BinaryTypes.String})
	}
	s := arrow.NewSchema(fields, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	if err := errors.Join(w.Write(array.NewRecordBatch(s, arrays, int64(len(columns[0])))), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestExplainBlocksInOneCall checks that EXPLAIN of a union of 32 tables asks each node once, and shows what each
// reads.
func TestExplainBlocksInOneCall(t *testing.T) {
	for version, want := range map[uint32]int{metapb.ProtocolBlocks: 3, metapb.ProtocolBlocks - 1: 3 * unionTables} {
		n := newBlockNodes(t, version, nil)
		n.engine.split.Explain = "EXPLAIN "
		if err := n.run(t); err != nil {
			t.Fatal(err)
		}
		if n.calls != want {
			t.Errorf("version %d: %d calls, want %d", version, n.calls, want)
		}
		note := n.engine.last.Note
		for i := range unionTables {
			if got := strings.Count(note, fmt.Sprintf("reads segment %d\n", i)+"node"); i < unionTables-1 && got < 2 {
				t.Errorf("version %d: %d nodes say that they read segment %d", version, got, i)
			}
		}
		if got := strings.Count(note, "reads segment "); got != 3*unionTables {
			t.Errorf("version %d: %d parts say what they read:\n%s", version, got, note)
		}
	}
}

// TestBlocksAgain checks that the blocks of a node are requested again if the node is lost while it answers, and that
// an error about a node that cannot be reached names tables and shards.
func TestBlocksAgain(t *testing.T) {
	away := errs.New(errs.ShardUnreachable, "the node is gone")
	for _, breaks := range []int{1, Tries} {
		var mu sync.Mutex
		broken := 0
		n := newBlockNodes(t, metapb.ProtocolBlocks, func(req *shardpb.QueryRequest, r Reader) (Reader, error) {
			mu.Lock()
			defer mu.Unlock()
			if req.Tables[0].ShardId%3 != 1 || broken == breaks {
				return r, nil
			}
			broken++
			of, _ := r.(*blockReader)
			of.Reader = io.MultiReader(io.LimitReader(of.Reader, 100), iotest.ErrReader(away))
			return r, nil
		})
		err := n.run(t)
		if breaks < Tries && (err != nil || n.calls != 4) {
			t.Errorf("%d breaks: %d calls, %v", breaks, n.calls, err)
		}
		if breaks == Tries && (!errors.Is(err, away) || !strings.Contains(err.Error(),
			"rows of public.logs0, public.logs1, public.logs2 and 29 other tables in shards 1, 4")) {
			t.Errorf("%d breaks: %v", breaks, err)
		}
		if held := n.partials.Load(); held != 0 {
			t.Errorf("%d breaks: %d bytes of partial results are still counted", breaks, held)
		}
	}
}

// TestBlocksOfLeaders checks that tables whose shards have other leaders than those of the first one are asked with
// their own shards.
func TestBlocksOfLeaders(t *testing.T) {
	n := newBlockNodes(t, metapb.ProtocolBlocks, nil)
	n.req.Tables[5].ShardId, n.req.Tables[5].MoreShards = 2, []uint32{4}
	if err := n.run(t); err != nil {
		t.Fatal(err)
	}
	if streams := len(n.engine.last.Partials.Blocks[5].Streams); n.calls != 3 || streams != 2 {
		t.Errorf("%d calls, %d streams", n.calls, streams)
	}
}

// TestHostileBlocks checks that an answer whose descriptions do not fit it is not used.
func TestHostileBlocks(t *testing.T) {
	for _, change := range []func(r *blockReader){
		func(r *blockReader) { r.blocks = nil },
		func(r *blockReader) { r.blocks = r.blocks[1:] },
		func(r *blockReader) { r.blocks[0] = nil },
		func(r *blockReader) { r.blocks[0].Bytes++ },
		func(r *blockReader) { r.blocks[7].Bytes = 1 << 63 },
		func(r *blockReader) { r.blocks[0].Bytes--; r.blocks[1].Bytes++ },
		func(r *blockReader) { r.blocks = append(r.blocks, &shardpb.BlockAnswer{}) },
	} {
		n := newBlockNodes(t, metapb.ProtocolBlocks, func(_ *shardpb.QueryRequest, r Reader) (Reader, error) {
			if of, ok := r.(*blockReader); ok && len(of.blocks) > 1 {
				change(of)
			}
			return r, nil
		})
		out := &sink{}
		d, err := n.TakeApart(t.Context(), n.req, "id", out, false)
		if err != nil {
			t.Fatal(err)
		}
		done, err := d.Run(t.Context(), out)
		if done || err != nil || out.Len() > 0 || n.partials.Load() != 0 {
			t.Errorf("done %t, %v, %d bytes held, %s", done, err, n.partials.Load(), out.String())
		}
	}
}

// missingSink keeps what is missing.
type missingSink struct {
	sink
	missing []words.Missing
}

func (m *missingSink) Missing(what []words.Missing) error { m.missing = what; return nil }

// TestMissingOfBlocks checks that the answer says what the nodes miss.
func TestMissingOfBlocks(t *testing.T) {
	n := newBlockNodes(t, metapb.ProtocolBlocks, func(req *shardpb.QueryRequest, r Reader) (Reader, error) {
		if of, ok := r.(*blockReader); ok {
			of.missing = []words.Missing{{Shard: req.Tables[0].ShardId}}
		}
		return r, nil
	})
	n.req.AllowPartial = true
	out := &missingSink{}
	d, err := n.TakeApart(t.Context(), n.req, "id", out, false)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := d.Run(t.Context(), out); !done || err != nil {
		t.Fatal(done, err)
	}
	slices.SortFunc(out.missing, func(a, b words.Missing) int { return cmp.Compare(a.Shard, b.Shard) })
	if want := []words.Missing{{Shard: 1}, {Shard: 2}, {Shard: 3}}; !slices.Equal(out.missing, want) {
		t.Errorf("missing %v, want %v", out.missing, want)
	}
}
