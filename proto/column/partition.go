package column

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"cordwood/proto/schema"
)

// Values is a column whose values can be read, of a Batch or of a Builder.
type Values interface {
	IsNull(row int) bool
	Int(row int) int64
	Float(row int) float64
	Bytes(row int) []byte
}

// Partitioner returns the partition, of n, of each row of a table that merges rows, so
// that all rows of one primary key are in one. The rule is part of how tables are stored:
// readers and writers must agree on it, and it cannot change.
//
// It uses the tags that are not null, in the order of their column ids: a tag that the
// table gets later changes nothing for rows that lack it. For a row without any it uses the time
// index. It may not be used concurrently.
type Partitioner struct {
	n    int
	tags []keyColumn
	time keyColumn
	buf  []byte
}

type keyColumn struct {
	id     uint32
	typ    schema.Type
	values Values // nil: all null
}

// NewPartitioner returns the rule for a table in n partitions. Of must not be called before Use.
func NewPartitioner(t *schema.Table, n int) *Partitioner {
	p := &Partitioner{n: n}
	for i := range t.Columns {
		switch c := &t.Columns[i]; c.Semantic {
		case schema.Tag:
			p.tags = append(p.tags, keyColumn{id: c.ID, typ: c.Type})
		case schema.Timestamp:
			p.time = keyColumn{id: c.ID, typ: c.Type}
		}
	}
	slices.SortFunc(p.tags, func(a, b keyColumn) int { return int(int64(a.id) - int64(b.id)) })
	return p
}

// Use has it look at other rows: values has the column of an id, or nil.
func (p *Partitioner) Use(values func(id uint32) Values) {
	for i := range p.tags {
		p.tags[i].values = values(p.tags[i].id)
	}
	p.time.values = values(p.time.id)
}

// Of returns the partition of a row, from 0 on.
func (p *Partitioner) Of(row int) int {
	if p.n <= 1 {
		return 0
	}
	p.buf = p.buf[:0]
	for i := range p.tags {
		p.add(&p.tags[i], row)
	}
	if len(p.buf) == 0 {
		p.add(&p.time, row)
	}
	return int(xxhash.Sum64(p.buf) % uint64(p.n))
}

func (p *Partitioner) add(c *keyColumn, row int) {
	if c.values == nil || c.values.IsNull(row) {
		return
	}
	p.buf = binary.LittleEndian.AppendUint32(p.buf, c.id)
	switch {
	case c.typ.IsBytes():
		b := c.values.Bytes(row)
		p.buf = binary.LittleEndian.AppendUint32(p.buf, uint32(len(b)))
		p.buf = append(p.buf, b...)
	case c.typ.IsFloat():
		p.buf = binary.LittleEndian.AppendUint64(p.buf, canonical(c.values.Float(row)))
	default:
		p.buf = binary.LittleEndian.AppendUint64(p.buf, uint64(c.values.Int(row)))
	}
}

// canonical returns the same for numbers that some call equal: zeros, and all that are none.
func canonical(f float64) uint64 {
	switch {
	case f == 0:
		return 0
	case f != f:
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(f)
}
