package distribute

import (
	"context"
	"strconv"
	"sync"
	"time"

	"cordwood/proto/lru"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

const (
	// keptSplits is how many statements are kept that were split, and maxKeptSQL the longest of them.
	keptSplits = 256
	maxKeptSQL = 16 << 10
)

// splits keeps statements that were split, so that the engine's process is not asked for them again. It is safe for
// concurrent use.
type splits struct {
	mu   sync.Mutex // guards kept
	kept *lru.Cache[string, *query.Split]
}

func newSplits() *splits { return &splits{kept: lru.New[string, *query.Split](keptSplits)} }

func (s *splits) get(key string) *query.Split {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, _ := s.kept.Get(key)
	return kept
}

func (s *splits) put(key string, split *query.Split) {
	if len(key) > maxKeptSQL {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Put(key, split, 1)
}

// split returns the statement of a request, split for several nodes.
func (n *Nodes) split(ctx context.Context, req *shardpb.QueryRequest) (*query.Split, error) {
	key := splitKey(req)
	if kept := n.splits.get(key); kept != nil {
		return kept.At(time.Now()), nil
	}
	out, err := n.cfg.Engine.Split(ctx, &query.Request{
		SQL: req.Sql, Database: req.Database, Tables: BareTables(req.Tables...), Limit: req.Limit, Timezone: req.Timezone,
	})
	if err != nil || !out.Lasting {
		return out, err
	}
	n.splits.put(key, out)
	return out.At(time.Now()), nil
}

// splitKey is what the result of Split depends on, besides the moment. A table's version changes with its columns.
func splitKey(req *shardpb.QueryRequest) string {
	b := make([]byte, 0, len(req.Sql)+128)
	text := func(s string) {
		b = strconv.AppendInt(b, int64(len(s)), 10)
		b = append(append(b, ' '), s...)
	}
	text(req.Sql)
	text(req.Database)
	text(req.Timezone)
	b = strconv.AppendUint(b, req.Limit, 10)
	for _, t := range req.Tables {
		if t.Name == nil || t.Table == nil {
			continue
		}
		text(t.Name.Database)
		text(t.Name.Name)
		b = append(strconv.AppendUint(b, t.Table.Id, 10), ' ')
		b = append(strconv.AppendUint(b, uint64(t.Table.Version), 10), ' ')
	}
	return string(b)
}
