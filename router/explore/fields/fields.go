// Package fields describes the purpose and the content of the columns of tables, judging by the newest rows of
// each table.
//
// The results for a table are cached for a minute. A Service may be used concurrently.
package fields

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/cespare/xxhash/v2"

	"cordwood/proto/errs"
	"cordwood/proto/lru"
	"cordwood/proto/schema"
	"cordwood/router/explore/roles"
	"cordwood/router/explore/scope"
	"cordwood/router/query/format"
)

const (
	// sampled is the number of newest rows that are examined, and sampledBytes limits the size of their values.
	sampled      = 1000
	sampledBytes = 64 << 20
	// MaxFields limits the number of fields of an answer.
	MaxFields = 4096
	keptFor   = time.Minute
	// emptyFor is how long the result for a table with few rows is cached.
	emptyFor = 2 * time.Second
	// maxKept limits the number of cached columns.
	maxKept = 200_000
)

// Field is a column of one table or of several tables.
type Field struct {
	Name  string      `json:"name"`
	Type  string      `json:"type"`
	Index *string     `json:"index"`
	Role  *roles.Role `json:"role"`
	// Fill is the fraction of rows with a value, and Unique the fraction of distinct values among these.
	Fill   float64 `json:"fill"`
	Unique float64 `json:"unique"`
	// Rank is the position among the fields, from 1: first the fields with roles, then fields that often have a
	// value and whose values repeat.
	Rank int `json:"rank"`
	// JSONPaths are the paths that occur in a JSON column.
	JSONPaths []string `json:"json_paths,omitempty"`
}

// Answer describes the columns of a scope.
type Answer struct {
	Fields []Field `json:"fields"`
	// Time is the time index, and Levels describes how levels are recognised.
	Time   string        `json:"time"`
	Levels *roles.Scheme `json:"levels"`
	// LastRow is the time of the newest row; nil if there is none.
	LastRow *string `json:"last_row"`
}

// Service examines tables. See the package comment.
type Service struct {
	now func() time.Time

	mu   sync.Mutex
	kept *lru.Cache[uint64, *sample] // guarded by mu, by the id of the table
}

// New returns a Service.
func New(now func() time.Time) *Service {
	return &Service{now: now, kept: lru.New[uint64, *sample](maxKept)}
}

// sample describes a table. It is immutable.
type sample struct {
	version uint32
	until   time.Time
	rows    int
	columns map[string]*column
	last    time.Time
}

// column describes a column.
type column struct {
	filled int
	values map[uint64]struct{}
	paths  []string
}

// Of returns the fields of a scope.
func (f *Service) Of(ctx context.Context, s *scope.Scope) (*Answer, error) {
	a := &Answer{Time: s.Tables[0].Def.TimeIndex().Name}
	if levels := s.Tables[0].Columns.Roles().Level; levels != nil {
		a.Levels = &levels.Scheme
	}
	rows := 0
	all := map[string]*column{}
	var last time.Time
	for _, t := range s.Tables {
		one, err := f.sample(ctx, s, t)
		if err != nil {
			return nil, err
		}
		rows += one.rows
		for name, c := range one.columns {
			all[name] = add(all[name], c)
		}
		if one.rows > 0 && one.last.After(last) {
			last = one.last
		}
		a.addFields(t)
	}
	if !last.IsZero() {
		text := last.Format(time.RFC3339Nano)
		a.LastRow = &text
	}
	a.fill(all, rows)
	a.rank()
	return a, nil
}

// add combines the descriptions of a column in two tables.
func add(a, b *column) *column {
	if a == nil {
		return b
	}
	out := &column{filled: a.filled + b.filled, values: map[uint64]struct{}{}, paths: a.paths}
	for _, of := range []*column{a, b} {
		for v := range of.values {
			out.values[v] = struct{}{}
		}
	}
	for _, path := range b.paths {
		if len(out.paths) < maxPaths && !slices.Contains(out.paths, path) {
			out.paths = append(slices.Clone(out.paths), path)
		}
	}
	return out
}

// addFields adds the columns of t that are not in the answer yet.
func (a *Answer) addFields(t *scope.Table) {
	have := map[string]bool{}
	for _, f := range a.Fields {
		have[f.Name] = true
	}
	for i := range t.Def.Columns {
		c := &t.Def.Columns[i]
		if have[c.Name] || len(a.Fields) == MaxFields {
			continue
		}
		f := Field{Name: c.Name, Type: c.Type.String()}
		if c.Index != nil {
			kind := c.Index.Kind.String()
			f.Index = &kind
		}
		if role := t.Columns.Roles().RoleOf(c); role != roles.None {
			f.Role = &role
		}
		a.Fields = append(a.Fields, f)
	}
}

func (a *Answer) fill(all map[string]*column, rows int) {
	for i := range a.Fields {
		f := &a.Fields[i]
		c := all[f.Name]
		if c == nil || c.filled == 0 {
			continue
		}
		f.Fill = rounded(float64(c.filled) / float64(rows))
		f.Unique = rounded(float64(len(c.values)) / float64(c.filled))
		f.JSONPaths = c.paths
	}
}

// rounded rounds a fraction to four digits. The sample is too small for more.
func rounded(f float64) float64 { return math.Round(f*10000) / 10000 }

// roleOrder is the order of the roles among the first fields.
var roleOrder = []roles.Role{roles.Time, roles.Level, roles.Message, roles.Error, roles.Source, roles.Trace}

func (a *Answer) rank() {
	order := make([]int, len(a.Fields))
	for i := range order {
		order[i] = i
	}
	role := func(f *Field) int {
		if f.Role == nil {
			return len(roleOrder)
		}
		return slices.Index(roleOrder, *f.Role)
	}
	slices.SortStableFunc(order, func(i, k int) int {
		x, y := &a.Fields[i], &a.Fields[k]
		return cmp.Or(cmp.Compare(role(x), role(y)), cmp.Compare(y.Fill*(1-y.Unique), x.Fill*(1-x.Unique)))
	})
	for rank, i := range order {
		a.Fields[i].Rank = rank + 1
	}
}

// Ranked returns the fields, the most useful ones first.
func (a *Answer) Ranked() []Field {
	out := slices.Clone(a.Fields)
	slices.SortFunc(out, func(x, y Field) int { return x.Rank - y.Rank })
	return out
}

// CheckOnce returns an error if a request names a field twice.
func CheckOnce(names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return errs.New(errs.InvalidArguments, "fields: %.100q is listed twice: list each field once", name)
		}
	}
	return nil
}

// sample examines the newest rows of a table, or returns a cached result.
func (f *Service) sample(ctx context.Context, s *scope.Scope, t *scope.Table) (*sample, error) {
	f.mu.Lock()
	have, ok := f.kept.Get(t.Def.ID)
	f.mu.Unlock()
	if ok && have.version == t.Def.Version && f.now().Before(have.until) {
		return have, nil
	}
	out, err := look(ctx, s, t)
	if err != nil {
		return nil, err
	}
	out.version = t.Def.Version
	out.until = f.now().Add(keptFor)
	if out.rows < sampled {
		out.until = f.now().Add(emptyFor)
	}
	weight := int64(0)
	for _, c := range out.columns {
		weight += 1 + int64(len(c.values)/16)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept.Put(t.Def.ID, out, weight+1)
	return out, nil
}

func look(ctx context.Context, s *scope.Scope, t *scope.Table) (*sample, error) {
	out := &sample{columns: map[string]*column{}}
	index := scope.Ident(t.Def.TimeIndex().Name)
	sql := "SELECT * FROM " + t.From() + " ORDER BY " + index + " DESC LIMIT " + strconv.Itoa(sampled)
	bytes := 0
	err := s.Run(ctx, sql, func(rec arrow.RecordBatch) error {
		n := int(rec.NumRows())
		if n == 0 {
			return nil
		}
		for i, field := range rec.Schema().Fields() {
			c := out.columns[field.Name]
			if c == nil {
				c = &column{values: map[uint64]struct{}{}}
				out.columns[field.Name] = c
			}
			col := t.Def.Column(field.Name)
			bytes += c.look(rec.Column(i), n, col != nil && col.Type == schema.JSON)
			if out.rows == 0 && field.Name == t.Def.TimeIndex().Name {
				if at, ok := timeAt(rec.Column(i), t); ok {
					out.last = at
				}
			}
		}
		if out.rows += n; bytes > sampledBytes {
			return scope.ErrStop
		}
		return nil
	})
	return out, err
}

// look examines the first n values and returns their size in bytes.
func (c *column) look(a arrow.Array, n int, isJSON bool) (bytes int) {
	if a.NullN() == n {
		return 0
	}
	text, write := format.Text(a), format.SafeCell(a)
	var buf []byte
	for i := range n {
		if format.IsNull(a, i) {
			continue
		}
		c.filled++
		if text == nil {
			buf = write(buf[:0], i)
			c.values[xxhash.Sum64(buf)] = struct{}{}
			bytes += len(buf)
			continue
		}
		s := text(i)
		c.values[xxhash.Sum64String(s)] = struct{}{}
		bytes += len(s)
		if isJSON {
			c.addPaths(s)
		}
	}
	return bytes
}
