package loki

import (
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/explore/scope"
	"cordwood/router/loki/lines"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/series"
	"cordwood/router/loki/translate"
	"cordwood/router/query/format"
	"cordwood/router/tail"
)

// Follower follows the new rows of a table. *tail.Handler implements it.
type Follower interface {
	Follow(ctx context.Context, f tail.Followed, started func(), take func(*schema.Table, format.Rows) error) error
}

// Tail is a request for stored and new entries.
type Tail struct {
	Query *logql.Log
	// Start is the time of the oldest entry. Limit is the maximum number of entries that are stored already.
	Start int64
	Limit int
}

// Tail calls take with stored entries, oldest first, and then with new entries as they arrive. It returns when ctx is
// done or the tail fails. It calls ready before the first entry; errors after that cannot be sent as a response.
// Several goroutines may call take at the same time.
func (r *Reader) Tail(ctx context.Context, f Follower, req *Tail, ready func() error, take func([]*lines.Entry) error,
) error {
	tables, err := r.tables(ctx, req.Query.Matchers)
	if err != nil {
		return err
	}
	if len(tables) == 0 {
		return errs.New(errs.TableNotFound, "no table has entries that the selector %s can match",
			(&logql.Log{Matchers: req.Query.Matchers}).String())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h := &handover{take: take, opened: make(chan struct{})}
	var wg, started sync.WaitGroup
	defer wg.Wait()
	for _, t := range tables {
		q, err := t.Compile(req.Query)
		if err != nil {
			cancel(err)
			return err
		}
		followed := tail.Followed{Database: r.database, Table: t.Def.Name, Where: scope.Join(q.Where()...)}
		if followed.Where == "TRUE" {
			followed.Where = ""
		}
		pipeline := lines.New(req.Query)
		started.Add(1)
		signalStart := sync.OnceFunc(started.Done)
		wg.Go(func() {
			defer signalStart()
			cancel(f.Follow(ctx, followed, signalStart, func(def *schema.Table, rows format.Rows) error {
				return followedEntries(ctx, translate.NewTable(def), rows, pipeline, func(list []*lines.Entry) error {
					return h.fresh(ctx, list)
				})
			}))
		})
	}
	started.Wait()
	if err := r.openTail(ctx, h, req, ready); err != nil {
		cancel(err)
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// openTail passes on the stored entries, and then lets new entries through.
func (r *Reader) openTail(ctx context.Context, h *handover, req *Tail, ready func() error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	span := Span{Start: req.Start, End: time.Now().Add(time.Minute).UnixNano()}
	stored, err := r.Logs(ctx, &Logs{Query: req.Query, Span: span, Limit: req.Limit})
	if err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	slices.Reverse(stored)
	return h.open(stored)
}

// handover passes on the stored entries first. New entries wait for that, and are dropped if they are among the stored
// ones.
type handover struct {
	take   func([]*lines.Entry) error
	opened chan struct{}

	mu sync.Mutex // guards seen
	// seen counts the stored entries that have not arrived as new entries yet, by the hash of each entry. It has no lines,
	// because a tail may last for days.
	seen map[entryKey]int
}

type entryKey [sha256.Size]byte

func keyOf(e *lines.Entry) entryKey {
	labels := series.Key(e.Labels) + series.Key(e.Metadata)
	return sha256.Sum256([]byte(strconv.FormatInt(e.Nanos, 10) + "\x00" + e.Line + "\x00" + labels))
}

// again reports whether an entry is one of the stored entries. It returns true only once for each stored entry.
func (h *handover) again(e *lines.Entry) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.seen) == 0 {
		return false
	}
	key := keyOf(e)
	n := h.seen[key]
	if n > 1 {
		h.seen[key] = n - 1
	} else {
		delete(h.seen, key)
	}
	return n > 0
}

func (h *handover) open(stored []*lines.Entry) error {
	h.seen = map[entryKey]int{}
	for _, e := range stored {
		h.seen[keyOf(e)]++
	}
	defer close(h.opened)
	if len(stored) == 0 {
		return nil
	}
	return h.take(stored)
}

func (h *handover) fresh(ctx context.Context, list []*lines.Entry) error {
	select {
	case <-h.opened:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	list = slices.DeleteFunc(list, h.again)
	if len(list) == 0 {
		return nil
	}
	return h.take(list)
}

// maxHandedOver is the maximum size of the lines and labels that are passed on together, in bytes: a pipeline can make
// entries larger than their rows.
const maxHandedOver = 1 << 20

// followedEntries decodes rows with all columns of a table, runs the pipeline over them, and passes on the entries.
func followedEntries(ctx context.Context, t *translate.Table, rows format.Rows, p *lines.Pipeline,
	take func([]*lines.Entry) error,
) error {
	var out []*lines.Entry
	size := 0
	for rows.Next() {
		rec := rows.RecordBatch()
		read, err := newRowReader(t, rec)
		if err != nil {
			return err
		}
		for row := range int(rec.NumRows()) {
			e := read.entry(row)
			kept, err := p.Run(ctx, e)
			if err != nil {
				return err
			}
			if !kept {
				continue
			}
			out, size = append(out, e), size+e.Size()
			if size < maxHandedOver {
				continue
			}
			if err := take(out); err != nil {
				return err
			}
			out, size = nil, 0
		}
	}
	if err := rows.Err(); err != nil || len(out) == 0 {
		return err
	}
	return take(out)
}

// rowReader decodes rows with all columns of a table.
type rowReader struct {
	t     *translate.Table
	times *array.Timestamp
	texts map[string]func(row int) string
	json  map[string]func(row int) string
}

func newRowReader(t *translate.Table, rec arrow.RecordBatch) (*rowReader, error) {
	r := &rowReader{t: t, texts: map[string]func(int) string{}, json: map[string]func(int) string{}}
	for i, f := range rec.Schema().Fields() {
		column := rec.Column(i)
		if f.Name == t.Def.TimeIndex().Name {
			r.times, _ = column.(*array.Timestamp)
			continue
		}
		cell := func(cell format.Cell) func(int) string {
			return func(row int) string {
				if format.IsNull(column, row) {
					return ""
				}
				return string(cell(nil, row))
			}
		}
		r.texts[f.Name], r.json[f.Name] = cell(format.TextCell(column)), cell(format.JSONCell(column))
	}
	if r.times == nil {
		return nil, errs.New(errs.Internal, "follow a table: the rows have no column %s", t.Def.TimeIndex().Name)
	}
	return r, nil
}

func (r *rowReader) entry(row int) *lines.Entry {
	e := &lines.Entry{Nanos: timeOf(int64(r.times.Value(row)), r.t)}
	text := func(c *schema.Column) string {
		if read := r.texts[c.Name]; read != nil {
			return read(row)
		}
		return ""
	}
	if r.t.Message != nil {
		e.Line = text(r.t.Message)
	} else {
		e.Line = r.line(row)
	}
	fill(r.t, e, text)
	return e
}

// line returns the row as JSON, in the format of Table.LineSQL.
func (r *rowReader) line(row int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range r.t.Def.Columns {
		c := &r.t.Def.Columns[i]
		read := r.json[c.Name]
		if c.Semantic != schema.Field || read == nil {
			continue
		}
		if v := read(row); v != "" {
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			b.WriteString(translate.JSONString(c.Name) + ":" + v)
		}
	}
	b.WriteByte('}')
	return b.String()
}
