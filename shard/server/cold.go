package server

import (
	"context"
	"fmt"

	"cordwood/proto/errs"
	"cordwood/proto/words"
	"cordwood/shard/cold/object"
	"cordwood/shard/query"
	"cordwood/shard/store"
)

// coldRows are the rows of a query that are in object storage. The query process asks for parts of the objects while it
// plans the statement; so a statement that needs none of them makes no request.
type coldRows struct {
	reader *object.Reader
	// objects is nil as long as no object was shown.
	objects *object.Query
}

func (s *server) newColdRows() *coldRows { return &coldRows{reader: s.cfg.Cold} }

// release makes the parts that the query read removable. The engine must not use them afterwards.
func (c *coldRows) release() {
	if c.objects != nil {
		c.objects.Close()
	}
}

// show adds objects to a table of a query. It makes no request.
func (c *coldRows) show(qt *query.Table, list []store.ColdObject) {
	if len(list) == 0 {
		return
	}
	if c.objects == nil {
		c.objects = c.reader.Query()
	}
	for i := range list {
		o := &list[i]
		seg := query.Segment{
			Shared: o.Meta.Shared(), Order: o.Order, Rows: o.Span.Rows, MinTime: o.Span.MinTime, MaxTime: o.Span.MaxTime,
		}
		c.objects.Add(o.Object, &seg)
		columns, ambiguous := o.Meta.Candidates(qt.Schema)
		seg.Ambiguous = ambiguous
		for _, col := range columns {
			seg.Columns = append(seg.Columns, query.SegmentColumn{
				ID: col.ID, FieldID: col.FieldID, Name: col.Name, Type: col.Type,
			})
		}
		qt.Segments = append(qt.Segments, seg)
	}
}

// with returns a context in which a query can read the objects.
func (c *coldRows) with(ctx context.Context) context.Context {
	if c.objects == nil {
		return ctx
	}
	return query.WithFetcher(ctx, c.objects)
}

// query runs a statement. If it fails because of object storage, leaveOut is asked whether the answer may lack the
// rows there, with what is then missing. If it may, the statement runs once more without these rows.
func (c *coldRows) query(ctx context.Context, engine Engine, of *query.Request, emit func(ipc []byte) error,
	leaveOut func(missing []words.Missing) (bool, error),
) error {
	err := engine.Query(c.with(ctx), of, emit)
	if c.objects == nil || errs.CodeOf(err) != errs.ObjectStorageUnavailable {
		return err
	}
	rest, missing := withoutCold(of, err)
	if leave, sendErr := leaveOut(missing); sendErr != nil || !leave {
		if sendErr != nil {
			return sendErr
		}
		return err
	}
	return engine.Query(ctx, rest, emit)
}

// withoutCold returns the request without its objects, and what each table that has some lacks then.
func withoutCold(of *query.Request, err error) (rest *query.Request, missing []words.Missing) {
	r := *of
	r.Tables = make([]query.Table, len(of.Tables))
	for i := range of.Tables {
		t := of.Tables[i]
		t.Segments = nil
		objects, rows := 0, int64(0)
		for _, seg := range of.Tables[i].Segments {
			if seg.Cold == 0 {
				t.Segments = append(t.Segments, seg)
				continue
			}
			objects, rows = objects+1, rows+seg.Rows
		}
		r.Tables[i] = t
		if objects > 0 {
			missing = append(missing, words.Missing{Table: t.Database + "." + t.Name, Reason: fmt.Sprintf(
				"%s in object storage, %s: %s", query.CountOf(objects, "object"), query.CountOf(rows, "row"), err,
			)})
		}
	}
	return &r, missing
}
