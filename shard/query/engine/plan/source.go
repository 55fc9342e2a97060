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

// Source is what one reference of a statement reads: the part of its table that
// planning left.
type Source struct {
	*View
	// need are the indexes of the columns that the statement can name.
	need []int
	// Plain are read as they are; each of merges has rows of which several may be of one
	// identity.
	Plain  []Part
	Merges [][]Part
	// same are rows that need not be read.
	same []sameRows
	// counted are rows of which only the number was read.
	counted []countedRows
	// where is a condition on every row, or empty.
	where string
	// lent are the batches that DuckDB reads.
	lent []Lent
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

// keep leaves out the parts for which f returns false. identity tells f that the rows of a part are
// still to be merged with those of others.
func (s *Source) keep(f func(pt *Part, identity bool) bool) {
	filter := func(list []Part, identity bool) []Part {
		left := list[:0] // the list is the source's own
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
	// merge is how its rows merge.
	merge query.Merge
	// Rank orders parts by when they were written, from 0.
	Rank int
	// min and max bound the time index, in its unit.
	min, Max int64
	// Groups are the runs of row numbers that matter, left the row groups; nil: all.
	Groups []rowRun
	Left   []int
	// far tells that times may be beyond what the engine compares, which it does in
	// microseconds.
	far bool
	// file is where the batch was read from, if it is not of the memtable.
	file *query.Segment
}

// rowRun are the rows of a file from first to last, both included.
type rowRun struct{ First, Last int64 }

// The columns that only views have; users cannot have one of such a name.
const (
	deletedName = schema.DeletedColumnName
	orderName   = "__sequence"
	TableName   = segment.TableColumn
)

// OrderColumnID is the id of the column with a row's order, which is in no batch.
const OrderColumnID = 0xFFFFFFFE

// Release takes back what was lent to the engine.
func (s *Source) Release() {
	for _, l := range s.lent {
		l.Release()
	}
	s.lent = nil
}

// Lent are batches that DuckDB may read until release.
type Lent interface {
	// ID is the argument of cordwood_scan, the table function that reads them.
	ID() uint64
	Release()
}

// Lend lends DuckDB the batches of parts, under the given names of the columns.
type Lend func(names []string, columns []schema.Column, parts []Part) (Lent, error)

// SQL returns the query of the source's rows. What it lends is taken back by release.
func (s *Source) SQL(lend Lend) (string, error) {
	var b strings.Builder
	for i, group := range s.filesOf(s.Plain) {
		if i > 0 {
			b.WriteString(" UNION ALL ")
		}
		s.files(&b, group, s.hidden(group.columns), "")
	}
	batches := batchesOf(s.Plain)
	if len(batches) > 0 {
		if b.Len() > 0 {
			b.WriteString(" UNION ALL ")
		}
		if err := s.scan(&b, lend, batches, ""); err != nil {
			return "", err
		}
	}
	for _, parts := range s.Merges {
		if b.Len() > 0 {
			b.WriteString(" UNION ALL ")
		}
		if err := s.merge(&b, lend, parts); err != nil {
			return "", err
		}
	}
	for _, same := range s.same {
		if b.Len() > 0 {
			b.WriteString(" UNION ALL ")
		}
		s.repeat(&b, same)
	}
	for _, counted := range s.counted {
		if b.Len() > 0 {
			b.WriteString(" UNION ALL ")
		}
		s.repeated(&b, counted)
	}
	if b.Len() == 0 {
		return s.nothing(), nil
	}
	return s.filled(b.String()), nil
}

// nothing is a query of no rows with the source's columns.
func (s *Source) nothing() string {
	list := make([]string, len(s.need))
	for i, at := range s.need {
		list[i] = s.null(at) + " AS " + sql.QuoteName(s.Names[at])
	}
	return "SELECT " + strings.Join(list, ", ") + " WHERE false"
}

// null is a null of a column's type.
func (s *Source) null(at int) string {
	c := s.Columns[at]
	if c.Type == schema.JSON {
		return "cordwood_json(NULL::VARCHAR)"
	}
	return "NULL::" + EngineTypes[c.Type].SQL
}

// fileGroup are files that are read in one go: they have the same columns under the
// same field ids.
type fileGroup struct {
	paths   []string
	columns []query.SegmentColumn
	shared  bool
	runs    []rowRun
	rank    int
	far     bool
}

// filesOf groups the segments among parts. Files with runs of rows are apart.
func (s *Source) filesOf(parts []Part) []*fileGroup {
	var groups []*fileGroup
	byKey := make(map[string]*fileGroup)
	var last *query.Segment // the one before, of the group before
	var before *fileGroup
	for _, p := range parts {
		if p.Segment == nil {
			continue
		}
		if last != nil && p.Groups == nil && before.far == p.far && last.Shared == p.Segment.Shared && slices.Equal(last.Columns, p.Segment.Columns) {
			before.paths = append(before.paths, p.Segment.Path)
			continue
		}
		g := &fileGroup{columns: s.fileColumns(p.Segment), shared: p.Segment.Shared, runs: p.Groups, rank: p.Rank, far: p.far, paths: []string{p.Segment.Path}}
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

// fileColumns returns the columns of a segment that are read, and the hidden one.
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

// casts reports whether values of a file's column are cast after they are read. The
// engine reads integers as larger ones, by the bounds and filters of the file; of doubles
// it would round the constants of conditions to the type in the file.
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

// hidden is the condition that leaves out rows that are marked deleted, or empty.
func (s *Source) hidden(columns []query.SegmentColumn) string {
	if slices.ContainsFunc(columns, func(c query.SegmentColumn) bool { return c.ID == schema.DeletedColumnID }) {
		return sql.QuoteName(deletedName) + " IS NOT TRUE"
	}
	return ""
}

// files writes the query of some files' rows. condition is one that they meet, extra
// what the list of columns has besides.
func (s *Source) files(b *strings.Builder, g *fileGroup, condition, extra string) {
	has := make(map[uint32]query.SegmentColumn, len(g.columns))
	for _, c := range g.columns {
		has[c.ID] = c
	}
	b.WriteString("SELECT ")
	for i, at := range s.need {
		if i > 0 {
			b.WriteString(", ")
		}
		name := sql.QuoteName(s.Names[at])
		switch c, ok := has[s.Columns[at].ID]; {
		case !ok:
			b.WriteString(s.null(at) + " AS " + name)
		case s.Columns[at].Type == schema.JSON:
			b.WriteString("cordwood_json(" + name + ") AS " + name)
		case s.casts(c):
			b.WriteString(name + "::" + EngineTypes[s.Columns[at].Type].SQL + " AS " + name)
		case g.far && s.Columns[at].Semantic == schema.Timestamp:
			b.WriteString(s.near(at))
		default:
			b.WriteString(name)
		}
	}
	b.WriteString(extra)
	b.WriteString(" FROM read_parquet(" + sql.QuoteList(g.paths) + ", hive_partitioning = false, schema = MAP {")
	comma := ""
	field := func(id uint32, name, kind string) {
		// By field id: a file may have the column under an older name.
		fmt.Fprintf(b, "%s%d: {name: %s, type: '%s', default_value: NULL}", comma, int32(id), sql.QuoteText(name), kind)
		comma = ", "
	}
	var conditions []string
	if g.shared {
		field(segment.TableFieldID, TableName, "UBIGINT")
		conditions = append(conditions, fmt.Sprintf("%s = %d::UBIGINT", sql.QuoteName(TableName), s.Schema.ID))
	}
	for _, at := range s.need {
		if c, ok := has[s.Columns[at].ID]; ok {
			kind := s.Columns[at].Type
			if s.casts(c) {
				kind = c.Type
			}
			field(c.FieldID, s.Names[at], EngineTypes[kind].SQL)
		}
	}
	if c, ok := has[schema.DeletedColumnID]; ok {
		field(c.FieldID, deletedName, "BOOLEAN")
	}
	b.WriteString("})")
	if len(g.runs) > 0 {
		var runs []string
		for _, r := range g.runs {
			runs = append(runs, fmt.Sprintf("file_row_number BETWEEN %d AND %d", r.First, r.Last))
		}
		conditions = append(conditions, "("+strings.Join(runs, " OR ")+")")
	}
	s.conditions(b, append(conditions, condition)...)
}

// farSeconds is the last second, and the first before 1970, that a row may be written with
// since both ways of writing look; rows of before may have others.
const farSeconds = 9_200_000_000_000

// isFar tells whether times of a time index, in its unit, may be beyond that.
func isFar(lo, hi int64, t schema.Type) bool {
	units := t.UnitsPerSecond()
	return units > 0 && units <= 1000 && (lo < -farSeconds*units || hi > farSeconds*units)
}

// near is the time index with times beyond what the engine compares taken for the last and
// the first moment: one stored row must not have queries fail.
func (s *Source) near(at int) string {
	const moment = "make_timestamp(%s%d)::%s"
	name, kind := sql.QuoteName(s.Names[at]), EngineTypes[s.Columns[at].Type].SQL
	lo, hi := fmt.Sprintf(moment, "-", farSeconds*1_000_000, kind), fmt.Sprintf(moment, "", farSeconds*1_000_000, kind)
	return fmt.Sprintf("CASE WHEN %[1]s > %[3]s THEN %[3]s WHEN %[1]s < %[2]s THEN %[2]s ELSE %[1]s END AS %[1]s", name, lo, hi)
}

// conditions writes the WHERE of a part: those given, those of the source.
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

// scan writes the query of some batches' rows; if mark is not empty, it is the hidden
// column as the query has it, and the order of the rows comes behind it.
func (s *Source) scan(b *strings.Builder, lend Lend, parts []Part, mark string) error {
	ordered := mark != ""
	columns, names := make([]schema.Column, 0, len(s.need)+2), make([]string, 0, len(s.need)+2)
	b.WriteString("SELECT ")
	for i, at := range s.need {
		if i > 0 {
			b.WriteString(", ")
		}
		columns, names = append(columns, s.Columns[at]), append(names, s.Names[at])
		if s.Columns[at].Semantic == schema.Timestamp && slices.ContainsFunc(parts, func(p Part) bool { return p.far }) {
			b.WriteString(s.near(at))
		} else {
			b.WriteString(sql.QuoteName(s.Names[at]))
		}
	}
	deleted := ordered
	for _, p := range parts {
		deleted = deleted || p.Batch.Column(schema.DeletedColumnID) != nil
	}
	hidden := ""
	if deleted {
		columns, names = append(columns, schema.DeletedColumn()), append(names, deletedName)
		hidden = sql.QuoteName(deletedName) + " IS NOT TRUE"
	}
	if ordered {
		columns = append(columns, schema.Column{ID: OrderColumnID, Name: orderName, Type: schema.Uint64, Semantic: schema.Field})
		names = append(names, orderName)
		b.WriteString(", " + mark + ", " + sql.QuoteName(orderName))
		hidden = ""
	}
	rel, err := lend(names, columns, parts)
	if err != nil {
		return err
	}
	s.lent = append(s.lent, rel)
	fmt.Fprintf(b, " FROM cordwood_scan(%d::UBIGINT)", rel.ID())
	s.conditions(b, hidden)
	return nil
}
