package segment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cordwood/proto/schema"
)

// Meta is the description of a segment in the manifest. Meta and the file are sufficient to read
// the segment.
type Meta struct {
	// ID is the segment's number, never reused within a shard. It determines the file's name.
	ID uint64
	// TableID is the table of the rows; 0 for a shared file.
	TableID uint64
	// SchemaVersion is the version of the table definition with which the file was written; 0 for a
	// shared file.
	SchemaVersion uint32
	// Order is the order in which rows were written: of two segments of a table the one with the
	// higher Order holds the later writes.
	Order uint64
	Rows  int64
	// Bytes is the size of the file.
	Bytes int64
	// MinTime and MaxTime are the bounds of the time index, in its unit. For a shared file, whose
	// tables may have different units, they are in nanoseconds, rounded to the nearest
	// representable values.
	MinTime, MaxTime int64
	// FooterCRC is the CRC-32C of the Parquet footer, its length and magic included;
	// FileCRC is the checksum of the whole file.
	FooterCRC, FileCRC uint32
	// Columns are the columns of the file, except TableColumn of a shared file. A column of the
	// table that is not listed is null in every row. Names and types are those at the time of
	// writing. A column of the table is identified by its id, and may have a wider type now.
	// ColumnsOf returns the columns of a shared file that belong to a table.
	Columns []Column
	// Tables lists the tables that have rows in a shared file, in ascending order of ids, like the
	// rows. It is nil for a file of one table.
	Tables []TableSpan
	// Raw means that the file is not a Parquet file: it contains batches in their form in memory.
	// Its rows are read into memory when the shard is opened.
	Raw bool
}

// TableSpan describes the rows of one table in a shared file.
type TableSpan struct {
	TableID uint64
	Rows    int64
	// MinTime and MaxTime are the bounds of the table's time index, in its unit.
	MinTime, MaxTime int64
}

// Shared reports whether the file has rows of several tables.
func (m *Meta) Shared() bool { return len(m.Tables) > 0 }

// DayRange returns the first and the last UTC day of the rows, in days since 1970, and whether the unit of their times
// is known.
func (m *Meta) DayRange() (first, last int64, ok bool) {
	perDay := int64(24 * time.Hour)
	if !m.Shared() {
		i := slices.IndexFunc(m.Columns, func(c Column) bool { return c.Semantic == schema.Timestamp })
		if i < 0 {
			return 0, 0, false
		}
		perDay = 86400 * m.Columns[i].Type.UnitsPerSecond()
	}
	day := func(t int64) int64 { return (t - (t%perDay+perDay)%perDay) / perDay }
	return day(m.MinTime), day(m.MaxTime), true
}

// Column is a column of a segment.
type Column struct {
	// ID is the column's id in its table.
	ID uint32
	// FieldID is the field id in the Parquet schema. In a file of one table it equals ID. In a
	// shared file, where several tables may have a column with the same id, it is the number of the
	// slot, counted from 1.
	FieldID uint32
	// Name is the column's name in the file: its name in the table when the segment was written, or
	// a derived name if another column's name differs only in case.
	Name string
	// Logical is the column's name in the table when the segment was written, or "" if it equals
	// Name.
	Logical  string
	Type     schema.Type
	Semantic schema.Semantic
}

// Suffix is the extension of segment files.
const Suffix = ".parquet"

// FileName returns the base name of the file of a segment that is not raw.
func FileName(id uint64) string { return fmt.Sprintf("%016d%s", id, Suffix) }

// FileName returns the base name of the segment's file.
func (m *Meta) FileName() string {
	if m.Raw {
		return fmt.Sprintf("%016d%s", m.ID, RawSuffix)
	}
	return FileName(m.ID)
}

// tempSuffix is the suffix of files that are being written.
const tempSuffix = ".tmp"

// IsTemp reports whether name is the name of an unfinished file of a shard, such as a segment.
func IsTemp(name string) bool { return strings.HasSuffix(name, tempSuffix) }

// TempName returns the name under which a file is written before it gets its final name.
func TempName(name string) string { return name + tempSuffix }

// TableColumn is the first column of a shared file: the id of the row's table. It is
// part of the format.
const TableColumn = "cordwood_table"

// TableFieldID is the field id of TableColumn, by which the engine finds it. Slots have smaller
// field ids. It is part of the format.
const TableFieldID = math.MaxInt32

// TableName returns the column's name in the table when the segment was written.
func (c *Column) TableName() string {
	if c.Logical != "" {
		return c.Logical
	}
	return c.Name
}

// physicalNames sets the name of each column in the file, from its Logical and FieldID. Engines
// such as DuckDB ignore the case of column names. So "#" and the column's field id are appended to
// a name that equals an earlier one except for case. If shared is set, TableColumn counts as an
// earlier column.
func physicalNames(columns []Column, shared bool) {
	taken := make(map[string]bool, len(columns))
	for i := range columns {
		taken[columns[i].Logical] = true // a derived name must not equal a given one
	}
	folded := make(map[string]bool, len(columns)+1)
	if shared {
		folded[TableColumn] = true
	}
	for i := range columns {
		c := &columns[i]
		name := c.Logical
		for folded[strings.ToLower(name)] || name != c.Logical && taken[name] {
			name = fmt.Sprintf("%s#%d", name, c.FieldID)
		}
		folded[strings.ToLower(name)] = true
		c.Name = name
	}
}
