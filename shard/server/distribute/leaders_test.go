package distribute

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// knownLeaders are the leaders that this node knows. Each answer of a node reports the leaders of its shards.
type knownLeaders struct {
	mu    sync.Mutex
	known map[uint32]string
	asked [][]uint32
}

func (k *knownLeaders) leader(id uint32) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[id]
}

// newKnownLeaders returns Nodes for which node "a" leads all shards, which it reports with each answer.
func newKnownLeaders(t *testing.T, s query.Split) (*Nodes, *knownLeaders) {
	k := &knownLeaders{known: map[uint32]string{}}
	return New(Config{
		Engine: &fakeEngine{split: s}, Shows: func(uint32, bool) bool { return false }, Leader: k.leader,
		Ask: func(_ context.Context, req *shardpb.QueryRequest) (Reader, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			shards := ShardsOf(req.Tables[0])
			k.asked = append(k.asked, shards)
			for _, id := range shards {
				k.known[id] = "a"
			}
			return answerOf{bytes.NewReader(hashStream(t, 1))}, nil
		},
	}), k
}

// TestKnownLeaders checks that a statement is divided by the leaders that this node knows, and not by those that its
// request presumes.
func TestKnownLeaders(t *testing.T) {
	n, k := newKnownLeaders(t, query.Split{
		Table: query.TableName{Database: "public", Name: "logs"}, Worker: "W", Final: "F", Kind: "aggregate",
	})
	for round, want := range []int{3, 1} {
		k.asked = nil
		out := &sink{}
		d, err := n.TakeApart(t.Context(), spreadRequest(6, 3, false), fmt.Sprint(round), out, false)
		if err != nil {
			t.Fatal(err)
		}
		if done, err := d.Run(t.Context(), out); !done || err != nil {
			t.Fatal(done, err)
		}
		if len(k.asked) != want {
			t.Errorf("round %d: the parts had the shards %v, want %d parts", round, k.asked, want)
		}
	}
}

// TestExplainDividesAnew checks that EXPLAIN shows the parts by the leaders that the nodes report.
func TestExplainDividesAnew(t *testing.T) {
	n, _ := newKnownLeaders(t, query.Split{
		Table: query.TableName{Database: "public", Name: "logs"}, Worker: "W", Final: "F", Kind: "aggregate",
		Explain: "EXPLAIN",
	})
	out := &sink{}
	d, err := n.TakeApart(t.Context(), spreadRequest(6, 3, false), "id", out, false)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := d.Run(t.Context(), out); !done || err != nil {
		t.Fatal(done, err)
	}
	if note := d.Note(); !strings.Contains(note, "node a: shards 1 2 3 4 5 6") {
		t.Errorf("EXPLAIN says %s", note)
	}
}
