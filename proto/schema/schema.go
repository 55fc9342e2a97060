// Package schema represents a table in memory: its columns, their types and the names of types that
// users see, and its options. The stored form is schemapb.
//
// Values of this package are immutable once published; a change creates a copy.
package schema

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"cordwood/proto/schemapb"
)

// Type is a column type. Its numbers are the numbers of schemapb.Type and part of
// every on-disk format.
type Type uint8

// The column types.
const (
	Invalid Type = iota
	Boolean
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
	String
	Binary
	JSON
	TimestampSecond
	TimestampMillisecond
	TimestampMicrosecond
	TimestampNanosecond
)

var typeNames = [...]struct{ name, sql string }{
	Invalid:              {"Invalid", "INVALID"},
	Boolean:              {"Boolean", "BOOLEAN"},
	Int8:                 {"Int8", "TINYINT"},
	Int16:                {"Int16", "SMALLINT"},
	Int32:                {"Int32", "INT"},
	Int64:                {"Int64", "BIGINT"},
	Uint8:                {"UInt8", "TINYINT UNSIGNED"},
	Uint16:               {"UInt16", "SMALLINT UNSIGNED"},
	Uint32:               {"UInt32", "INT UNSIGNED"},
	Uint64:               {"UInt64", "BIGINT UNSIGNED"},
	Float32:              {"Float32", "FLOAT"},
	Float64:              {"Float64", "DOUBLE"},
	String:               {"String", "STRING"},
	Binary:               {"Binary", "BINARY"},
	JSON:                 {"Json", "JSON"},
	TimestampSecond:      {"TimestampSecond", "TIMESTAMP(0)"},
	TimestampMillisecond: {"TimestampMillisecond", "TIMESTAMP(3)"},
	TimestampMicrosecond: {"TimestampMicrosecond", "TIMESTAMP(6)"},
	TimestampNanosecond:  {"TimestampNanosecond", "TIMESTAMP(9)"},
}

// Types lists every valid type.
func Types() []Type {
	out := make([]Type, 0, len(typeNames)-1)
	for t := Boolean; int(t) < len(typeNames); t++ {
		out = append(out, t)
	}
	return out
}

// Valid reports whether t is a type that a column can have.
func (t Type) Valid() bool { return t > Invalid && int(t) < len(typeNames) }

// String returns the type's name in answers, such as Int64.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t].name
	}
	return "Invalid"
}

// SQL returns the type's name in statements, such as BIGINT.
func (t Type) SQL() string {
	if int(t) < len(typeNames) {
		return typeNames[t].sql
	}
	return "INVALID"
}

// IsTimestamp reports whether t is one of the four timestamp types.
func (t Type) IsTimestamp() bool { return t >= TimestampSecond && t <= TimestampNanosecond }

// IsInteger reports whether t is a signed or unsigned integer.
func (t Type) IsInteger() bool { return t >= Int8 && t <= Uint64 }

// IsFloat reports whether t is Float32 or Float64.
func (t Type) IsFloat() bool { return t == Float32 || t == Float64 }

// IsBytes reports whether values of t are byte strings: String, Binary or JSON.
func (t Type) IsBytes() bool { return t == String || t == Binary || t == JSON }

// UnitsPerSecond returns the resolution of a timestamp type, 0 for the others.
func (t Type) UnitsPerSecond() int64 {
	switch t {
	case TimestampSecond:
		return 1
	case TimestampMillisecond:
		return 1e3
	case TimestampMicrosecond:
		return 1e6
	case TimestampNanosecond:
		return 1e9
	}
	return 0
}

// Moment converts a time index of the type to a time, or to the nearest possible time.
func (t Type) Moment(v int64) time.Time {
	unit := t.UnitsPerSecond()
	seconds, part := v/unit, v%unit
	if part < 0 {
		seconds, part = seconds-1, part+unit
	}
	const most = 1 << 40 // some 35,000 years
	if seconds > most || seconds < -most {
		return time.Unix(min(max(seconds, -most), most), 0)
	}
	return time.Unix(seconds, part*(int64(time.Second)/unit))
}

// IntRange returns the range of an integer type, as far as an int64 can represent it.
func (t Type) IntRange() (lo, hi int64) {
	switch t {
	case Int8:
		return math.MinInt8, math.MaxInt8
	case Int16:
		return math.MinInt16, math.MaxInt16
	case Int32:
		return math.MinInt32, math.MaxInt32
	case Uint8:
		return 0, math.MaxUint8
	case Uint16:
		return 0, math.MaxUint16
	case Uint32:
		return 0, math.MaxUint32
	case Uint64:
		return 0, math.MaxInt64
	}
	return math.MinInt64, math.MaxInt64
}

// Semantic is the role of a column in its table.
type Semantic uint8

// The roles. A table has exactly one Timestamp column, its time index.
const (
	Field     Semantic = 1
	Tag       Semantic = 2
	Timestamp Semantic = 3
)

// String returns the role's name in answers.
func (s Semantic) String() string {
	switch s {
	case Tag:
		return "TAG"
	case Timestamp:
		return "TIMESTAMP"
	}
	return "FIELD"
}

// Column is a column of a table.
type Column struct {
	// ID is never reused within the table; 0 while the column is not stored.
	ID       uint32
	Name     string
	Type     Type
	Semantic Semantic
	NotNull  bool
	// Default is the literal text that replaces an absent value; nil means none.
	Default *string
	// Index is the column's index; nil means none.
	Index *Index
	// WithinDouble means that all integers of the column have a magnitude of at most MaxExact, and
	// that writers must clear the mark in the metadata before they write a larger one. In a column
	// of a write it applies to the integers of the write.
	WithinDouble bool
	// Checking means that the stored rows are being checked for larger integers.
	Checking bool
}

// Placement is the shards that take a table's writes from an epoch on.
type Placement struct {
	Epoch uint32
	// ShardID is the shard, or the first shard of a table with partitions. More are the other ones.
	ShardID uint32
	More    []uint32
	// Since is the time of the change, in nanoseconds since 1970, by the clock of the node that
	// proposed it, or 0 if it is not known.
	Since int64
	// Closed means that the shards keep the rows and take no writes. Handed means that they handed
	// the rows over to the shards of the next epoch, and have none.
	Closed, Handed bool
}

// Shards lists the shards, ShardID first.
func (p Placement) Shards() []uint32 { return append([]uint32{p.ShardID}, p.More...) }

// String lists the shards: "shard 7", "shards 4, 7".
func (p Placement) String() string {
	if p.Closed {
		return "no shard while its rows are handed over"
	}
	text := "shard "
	if len(p.More) > 0 {
		text = "shards "
	}
	for i, id := range p.Shards() {
		if i > 0 {
			text += ", "
		}
		text += strconv.FormatUint(uint64(id), 10)
	}
	return text
}

// Takes reports whether writes go to the shard.
func (p Placement) Takes(shard uint32) bool {
	return !p.Closed && (p.ShardID == shard || slices.Contains(p.More, shard))
}

// Table is a table as it is in the metadata.
type Table struct {
	ID       uint64
	Database string
	Name     string
	// Version grows by one with every change of columns or options.
	Version          uint32
	MinWriterVersion uint32
	// Columns are in the order of DESCRIBE.
	Columns      []Column
	NextColumnID uint32
	// Options are normalised texts by option name.
	Options         map[string]string
	Placement       []Placement
	CreatedUnixNano int64
	// Restored is the backup from which the table was restored, or nil.
	Restored *Restored
	// Handoff is set while the rows are handed over to other shards.
	Handoff *Handoff
	// OriginID is the id that the table had before its rows were first handed over, or 0 if they
	// never were. See Origin.
	OriginID uint64

	byName map[string]int
}

// Handoff is a copy of a table's rows that is being made in other shards. It takes the table's name
// when it is complete. Until then no statement can refer to it.
type Handoff struct {
	// ID is the id of the copy.
	ID     uint64
	Shards []uint32
	// Incarnations are the incarnations of the participating shards at the start of the copy.
	Incarnations map[uint32]uint32
}

// Origin returns the id with which the table was created: its id, unless rows were handed over.
func (t *Table) Origin() uint64 { return cmp.Or(t.OriginID, t.ID) }

// OriginOf does what Origin does, for a table in its stored form.
func OriginOf(t *schemapb.Table) uint64 { return cmp.Or(t.OriginId, t.Id) }

// Copy returns the table into which the rows of t are copied: t with another id and the shards of
// the handoff. It returns nil if there is no handoff.
func (t *Table) Copy() *Table {
	if t.Handoff == nil {
		return nil
	}
	c := *t
	c.ID, c.OriginID, c.Handoff = t.Handoff.ID, t.Origin(), nil
	c.Placement = []Placement{{Epoch: 1, ShardID: t.Handoff.Shards[0], More: t.Handoff.Shards[1:]}}
	return c.Index()
}

// Restored is the backup from which a table was restored.
type Restored struct {
	BackupID string
	// Complete means that all rows of the backup are in the table.
	Complete bool
	// Replaces is the name under which the table will replace another one when the restore is
	// complete. It is empty if the table has its final name.
	Replaces string
}

// Index builds the lookup tables of t. It must be called after its columns were set.
func (t *Table) Index() *Table {
	t.byName = make(map[string]int, len(t.Columns))
	for i, c := range t.Columns {
		t.byName[c.Name] = i
	}
	return t
}

// Column returns the column of that name, or nil. t must have been indexed.
func (t *Table) Column(name string) *Column {
	if i, ok := t.byName[name]; ok {
		return &t.Columns[i]
	}
	return nil
}

// ColumnBytes does what Column does, without converting name to a string.
func (t *Table) ColumnBytes(name []byte) *Column {
	if i, ok := t.byName[string(name)]; ok {
		return &t.Columns[i]
	}
	return nil
}

// TimeIndex returns the table's time index column.
func (t *Table) TimeIndex() *Column {
	for i := range t.Columns {
		if t.Columns[i].Semantic == Timestamp {
			return &t.Columns[i]
		}
	}
	return nil
}

// Tags returns the columns of the primary key in schema order.
func (t *Table) Tags() []Column {
	var tags []Column
	for _, c := range t.Columns {
		if c.Semantic == Tag {
			tags = append(tags, c)
		}
	}
	return tags
}

// Writable returns the placement that takes the table's writes.
func (t *Table) Writable() Placement {
	if len(t.Placement) == 0 {
		return Placement{}
	}
	return t.Placement[len(t.Placement)-1]
}

// Shards returns the shards that may hold rows of the table, each once. Those that take its writes
// come first.
func (t *Table) Shards() []uint32 {
	var out []uint32
	for i := len(t.Placement) - 1; i >= 0; i-- {
		if t.Placement[i].Handed {
			break // and so did all before
		}
		for _, id := range t.Placement[i].Shards() {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}
