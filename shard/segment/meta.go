package segment

import (
	"fmt"
	"math"
	"strings"

	"cordwood/proto/schema"
)

// Meta is what the manifest knows of a segment. Together with the file it is enough
// to read it; the file is never opened to plan a query.
type Meta struct {
	// ID is the segment's number, never reused within a shard. It is the file's name.
	ID uint64
	// TableID is the table that the rows are of; 0 for a shared file.
	TableID uint64
	// SchemaVersion is the version of the table that the columns were taken from; 0
	// for a shared file.
	SchemaVersion uint32
	// Order says when the rows were written: of two segments of a table the one with
	// the higher Order holds the later writes.
	Order uint64
	Rows  int64
	// Bytes is the size of the file.
	Bytes int64
	// MinTime and MaxTime bound the time index, in its unit; in a shared file, whose
	// tables may differ in that, in nanoseconds (the nearest there are).
	MinTime, MaxTime int64
	// FooterCRC is the CRC-32C of the Parquet footer, its length and magic included;
	// FileCRC is the checksum of the whole file.
	FooterCRC, FileCRC uint32
	// Columns are the columns of the file, except TableColumn of a shared file. A
	// column of the table that is not among them is null in every row. Names and types are as they
	// were when the file was written: a column of the table is identified by its id, and may have a
	// wider type by now. ColumnsOf says which columns of a shared file belong to a table.
	Columns []Column
	// Tables are, for a shared file, the tables that have rows in it, ascending by id,
	// as their rows are; nil for a file of one table.
	Tables []TableSpan
	// Raw means that the file is not a Parquet file: it has batches as they lay in memory.
	// Its rows are read into memory when the shard is opened.
	Raw bool
}

// TableSpan is what a shared file holds of one table.
type TableSpan struct {
	TableID uint64
	Rows    int64
	// MinTime and MaxTime bound the table's time index, in its unit.
	MinTime, MaxTime int64
}

// Shared reports whether the file is one of several tables.
func (m *Meta) Shared() bool { return len(m.Tables) > 0 }

// Column is a column as it lies in a segment.
type Column struct {
	// ID is the column's id in its table.
	ID uint32
	// FieldID is the field id in the Parquet schema: ID in a file of one table; in a
	// shared file, where several tables have a column of that id, the slot's number,
	// counted from 1.
	FieldID uint32
	// Name is the column's name in the file: its name in the table when the segment
	// was written, or a name made from it if another column's differs only in case.
	Name string
	// Logical is its name in the table when the segment was written; "" if that is Name.
	Logical  string
	Type     schema.Type
	Semantic schema.Semantic
}

// Suffix ends the names of segment files.
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

// tempSuffix ends the name under which a segment is written.
const tempSuffix = ".tmp"

// IsTemp reports whether name names a segment, or any other file of a shard, that
// was not finished.
func IsTemp(name string) bool { return strings.HasSuffix(name, tempSuffix) }

// TempName returns the name under which a file is written before it gets its own.
func TempName(name string) string { return name + tempSuffix }

// TableColumn is the first column of a shared file: the id of the row's table. It is
// part of the format.
const TableColumn = "cordwood_table"

// TableFieldID is the field id of TableColumn, by which the engine finds it; slots have
// smaller ones. It is part of the format.
const TableFieldID = math.MaxInt32

// TableName returns the column's name in the table when the segment was written.
func (c *Column) TableName() string {
	if c.Logical != "" {
		return c.Logical
	}
	return c.Name
}

// physicalNames sets the name that each column has in the file, from its Logical and FieldID.
// Engines such as DuckDB fold the case of column names, so a name that differs from an earlier one
// at most in case gets "#" and the column's field id behind it. Where shared is set, TableColumn
// is such an earlier one.
func physicalNames(columns []Column, shared bool) {
	taken := make(map[string]bool, len(columns))
	for i := range columns {
		taken[columns[i].Logical] = true // a made-up name must not be one that is given
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
