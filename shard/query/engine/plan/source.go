package plan

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
	"cordwood/shard/segment"
)

// Source is what one reference of a statement reads, after planning.
type Source struct {
	*View
	// need are the indexes of the columns whose names the statement can contain.
	need []int
	// plain are parts that are read as they are. Each of merges is a group of parts that may have
	// several rows of one identity.
	Plain  []Part
	Merges [][]Part
	// same are rows that need not be read.
	same []sameRows
	// counted are rows that were counted, not read.
	counted []countedRows
	// where is a condition on every row, or empty.
	where string
	// registered are the batches that DuckDB reads.
	registered []Registration
	// numbered means that each row gets the number of its segment, which is an index into Numbered. Numbered is filled
	// when the SQL is generated.
	numbered bool
	// weighted means that each row has, in WeightColumn, the number of rows that it represents.
	weighted bool
	Numbered []string // paths
}

// Parts yields the parts that are read.
func (s *Source) Parts() iter.Seq[*Part] {
	return func(yield func(*Part) bool) {
		for _, list := range append([][]Part{s.Plain}, s.Merges...) {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// keep excludes the parts for which f returns false. The argument identity is true for parts whose
// rows have yet to be merged with rows of others.
func (s *Source) keep(f func(pt *Part, identity bool) bool) {
	filter := func(list []Part, identity bool) []Part {
		left := list[:0] // the list belongs to the source
		for i := range list {
			if f(&list[i], identity) {
				left = append(left, list[i])
			}
		}
		return left
	}
	s.Plain = filter(s.Plain, false)
	merges := s.Merges[:0]
	for _, group := range s.Merges {
		if group = filter(group, true); len(group) > 0 {
			merges = append(merges, group)
		}
	}
	s.Merges = merges
}

// Part is a segment or a batch.
type Part struct {
	Segment *query.Segment
	Batch   *column.Batch
	// merge is the merge mode of its rows.
	merge query.Merge
	// Rank orders parts by when they were written, from 0.
	Rank int
	// Min and Max are the bounds of the time index, in its unit.
	Min, Max int64
	// Left lists the row groups that the filters did not exclude, by index. Groups has their rows as ranges of row
	// numbers, which may include excluded rows. nil means all rows.
	Groups []rowRun
	Left   []int
	// far means that times may be out of the range in which DuckDB compares, which is the range of
	// microseconds.
	far bool
	// file is the file from which the batch was read. It is nil for a batch of the memtable.
	file *query.Segment
}

// rowRun is a run of rows of a file, from first to last, both included.
type rowRun struct{ First, Last int64 }

// Names of columns that only these queries have. Users cannot create columns with such names.
const (
	deletedName = schema.DeletedColumnName
	orderName   = "__sequence"
	TableName   = segment.TableColumn
)

// OrderColumnID is the id of the column with a row's order. No batch has this column.
const OrderColumnID = 0xFFFFFFFE

// Release ends DuckDB's access to the batches.
func (s *Source) Release() {
	for _, l := range s.registered {
		l.Release()
	}
	s.registered = nil
}

// Registration is a set of batches that DuckDB may read in place until it is released.
type Registration interface {
	// ID is the argument of cordwood_scan, the table function that reads them.
	ID() uint64
	Release()
}

// Register makes the batches of parts readable to DuckDB, under the given names of the columns.
type Register func(names []string, columns []schema.Column, parts []Part) (Registration, error)

// null returns a null of a column's type.
func (s *Source) null(at int) string {
	c := s.Columns[at]
	if c.Type == schema.JSON {
		return "cordwood_json(NULL::VARCHAR)"
	}
	return "NULL::" + EngineTypes[c.Type].SQL
}

// fileGroup is a group of files that one scan reads: they have the same columns with the same field
// ids.
type fileGroup struct {
	paths   []string
	columns []query.SegmentColumn
	shared  bool
	runs    []rowRun
	rank    int
	far     bool
}

// maxRunScans is the maximum number of runs in local files that get scans of their own.
const maxRunScans = 64

// filesOf groups the segments among parts. A file with runs of rows gets a group of its own, and mostly each run does:
// with several runs in a condition, DuckDB also reads the row groups between them, if another condition compares
// values. In cold files these were not fetched.
func (s *Source) filesOf(parts []Part) []*fileGroup {
	var groups []*fileGroup
	runs := 0
	for i := range parts {
		if parts[i].Segment != nil && parts[i].Segment.Cold == 0 {
			runs += len(parts[i].Groups)
		}
	}
	byKey := make(map[string]*fileGroup)
	var last *query.Segment // the previous segment, for the previous group
	var before *fileGroup
	for _, p := range parts {
		if p.Segment == nil {
			continue
		}
		if last != nil && p.Groups == nil && before.far == p.far && last.Shared == p.Segment.Shared &&
			slices.Equal(last.Columns, p.Segment.Columns) {
			before.paths = append(before.paths, p.Segment.Path)
			continue
		}
		g := &fileGroup{
			columns: s.fileColumns(p.Segment), shared: p.Segment.Shared, runs: p.Groups, rank: p.Rank,
			far: p.far, paths: []string{p.Segment.Path},
		}
		if len(p.Groups) > 1 && (p.Segment.Cold > 0 || runs <= maxRunScans) {
			for _, run := range p.Groups {
				one := *g
				one.runs = []rowRun{run}
				groups = append(groups, &one)
			}
			continue
		}
		if p.Groups != nil {
			groups = append(groups, g)
			continue
		}
		var key strings.Builder
		fmt.Fprint(&key, g.shared, g.far)
		for _, c := range g.columns {
			fmt.Fprintf(&key, " %d:%d", c.ID, c.FieldID)
			if s.casts(c) {
				fmt.Fprintf(&key, ":%d", c.Type)
			}
		}
		last = p.Segment
		if same := byKey[key.String()]; same != nil {
			same.paths = append(same.paths, g.paths...)
			before = same
			continue
		}
		byKey[key.String()] = g
		before = g
		groups = append(groups, g)
	}
	return groups
}

// fileColumns returns the columns that are read of a segment, and the hidden one.
func (s *Source) fileColumns(seg *query.Segment) []query.SegmentColumn {
	byID := make(map[uint32]query.SegmentColumn, len(seg.Columns))
	for _, c := range seg.Columns {
		c.FieldID = fieldID(c)
		byID[c.ID] = c
	}
	out := make([]query.SegmentColumn, 0, len(s.need)+1)
	for _, at := range s.need {
		if c, ok := byID[s.Columns[at].ID]; ok {
			out = append(out, c)
		}
	}
	if c, ok := byID[schema.DeletedColumnID]; ok {
		out = append(out, c)
	}
	return out
}

// casts reports whether values of a file's column are cast after they are read. It is false for
// integers, because DuckDB then still uses the bounds and filters of the file. For doubles DuckDB
// would round the constants of conditions to the type in the file, so they are cast.
func (s *Source) casts(c query.SegmentColumn) bool {
	if c.Type == schema.Float64 {
		return false
	}
	for _, at := range s.need {
		if have := &s.Columns[at]; have.ID == c.ID {
			return have.Type == schema.Float64
		}
	}
	return false
}

// hidden returns the condition that excludes rows marked deleted, or an empty text.
func (s *Source) hidden(columns []query.SegmentColumn) string {
	if slices.ContainsFunc(columns, func(c query.SegmentColumn) bool { return c.ID == schema.DeletedColumnID }) {
		return sql.QuoteName(deletedName) + " IS NOT TRUE"
	}
	return ""
}

// farSeconds limits the seconds before and after 1970 of a time with which new rows may be written.
// Rows of earlier versions may have other times.
const farSeconds = 9_200_000_000_000

// isFar reports whether times of a time index, in its unit, may exceed that limit.
func isFar(lo, hi int64, t schema.Type) bool {
	units := t.UnitsPerSecond()
	return units > 0 && units <= 1000 && (lo < -farSeconds*units || hi > farSeconds*units)
}

// near returns an expression for the time index in which times out of DuckDB's range become the
// first or the last moment of the range. Otherwise one such row would make queries fail.
func (s *Source) near(at int) string {
	const moment = "make_timestamp(%s%d)::%s"
	name, kind := sql.QuoteName(s.Names[at]), EngineTypes[s.Columns[at].Type].SQL
	lo, hi := fmt.Sprintf(moment, "-", farSeconds*1_000_000, kind), fmt.Sprintf(moment, "", farSeconds*1_000_000, kind)
	return fmt.Sprintf("CASE WHEN %[1]s > %[3]s THEN %[3]s WHEN %[1]s < %[2]s THEN %[2]s ELSE %[1]s END AS %[1]s",
		name, lo, hi)
}

// conditions writes the WHERE of a part: the given conditions, and those of the source.
func (s *Source) conditions(b *strings.Builder, list ...string) {
	word := " WHERE "
	for _, c := range append(list, s.where) {
		if c != "" {
			b.WriteString(word + c)
			word = " AND "
		}
	}
}

func batchesOf(parts []Part) []Part {
	var out []Part
	for _, p := range parts {
		if p.Batch != nil {
			out = append(out, p)
		}
	}
	return out
}

// sameRows are rows whose times are the same to the statement.
type sameRows struct {
	at   int64 // in the unit of the time index
	rows int64
}

// countedRows are rows with the same value, a literal, whose times are the same to the statement.
type countedRows struct {
	literal string
	at      int64 // in the unit of the time index
	rows    int64
}
