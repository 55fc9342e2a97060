package simulation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// Clients change and read the schemas of a few tables. Their answers must be possible answers of tables that execute
// one call after another.

// schemaAsk is a client's call.
type schemaAsk struct {
	table  string
	kind   string // ensure, drop, read
	column int    // the column to ensure
}

// schemaAnswer is the answer to a call.
type schemaAnswer struct {
	unknown, missing bool // unknown: the call may have taken effect; missing: the table did not exist
	id               uint64
	columns          uint32 // one bit for each column
}

// schemaState is the state of a table. id is the highest id that was seen.
type schemaState struct {
	exists  bool
	id      uint64
	columns uint32
}

const schemaColumns = 12

// stepSchema returns the table after a call, or false if the answer is impossible.
func stepSchema(s schemaState, in schemaAsk, out schemaAnswer) (bool, schemaState) {
	next := s
	switch in.kind {
	case "ensure":
		if !s.exists {
			next = schemaState{exists: true, id: s.id}
		}
		next.columns |= 1 << in.column
		if out.unknown {
			return true, next
		}
		// The answer may include columns that were added at the same time.
		return !out.missing && next.columns&^out.columns == 0 && next.named(s, out.id), next
	case "drop":
		next = schemaState{id: s.id}
		return out.unknown || out.missing == !s.exists, next
	}
	if !s.exists || out.missing {
		return !s.exists && out.missing, next
	}
	return out.columns == s.columns && next.named(s, out.id), next
}

// named sets the id that was seen. It must be higher if the table was created since before, and otherwise the same.
func (s *schemaState) named(before schemaState, id uint64) bool {
	if before.exists && s.id == id {
		return true
	}
	ok := id > s.id
	s.id = id
	return ok
}

var schemaModel = porcupine.Model{
	Init: func() any { return schemaState{} },
	Step: func(state, input, output any) (bool, any) {
		return stepSchema(state.(schemaState), input.(schemaAsk), output.(schemaAnswer))
	},
}

// schemaHistory records the calls of all clients.
type schemaHistory struct {
	start time.Time
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// do executes and records a call. It reports whether the outcome is known.
func (h *schemaHistory) do(client int, in schemaAsk, f func() (schemaAnswer, error)) bool {
	op := porcupine.Operation{ClientId: client, Input: in, Call: time.Since(h.start).Nanoseconds()}
	out, err := f()
	op.Return = time.Since(h.start).Nanoseconds()
	switch {
	case err == nil:
	case errs.CodeOf(err) == errs.TableNotFound:
		out = schemaAnswer{missing: true}
	case in.kind == "read":
		return false // the call gives no information
	default:
		out, op.Return = schemaAnswer{unknown: true}, math.MaxInt64
	}
	op.Output = out
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
	return !out.unknown
}

// check lists the tables with an impossible answer.
func (h *schemaHistory) check() (out []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	tables := map[string][]porcupine.Operation{}
	for _, op := range h.ops {
		name := op.Input.(schemaAsk).table
		tables[name] = append(tables[name], op)
	}
	for name, ops := range tables {
		if r := porcupine.CheckOperationsTimeout(schemaModel, ops, 30*time.Second); r == porcupine.Illegal {
			slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
			var text strings.Builder
			for _, op := range ops {
				fmt.Fprintf(&text, "\n  client %d, %d to %d ms: %+v -> %+v", op.ClientId, op.Call/1e6, op.Return/1e6,
					op.Input, op.Output)
			}
			out = append(out, fmt.Sprintf("the answers of table %s are not linearizable:%s", name, text.String()))
		}
	}
	return out
}

// changeSchemas runs a client that works on a few tables until ctx ends. After a call of unknown outcome it only reads,
// until a read is answered: each change of unknown outcome may double the time of the check.
func (h *schemaHistory) changeSchemas(ctx context.Context, client int, r *router, rng *rand.Rand) {
	known := true
	for ctx.Err() == nil {
		name := fmt.Sprint("s", 1+rng.IntN(2))
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 8*time.Second)
		switch k := rng.IntN(20); {
		case known && k == 0:
			known = h.do(client, schemaAsk{table: name, kind: "drop"}, func() (schemaAnswer, error) {
				return r.dropTable(call, name)
			})
		case known && k < 8:
			column := rng.IntN(schemaColumns)
			known = h.do(client, schemaAsk{table: name, kind: "ensure", column: column}, func() (schemaAnswer, error) {
				return r.ensureColumn(call, name, column)
			})
		default:
			known = h.do(client, schemaAsk{table: name, kind: "read"}, func() (schemaAnswer, error) {
				t, err := r.table(call, name)
				if err != nil || t == nil {
					return schemaAnswer{missing: true}, err
				}
				return answerOf(t), nil
			})
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(100+rng.IntN(1200)) * time.Millisecond):
		}
	}
}

func answerOf(t *schema.Table) schemaAnswer {
	a := schemaAnswer{id: t.ID}
	for i := range t.Columns {
		var n int
		if _, err := fmt.Sscanf(t.Columns[i].Name, "c%d", &n); err == nil {
			a.columns |= 1 << n
		}
	}
	return a
}

// ensure returns the command that adds missing columns to a table.
func ensure(name string, options map[string]string, columns []*schemapb.Column) *metapb.Command {
	demand := &metapb.TableDemand{Database: schema.DefaultDatabase, Name: name, Columns: columns, Options: options}
	return &metapb.Command{Op: &metapb.Command_EnsureSchema{
		EnsureSchema: &metapb.EnsureSchema{Tables: []*metapb.TableDemand{demand}},
	}}
}

func (r *router) ensureColumn(ctx context.Context, name string, column int) (schemaAnswer, error) {
	columns := []*schemapb.Column{
		{
			Name: "ts", Type: schemapb.Type_TYPE_TIMESTAMP_NANOSECOND, Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP,
			NotNull: true,
		},
		{Name: fmt.Sprint("c", column), Type: schemapb.Type_TYPE_INT64, Semantic: schemapb.Semantic_SEMANTIC_FIELD},
	}
	res, err := r.meta.Propose(ctx, ensure(name, map[string]string{schema.OptionAppendMode: "true"}, columns))
	if err != nil {
		return schemaAnswer{}, err
	}
	return answerOf(schema.FromProto(res.Tables[0])), nil
}

func (r *router) dropTable(ctx context.Context, name string) (schemaAnswer, error) {
	_, err := r.meta.Propose(ctx, &metapb.Command{
		Op: &metapb.Command_DropTable{DropTable: &metapb.DropTable{Database: schema.DefaultDatabase, Name: name}},
	})
	return schemaAnswer{}, err
}
