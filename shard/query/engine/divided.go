package engine

import (
	"crypto/sha256"
	"slices"
	"strconv"

	"cordwood/proto/schema"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/engine/split"
	"cordwood/shard/query/engine/sql"
)

// divided is a statement for nodes that can run for each segment separately, with texts that depend only on the
// statement and the definition of its table. It is immutable.
type divided struct {
	// definition is what it depends on besides the statement.
	definition string
	// of is nil if the statement does more than group and aggregate rows.
	of *split.Segmented
	// weighted is the statement over rows that each represent several rows. It is empty if there is none.
	weighted string
	// times tells for each condition whether it is only on the time index. text queries each segment by itself, without
	// these conditions, and key identifies it.
	times     []bool
	text, key string
}

// divided returns the statement as one that can run for each segment separately. The result is kept with the
// statement, because computing it takes as long as using it.
func (r *run) divided() *divided {
	p := r.Plans[0]
	definition := definitionKey(p.View)
	if kept := r.st.divided.Load(); kept != nil && kept.definition == definition {
		return kept
	}
	st := &split.Statement{
		Root: r.st.tree, SQL: r.st.SQL, Database: p.View.Database, Table: p.View.Name, Columns: p.View.Names,
		Now: r.now, Sets: func() ([]any, error) { return nil, errTooLargeToKeep },
	}
	if c := p.View.Schema.TimeIndex(); c != nil {
		st.Time = c.Name
	}
	s := &divided{definition: definition, of: split.FindSegmented(st)}
	if s.of != nil {
		s.weighted = s.of.WeightedText()
	}
	r.st.divided.Store(s)
	return s
}

// apart returns s with the text and key for some conditions. It returns nil if there is no such text.
func (s *divided) apart(st *studied, conditions []plan.Condition) *divided {
	times := make([]bool, len(conditions))
	var rest []sql.Node
	for i := range conditions {
		if times[i] = conditions[i].OnTime(); !times[i] {
			rest = append(rest, conditions[i].Expr)
		}
	}
	if s.key != "" && slices.Equal(times, s.times) {
		return s
	}
	out := *s
	var err error
	if out.text, err = s.of.Text(rest); err != nil {
		return nil
	}
	sum := sha256.Sum256([]byte(out.text + "\x00" + s.definition))
	out.times, out.key = times, string(sum[:])
	st.divided.Store(&out)
	return &out
}

// definitionKey returns the part of a table's definition on which the meaning of a statement depends.
func definitionKey(v *plan.View) string {
	t := v.Schema
	b := make([]byte, 0, 64*(len(t.Columns)+1))
	number := func(n uint64) { b = append(strconv.AppendUint(b, n, 10), ' ') }
	text := func(s string) { b = strconv.AppendQuote(b, s) }
	number(t.ID)
	text(v.Database)
	text(v.Name)
	for i := range t.Columns {
		c := &t.Columns[i]
		b = append(b, 0)
		number(uint64(c.ID))
		text(c.Name)
		number(uint64(c.Type))
		number(uint64(c.Semantic))
		b = strconv.AppendBool(b, c.NotNull)
		if c.Default != nil {
			text(*c.Default)
		}
		if c.Index != nil {
			b = appendIndex(b, c.Index)
		}
	}
	return string(b)
}

// appendIndex appends the definition of an index.
func appendIndex(b []byte, x *schema.Index) []byte {
	b = strconv.AppendUint(append(b, ' '), uint64(x.Kind), 10)
	keys := make([]string, 0, len(x.Options))
	for k := range x.Options {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		b = strconv.AppendQuote(strconv.AppendQuote(b, k), x.Options[k])
	}
	return b
}
