package distribute

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"

	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// TestBlocksTakeOneSlot checks that a statement of 20 blocks asks no node for two parts at a time, and asks different
// nodes at the same time.
func TestBlocksTakeOneSlot(t *testing.T) {
	logs := query.TableName{Database: "public", Name: "logs"}
	s := query.Split{Kind: "several", Final: "F"}
	for i := range 20 {
		s.Blocks = append(s.Blocks, query.Block{Table: logs, Worker: string(rune('a' + i)), Kind: "aggregate"})
	}
	var mu sync.Mutex
	asking, asked, most, all := map[uint32]int{}, 0, 0, make(chan struct{})
	n := New(Config{
		Engine: &fakeEngine{split: s}, Shows: func(uint32, bool) bool { return false },
		Ask: func(ctx context.Context, req *shardpb.QueryRequest) (Reader, error) {
			node := slices.Min(ShardsOf(req.Tables[0])) % 3
			mu.Lock()
			asked++
			asking[node]++
			most = max(most, asking[node])
			if len(asking) == 3 && asked == 3 {
				close(all)
			}
			mu.Unlock()
			select {
			case <-all: // each node is asked before any answers
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			mu.Lock()
			asking[node]--
			mu.Unlock()
			return answerOf{bytes.NewReader(hashStream(t, 1))}, nil
		},
	})
	out := &sink{}
	d, err := n.TakeApart(t.Context(), spreadRequest(6, 3, false), "id", out, false)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := d.Run(t.Context(), out); !done || err != nil {
		t.Fatal(done, err)
	}
	if asked != 60 || most != 1 {
		t.Errorf("%d parts, want 60; %d at a time of one node, want 1", asked, most)
	}
}
