package rows

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/cespare/xxhash/v2"

	"cordwood/proto/errs"
	"cordwood/router/explore/scope"
	"cordwood/router/query/format"
)

// The size limits of a row that is requested alone. If its values together are larger than the first, each text is
// cut to the second.
const (
	maxRowBytes  = 8 << 20
	maxTextBytes = 1 << 20
)

// Find returns the row with an id. Its values are not shortened unless they are large. s has one table and no
// conditions.
func Find(ctx context.Context, s *scope.Scope, id string) (*Row, error) {
	r, err := find(ctx, s, id, nil, maxRowBytes)
	if err == nil && len(r.V) > maxRowBytes {
		r, err = find(ctx, s, id, nil, maxTextBytes)
	}
	return r, err
}

// find returns the row with an id. If same is not nil, it is called with the batch that contains the row.
func find(ctx context.Context, s *scope.Scope, id string, same func(rec arrow.RecordBatch, row int),
	most int,
) (*Row, error) {
	p, err := parseID(id)
	if err != nil {
		return nil, err
	}
	t := s.Tables[0]
	var found *Row
	number := 0
	sh := &shape{most: most}
	err = s.Run(ctx, "SELECT * FROM "+t.From()+scope.WhereAll(t.Compare("=", p.at)), func(rec arrow.RecordBatch) error {
		if found != nil {
			return nil // the query was aborted on purpose
		}
		b, err := newBatch(rec, t, sh)
		if err != nil {
			return err
		}
		for i := range int(rec.NumRows()) {
			if b.hash(i) != p.hash {
				continue
			}
			if number++; number == p.number {
				p.table = t.Def.Name
				found = b.row(p, i)
				found.ID = found.id()
				if same != nil {
					same(rec, i)
				}
				return nil
			}
		}
		return nil
	})
	if err == nil && found == nil {
		const notFound = 404
		err = errs.New(errs.InvalidArguments, "table %s.%s has no row %s: it has expired, was deleted or was changed",
			s.Database, t.Def.Name, id).WithStatus(notFound)
	}
	return found, err
}

// MaxAround limits the rows on either side of a row.
const MaxAround = 200

// Cursors are the positions from which more rows on each side can be read. One is empty if its side has no more rows.
type Cursors struct {
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// AroundRequest has the parameters for reading the rows around a row.
type AroundRequest struct {
	ID string
	// Before and After are the numbers of rows on either side.
	Before, After int
	// Same lists the columns whose values the rows must share with the row; nil means the column of the source, if its
	// value can be compared.
	Same []string
	// Cursors request further rows on the sides that have a cursor.
	Cursors *Cursors
	Now     time.Time
}

// Around is a row with its neighbours, all sorted from old to new.
type Around struct {
	Before, After []*Row
	Row           *Row
	// Same lists the columns whose values the rows share.
	Same    []string
	Cursors Cursors
}

// ReadAround returns the rows around a row. s has one table and no conditions.
func ReadAround(ctx context.Context, s *scope.Scope, req AroundRequest) (*Around, error) {
	for name, n := range map[string]int{"before": req.Before, "after": req.After} {
		if n < 0 || n > MaxAround {
			return nil, errs.New(errs.InvalidArguments, "%s is %d: it must be from 0 to %d", name, n, MaxAround)
		}
	}
	most, err := s.MaxValueBytes()
	if err != nil {
		return nil, err
	}
	t := s.Tables[0]
	out := &Around{Same: req.Same}
	if out.Same == nil {
		if source := t.Columns.Roles().Source; source != nil {
			out.Same = []string{source.Name}
		} else {
			out.Same = []string{}
		}
	}
	for _, name := range out.Same {
		if t.Def.Column(name) == nil {
			return nil, errs.New(errs.ColumnNotFound, "same: table %s has no column %.100q", t.Def.Name, name)
		}
	}
	var conditions []string
	var incomparable error
	out.Row, err = find(ctx, s, req.ID, func(rec arrow.RecordBatch, row int) {
		conditions, incomparable = sameAs(rec, row, out.Same)
	}, most)
	if incomparable != nil && req.Same == nil { // the caller did not choose the column of the source
		conditions, out.Same, incomparable = nil, []string{}, nil
	}
	if err = cmp.Or(err, incomparable); err != nil {
		return nil, err
	}
	of := s.Fingerprint() ^ xxhash.Sum64String(req.ID)
	for _, name := range out.Same {
		of = of*31 + xxhash.Sum64String(name)
	}
	if out.Before, out.Cursors.Before, err = side(ctx, s, &req, out.Row, conditions, most, of, true); err != nil {
		return nil, err
	}
	slices.Reverse(out.Before)
	out.After, out.Cursors.After, err = side(ctx, s, &req, out.Row, conditions, most, of, false)
	return out, err
}

// side returns the rows on one side of a row, the nearest first, and the cursor for more rows.
func side(ctx context.Context, s *scope.Scope, req *AroundRequest, row *Row, conditions []string, most int, of uint64,
	newest bool,
) ([]*Row, string, error) {
	n := req.After
	if newest {
		n = req.Before
	}
	after := &cursor{last: row.place}
	if req.Cursors != nil {
		text := req.Cursors.After
		if newest {
			text = req.Cursors.Before
		}
		if text == "" {
			return []*Row{}, "", nil
		}
		var err error
		if after, err = begin(s, &Request{Cursor: text, Newest: newest, Now: req.Now}, of); err != nil {
			return nil, "", err
		}
	}
	if n == 0 {
		return []*Row{}, "", nil
	}
	f := &fetcher{scope: s, newest: newest, shape: shape{most: most}, more: conditions, endless: true}
	rows, more, err := f.page(ctx, after, n)
	if err != nil || !more {
		return rows, "", err
	}
	last := rows[len(rows)-1].place
	return rows, (&cursor{issued: req.Now, newest: newest, of: of, rng: s.Range, last: last}).String(), nil
}

// sameAs returns conditions that hold for rows with the same values as a row in some columns.
func sameAs(rec arrow.RecordBatch, row int, names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		i := slices.IndexFunc(rec.Schema().Fields(), func(f arrow.Field) bool { return f.Name == name })
		column, ident := rec.Column(i), scope.Ident(name)
		if format.IsNull(column, row) {
			out = append(out, ident+" IS NULL")
			continue
		}
		literal, ok := scope.ValueLiteral(column, row)
		if !ok {
			return nil, errs.New(errs.Unsupported, "same: the value of column %.100q cannot be compared", name)
		}
		out = append(out, ident+" = "+literal)
	}
	return out, nil
}

// maxIdentified limits the number of rows that are read to find an id.
const maxIdentified = 10_000

// Identify passes the ids of rows of t that meet a condition to each, with their text in a column, until each
// returns false. Identical rows have the id of the first one.
func Identify(ctx context.Context, s *scope.Scope, t *scope.Table, condition, column string,
	each func(id, text string) bool,
) error {
	sql := "SELECT * FROM " + t.From() + s.Where(t, condition) + " LIMIT " + strconv.Itoa(maxIdentified)
	done := false
	return s.Run(ctx, sql, func(rec arrow.RecordBatch) error {
		if done {
			return nil
		}
		b, err := newBatch(rec, t, &shape{})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(b.columns, func(c batchColumn) bool { return c.name == column })
		for row := range int(rec.NumRows()) {
			if i < 0 || b.columns[i].text == nil || format.IsNull(b.columns[i].array, row) {
				continue
			}
			p := b.place(row)
			if done = !each(p.id(), b.columns[i].text(row)); done {
				return nil
			}
		}
		return nil
	})
}
