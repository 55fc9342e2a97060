package scope

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/proto/words"
	"cordwood/router/explore/search"
)

// Ident returns a name for SQL, with quotes if it needs them.
func Ident(name string) string { return search.Ident(name) }

// Table is one of the tables.
type Table struct {
	Def     *schema.Table
	Columns *search.Columns
	// Condition is the condition for the rows, without the time. TRUE means all rows.
	Condition string
}

// Scope describes the rows that a request concerns. See the package comment.
type Scope struct {
	Database string
	Tables   []*Table
	Range    Range
	// Query is the parsed search text.
	Query *search.Query
	// Partial lists what was missing in the answers to queries so far.
	Partial []words.Missing

	req     Request
	source  Source
	timeout time.Duration
}

// Resolve finds the tables of a request and parses the rest of the request. now is the time of the request, and
// timeout the time limit of each query; 0 means the default of the source.
func Resolve(ctx context.Context, source Source, req Request, now time.Time, timeout time.Duration) (*Scope, error) {
	s := &Scope{Database: req.DB, req: req, source: source, timeout: timeout}
	if s.Database = strings.TrimPrefix(s.Database, "svc-"); s.Database == "" {
		s.Database = schema.DefaultDatabase
	}
	if schema.ReservedDatabase(s.Database) {
		s.Database = strings.ToLower(s.Database)
	}
	if req.Consistency != "" && req.Consistency != "linear" && req.Consistency != "any" {
		return nil, errs.New(errs.InvalidArguments, "consistency is %.40q: it must be linear, which shows everything "+
			"that was "+
			"acknowledged, or any", req.Consistency)
	}
	var err error
	if s.Range, err = parseRange(req.From, req.To, now); err != nil {
		return nil, err
	}
	if s.Query, err = search.Parse(req.Query); err != nil {
		return nil, err
	}
	tables, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	where := strings.TrimSpace(req.Where)
	if where != "" {
		if err := source.CheckCondition(ctx, s.Database, where); err != nil {
			return nil, err
		}
	}
	return s, s.setTables(tables, where)
}

// setTables compiles the search for each table.
func (s *Scope) setTables(tables []*schema.Table, where string) error {
	columns := make([]*search.Columns, len(tables))
	for i, t := range tables {
		columns[i] = search.NewColumns(t, s.req.Chosen)
		if len(tables) > 1 {
			columns[i] = columns[i].Among()
		}
	}
	for i, t := range tables {
		sql, err := s.Query.Condition(columns[i], columns...)
		if err != nil {
			return err
		}
		if where != "" {
			sql = Join(sql, "("+where+"\n)")
		}
		s.Tables = append(s.Tables, &Table{Def: t, Columns: columns[i], Condition: sql})
	}
	return nil
}

// Searches reports whether there are conditions besides the time.
func (s *Scope) Searches() bool {
	return slices.ContainsFunc(s.Tables, func(t *Table) bool { return t.Condition != "TRUE" })
}

// Without returns the condition of a table without the conditions of the search on a field.
func (s *Scope) Without(t *Table, field string) (string, error) {
	columns := make([]*search.Columns, len(s.Tables))
	for i, other := range s.Tables {
		columns[i] = other.Columns
	}
	sql, err := s.Query.Without(t.Columns, field).Condition(t.Columns, columns...)
	if where := strings.TrimSpace(s.req.Where); where != "" && err == nil {
		sql = Join(sql, "("+where+"\n)")
	}
	return sql, err
}

// find finds the tables.
func (s *Scope) find(ctx context.Context) ([]*schema.Table, error) {
	names := s.req.Tables
	if len(names) == 0 {
		return nil, errs.New(errs.InvalidArguments, `tables is empty: name 1 to %d tables, as "tables":["app"]`, MaxTables)
	}
	if len(names) > MaxTables {
		return nil, tooMany(len(names))
	}
	var found []*schema.Table
	for _, name := range names {
		if !strings.Contains(name, "*") {
			t, err := s.source.Table(ctx, s.Database, name)
			if err != nil {
				return nil, err
			}
			found = append(found, t)
			continue
		}
		all, err := s.source.Tables(ctx, s.Database)
		if err != nil {
			return nil, err
		}
		some := false
		for _, t := range all {
			if matches(name, t.Name) {
				found, some = append(found, t), true
			}
		}
		if !some {
			return nil, errs.New(errs.TableNotFound, "no table of database %s has a name like %.100q", s.Database, name)
		}
	}
	slices.SortStableFunc(found, func(a, b *schema.Table) int { return strings.Compare(a.Name, b.Name) })
	found = slices.CompactFunc(found, func(a, b *schema.Table) bool { return a.ID == b.ID })
	if len(found) > MaxTables {
		return nil, tooMany(len(found))
	}
	for _, t := range found {
		if t.TimeIndex() == nil {
			return nil, errs.New(errs.Unsupported, "table %s.%s has no time index", t.Database, t.Name)
		}
	}
	return found, nil
}

func tooMany(n int) error {
	return errs.New(errs.InvalidArguments, "%d tables match: at most %d can be searched together", n, MaxTables)
}

// matches reports whether name matches a pattern, in which a star stands for any characters.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, found := strings.Cut(name, part)
		if !found {
			return false
		}
		name = rest
	}
	return true
}

// Join returns the condition that all of the given conditions hold.
func Join(conditions ...string) string {
	var kept []string
	for _, c := range conditions {
		switch c {
		case "TRUE", "":
		case "FALSE":
			return c
		default:
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return "TRUE"
	}
	return strings.Join(kept, " AND ")
}

// Times returns the conditions of the time range for the time index of t.
func (s *Scope) Times(t *Table) string {
	from := "TRUE"
	if !s.Range.From.IsZero() {
		from = t.Compare(">=", s.Range.From)
	}
	return Join(from, t.Compare("<", s.Range.To))
}

// Where returns the WHERE clause with all conditions of the scope for the rows of t and the given conditions. It is
// empty if there are none.
func (s *Scope) Where(t *Table, more ...string) string {
	return WhereAll(append([]string{t.Condition, s.Times(t)}, more...)...)
}

// WhereAll returns a WHERE clause with conditions joined by AND.
func WhereAll(conditions ...string) string {
	if all := Join(conditions...); all != "TRUE" {
		return " WHERE " + all
	}
	return ""
}

// From returns the name of t for SQL.
func (t *Table) From() string { return Ident(t.Def.Database) + "." + Ident(t.Def.Name) }

// SQL returns the SELECT for the newest rows of the scope, formatted for people.
func (s *Scope) SQL(limit int) string {
	if len(s.Tables) == 1 {
		t := s.Tables[0]
		return "SELECT * FROM " + s.short(t) + s.Where(t) + " ORDER BY " + Ident(t.Def.TimeIndex().Name) +
			fmt.Sprintf(" DESC LIMIT %d", limit)
	}
	at, mixed := s.commonTime(), s.mixed()
	var parts []string
	for _, t := range s.Tables {
		columns := schema.QuoteLiteral(t.Def.Name) + " AS " + search.TableField
		if index := t.Def.TimeIndex().Name; index != at {
			columns += ", " + Ident(index) + " AS " + Ident(at)
		}
		columns += ", *"
		if c := t.columnLike(search.TableField); c != nil {
			columns += " EXCLUDE (" + Ident(c.Name) + ")"
		}
		columns += t.asText(mixed)
		parts = append(parts, "SELECT "+columns+" FROM "+s.short(t)+s.Where(t))
	}
	return strings.Join(parts, " UNION ALL BY NAME ") + " ORDER BY " + Ident(at) + fmt.Sprintf(" DESC LIMIT %d", limit)
}

// classOf returns the class of values of a type. Columns of the same class can be combined in one column.
func classOf(t schema.Type) string {
	switch {
	case t == schema.String || t == schema.JSON:
		return "text"
	case t.IsTimestamp():
		return "time"
	case t.IsInteger() || t.IsFloat():
		return "number"
	}
	return t.String()
}

// mixed returns the columns, in lower case, whose values have different classes in the tables.
func (s *Scope) mixed() map[string]bool {
	classes, mixed := map[string]string{}, map[string]bool{}
	for _, t := range s.Tables {
		for i := range t.Def.Columns {
			c := &t.Def.Columns[i]
			name, class := strings.ToLower(c.Name), classOf(c.Type)
			if had, seen := classes[name]; seen && had != class {
				mixed[name] = true
			}
			classes[name] = class
		}
	}
	return mixed
}

// asText returns SQL that converts the columns of t in mixed to text. The time index is not converted.
func (t *Table) asText(mixed map[string]bool) string {
	var casts []string
	for i := range t.Def.Columns {
		c := &t.Def.Columns[i]
		if !mixed[strings.ToLower(c.Name)] || classOf(c.Type) == "text" || c.Semantic == schema.Timestamp ||
			strings.EqualFold(c.Name, search.TableField) {
			continue
		}
		casts = append(casts, "CAST("+Ident(c.Name)+" AS VARCHAR) AS "+Ident(c.Name))
	}
	if len(casts) == 0 {
		return ""
	}
	return " REPLACE (" + strings.Join(casts, ", ") + ")"
}

// commonTime returns the name for the time in all tables: the name of their time index if it is the same,
// otherwise a name that no column has.
func (s *Scope) commonTime() string {
	name := s.Tables[0].Def.TimeIndex().Name
	if !slices.ContainsFunc(s.Tables, func(t *Table) bool { return t.Def.TimeIndex().Name != name }) {
		return name
	}
	name = "_time"
	for slices.ContainsFunc(s.Tables, func(t *Table) bool { return t.columnLike(name) != nil }) {
		name = "_" + name
	}
	return name
}

// columnLike returns the column with a name, ignoring case, or nil if there is none.
func (t *Table) columnLike(name string) *schema.Column {
	for i := range t.Def.Columns {
		if strings.EqualFold(t.Def.Columns[i].Name, name) {
			return &t.Def.Columns[i]
		}
	}
	return nil
}

// short returns the name of t without the database, if it is the scope's database.
func (s *Scope) short(t *Table) string {
	if t.Def.Database == schema.DefaultDatabase {
		return Ident(t.Def.Name)
	}
	return t.From()
}

// Conditions returns the conditions for the rows of the tables without the time, for people: the condition of the
// first table, and those of the other tables if they differ.
func (s *Scope) Conditions() string {
	first := s.Tables[0].Condition
	for _, t := range s.Tables[1:] {
		if t.Condition != first {
			var parts []string
			for _, t := range s.Tables {
				parts = append(parts, t.Def.Name+": "+t.Condition)
			}
			return strings.Join(parts, "; ")
		}
	}
	return first
}

// MaxValueBytes returns the size limit of texts in rows.
func (s *Scope) MaxValueBytes() (int, error) {
	const usual, most = 1024, 64 << 10
	n := s.req.MaxValueBytes
	switch {
	case n == nil:
		return usual, nil
	case *n < 1 || *n > most:
		return 0, errs.New(errs.InvalidArguments, "max_value_bytes is %d: it must be from 1 to %d", *n, most)
	}
	return *n, nil
}

// Fingerprint returns a hash of everything that determines the rows of the scope and their ids, except the range. New
// columns do not change it, because they are null in rows that exist. Dropped columns do.
func (s *Scope) Fingerprint() uint64 {
	h := xxhash.New()
	parts := []string{s.Database, s.req.Query, strings.TrimSpace(s.req.Where), s.req.Message, s.req.Level}
	for _, t := range s.Tables {
		dropped := int(t.Def.NextColumnID) - len(t.Def.Columns) // and a constant
		parts = append(parts, t.Def.Name, strconv.Itoa(dropped))
	}
	for _, part := range parts {
		_, _ = h.WriteString(strconv.Quote(part)) // it never fails
	}
	return h.Sum64()
}

// NoField returns the error for a field that no table has. what is the member of the request that contains the
// name.
func (s *Scope) NoField(what, name string) error {
	var names []string
	for _, t := range s.Tables {
		for _, c := range t.Def.Columns {
			names = append(names, c.Name)
		}
	}
	return errs.New(errs.ColumnNotFound, "%s: the tables have no field %.100q%s", what, name,
		nearest.DidYouMean("; ", name, names))
}
