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

// Partitioner returns the partition, of n, of each row of a table that merges rows. All rows of one
// primary key are in one partition. Stored tables depend on the rule: readers and writers must
// agree on it, and it cannot change.
//
// It uses the non-null tags in the order of their column ids, so adding a tag does not change the partition of rows
// without a value in it. For a row without tags it uses the time index. It may not be used concurrently.
type Partitioner struct {
	n    int
	tags []keyColumn
	time keyColumn
	buf  []byte
}

type keyColumn struct {
	id     uint32
	typ    schema.Type
	values Values // nil means all null
}

// NewPartitioner returns the rule for a table with n partitions. Use must be called before Of.
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

// Use sets the rows: values returns the column with an id, or nil.
func (p *Partitioner) Use(values func(id uint32) Values) {
	for i := range p.tags {
		p.tags[i].values = values(p.tags[i].id)
	}
	p.time.values = values(p.time.id)
}

// Of returns the partition of a row, counted from 0.
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

// canonical returns the same number for values that count as equal: both zeros, and all NaNs.
func canonical(f float64) uint64 {
	switch {
	case f == 0:
		return 0
	case f != f:
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(f)
}
