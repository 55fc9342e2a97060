package meta_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// A history is a list of requests about single tables and their answers, with times. The checker
// decides whether a table that does one operation at a time could have given these answers.

// ask is a request of a client.
type ask struct {
	table   string
	kind    string // ensure, drop, place, read
	columns string // wanted columns, such as "a:string b:int64", in order
	id      uint64 // of the table to be placed
	epoch   uint32 // the epoch in which it was seen
	shards  string
}

// got is the answer.
type got struct {
	unknown bool // it may have happened, may happen later, or may never happen
	refused errs.Code
	id      uint64
	columns string
	epoch   uint32
	shards  string
}

// table is the state of a table.
type table struct {
	exists  bool
	id      uint64 // 0 means that it exists, with an unknown id
	last    uint64 // the highest id that was seen
	columns string
	epoch   uint32
	shards  string // empty means unknown
}

func columnsOf(s string) map[string]string {
	m := map[string]string{}
	for _, f := range strings.Fields(s) {
		name, kind, _ := strings.Cut(f, ":")
		m[name] = kind
	}
	return m
}

func columnText(m map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, name+":"+m[name])
	}
	return strings.Join(out, " ")
}

// grow adds columns. ok is false if a type disagrees.
func grow(have, want string) (sum string, ok bool) {
	m := columnsOf(have)
	for name, kind := range columnsOf(want) {
		if m[name] != "" && m[name] != kind {
			return have, false
		}
		m[name] = kind
	}
	return columnText(m), true
}

// known sets the id that was seen. It returns false if the table has another id.
func (s *table) known(id uint64) bool {
	if s.id == 0 && id > s.last {
		s.id, s.last = id, id
	}
	return s.id == id
}

// after returns every state that the table may have after the answer. It returns none if the table
// could not have given the answer.
func after(s table, in ask, out got) []table {
	next := s
	if out.unknown {
		switch in.kind {
		case "ensure":
			if !s.exists {
				next = table{exists: true, last: s.last, columns: in.columns, epoch: 1}
			} else if next.columns, _ = grow(s.columns, in.columns); next.columns == s.columns {
				return []table{s}
			}
		case "drop":
			next = table{last: s.last}
		case "place":
			if s.exists && s.epoch == in.epoch && (s.id == in.id || s.id == 0) {
				next.epoch, next.shards = s.epoch+1, in.shards
			}
		}
		return []table{s, next}
	}
	is := func(ok bool) []table {
		if ok {
			return []table{next}
		}
		return nil
	}
	switch in.kind {
	case "ensure":
		if !s.exists {
			next = table{exists: true, last: s.last, columns: in.columns, epoch: 1}
			return is(out.refused == 0 && next.known(out.id) && contains(out.columns, in.columns))
		}
		sum, ok := grow(s.columns, in.columns)
		if !ok {
			return is(out.refused == errs.InvalidArguments)
		}
		next.columns = sum
		// The answer may include changes that were made together with it.
		return is(out.refused == 0 && next.known(out.id) && contains(out.columns, in.columns))
	case "drop":
		if !s.exists {
			return is(out.refused == errs.TableNotFound)
		}
		ok := out.refused == 0 && next.known(out.id)
		next = table{last: next.last}
		return is(ok)
	case "read":
		if !s.exists || out.id == 0 {
			return is(!s.exists && out.id == 0)
		}
		ok := next.known(out.id) && out.columns == s.columns && out.epoch == s.epoch &&
			(s.shards == "" || s.shards == out.shards)
		next.shards = out.shards
		return is(ok)
	case "place":
		switch {
		case !s.exists || !next.known(in.id):
			return is(out.refused == errs.TableNotFound)
		case s.shards == in.shards && (s.epoch == in.epoch || s.epoch == in.epoch+1): // it was placed so already
			return is(out.refused == 0)
		case s.epoch != in.epoch:
			// Unknown shards may be the wanted ones.
			return is(out.refused == errs.RequestOutdated || s.shards == "" && s.epoch == in.epoch+1 && out.refused == 0)
		}
		if s.shards == "" && out.epoch == in.epoch { // it had these columns already
			next.shards = in.shards
			return is(out.refused == 0)
		}
		next.epoch, next.shards = s.epoch+1, in.shards
		return is(out.refused == 0 && out.epoch >= next.epoch) // it may have been placed again since
	}
	return nil
}

// contains reports whether the columns have all the wanted ones.
func contains(have, want string) bool {
	sum, ok := grow(have, want)
	return ok && sum == have
}

// linearizable returns nil if tables that do one operation at a time could have given these answers.
// Otherwise the error contains a table that could not.
func linearizable(history []porcupine.Operation) error {
	byTable := map[string][]porcupine.Operation{}
	for _, op := range history {
		name := op.Input.(ask).table
		byTable[name] = append(byTable[name], op)
	}
	model := (&porcupine.NondeterministicModel{
		Init: func() []any { return []any{table{}} },
		Step: func(state, input, output any) []any {
			var next []any
			for _, s := range after(state.(table), input.(ask), output.(got)) {
				next = append(next, s)
			}
			return next
		},
	}).ToModel()
	for _, name := range slices.Sorted(maps.Keys(byTable)) {
		if r := porcupine.CheckOperationsTimeout(model, byTable[name], 30*time.Second); r != porcupine.Ok {
			ops := byTable[name]
			slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
			var text strings.Builder
			for _, op := range ops {
				fmt.Fprintf(&text, "\n  client %d, %d to %d: %+v -> %+v", op.ClientId, op.Call/1e6, op.Return/1e6,
					op.Input, op.Output)
			}
			return fmt.Errorf("table %s: %s:%s", name, r, text.String())
		}
	}
	return nil
}

// recorder records a history.
type recorder struct {
	start time.Time
	mu    sync.Mutex // guards ops
	ops   []porcupine.Operation
}

// do calls f and records the request and its answer. Reads without an answer are not recorded: they
// carry no information.
func (r *recorder) do(client int, in ask, f func() (got, error)) got {
	op := porcupine.Operation{ClientId: client, Input: in, Call: time.Since(r.start).Nanoseconds()}
	out, err := f()
	op.Return = time.Since(r.start).Nanoseconds()
	if err != nil {
		switch code := errs.CodeOf(err); {
		case code == errs.TableNotFound, code == errs.InvalidArguments, code == errs.RequestOutdated:
			out = got{refused: code}
		case in.kind == "read":
			return got{}
		default:
			out, op.Return = got{unknown: true}, math.MaxInt64
		}
	}
	op.Output = out
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, op)
	return out
}

func tableAnswer(t *schema.Table) got {
	columns := map[string]string{}
	for i := range t.Columns {
		c := &t.Columns[i]
		switch c.Type {
		case schema.Int64:
			columns[c.Name] = "int64"
		case schema.String:
			columns[c.Name] = "string"
		}
	}
	p := t.Writable()
	return got{id: t.ID, columns: columnText(columns), epoch: p.Epoch, shards: fmt.Sprint(p.ShardID)}
}

// read returns a linearizable read of a table by any client.
func (r *recorder) read(ctx context.Context, client int, c *metaclient.Client, name string) got {
	return r.do(client, ask{table: name, kind: "read"}, func() (got, error) {
		if err := c.Fresh(ctx); err != nil {
			return got{}, err
		}
		t, ok := c.Table("public", name)
		if !ok {
			return got{}, nil
		}
		return tableAnswer(t), nil
	})
}

func (r *recorder) ensure(
	ctx context.Context, client int, c *metaclient.Client, name string, columns map[string]string,
) {
	text := columnText(columns)
	r.do(client, ask{table: name, kind: "ensure", columns: text}, func() (got, error) {
		res, err := c.Propose(ctx, ensure(name, strings.Fields(text)...))
		if err != nil {
			return got{}, err
		}
		return tableAnswer(schema.FromProto(res.Tables[0])), nil
	})
}

func (r *recorder) drop(ctx context.Context, client int, c *metaclient.Client, name string) {
	r.do(client, ask{table: name, kind: "drop"}, func() (got, error) {
		res, err := c.Propose(ctx, drop(name))
		if err != nil {
			return got{}, err
		}
		return got{id: res.DroppedTables[0]}, nil
	})
}

func (r *recorder) place(ctx context.Context, client int, c *metaclient.Client, name string, seen got, shard uint32) {
	in := ask{table: name, kind: "place", id: seen.id, epoch: seen.epoch, shards: fmt.Sprint(shard)}
	r.do(client, in, func() (got, error) {
		res, err := c.Propose(ctx, &metapb.Command{Op: &metapb.Command_PlaceTable{PlaceTable: &metapb.PlaceTable{
			TableId: seen.id, Epoch: seen.epoch, ShardIds: []uint32{shard},
		}}})
		if err != nil {
			return got{}, err
		}
		return tableAnswer(schema.FromProto(res.Tables[0])), nil
	})
}

// check fails the test if the history is not linearizable.
func (r *recorder) check(t *testing.T) error {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	acked := 0
	for _, op := range r.ops {
		if !op.Output.(got).unknown {
			acked++
		}
	}
	t.Logf("%d operations, %d of them answered", len(r.ops), acked)
	return linearizable(r.ops)
}
