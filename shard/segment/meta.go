package segment

import (
	"fmt"
	"strings"

	"cordwood/proto/schema"
)

// Meta is what the manifest knows of a segment. Together with the file it is enough
// to read it; the file is never opened to plan a query.
type Meta struct {
	// ID is the segment's number, never reused within a shard. It is the file's name.
	ID      uint64
	TableID uint64
	// SchemaVersion is the version of the table that the columns were taken from.
	SchemaVersion uint32
	Rows          int64
	// Bytes is the size of the file.
	Bytes int64
	// MinTime and MaxTime bound the time index, in its unit.
	MinTime, MaxTime int64
	// FooterCRC is the CRC-32C of the Parquet footer, its length and magic included;
	// FileCRC is that of the whole file.
	FooterCRC, FileCRC uint32
	// Columns are those that the file has. A column of the table that is not among
	// them is null in every row.
	Columns []Column
}

// Column is a column as it lies in a segment.
type Column struct {
	ID uint32
	// Name is the column's name in the file: its name in the table when the segment
	// was written, or a name made from it if another column's differs only in case.
	Name     string
	Type     schema.Type
	Semantic schema.Semantic
}

// Suffix ends the names of segment files.
const Suffix = ".parquet"

// FileName is the base name of a segment's file.
func FileName(id uint64) string { return fmt.Sprintf("%016d%s", id, Suffix) }

// tempSuffix ends the name under which a segment is written.
const tempSuffix = ".tmp"

// IsTemp tells whether name is that of a segment, or any other file of a shard, that
// was not finished.
func IsTemp(name string) bool { return strings.HasSuffix(name, tempSuffix) }

// TempName is the name under which a file is written before it gets its own.
func TempName(name string) string { return name + tempSuffix }

// physicalNames gives every column the name that it has in the file. Engines such as
// DuckDB fold the case of column names, so a name that differs from an earlier one
// only in case gets "#" and the column's id behind it.
func physicalNames(columns []schema.Column) []string {
	names := make([]string, len(columns))
	taken := make(map[string]bool, len(columns))
	for _, c := range columns {
		taken[c.Name] = true // a made-up name must not be one that is given
	}
	folded := make(map[string]bool, len(columns))
	for i, c := range columns {
		name := c.Name
		for folded[strings.ToLower(name)] || name != c.Name && taken[name] {
			name = fmt.Sprintf("%s#%d", name, c.ID)
		}
		folded[strings.ToLower(name)] = true
		names[i] = name
	}
	return names
}
