package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// Rows sorted by the time index alone are merged here, without the engine, and tell early what cannot be among
// the first: as soon as there are enough rows, a node that is not done is asked again, for rows that are not behind
// these.

// maxMerged is how many rows are merged here at most: of more the engine makes the answer.
const maxMerged = 20_000

// sorted are the rows of a node, sorted by time.
type sorted struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	times   []arrow.Timestamp
}

// errNotSorted tells that rows cannot be merged here.
var errNotSorted = errors.New("the rows are not sorted by a time")

// readSorted reads the rows of a node.
func readSorted(stream []byte, n *query.Newest) (*sorted, error) {
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "query: the rows of a node")
	}
	defer r.Release()
	if r.Schema().NumFields() <= max(n.Column, n.Columns-1) {
		return nil, errNotSorted
	}
	s := &sorted{schema: r.Schema()}
	for r.Next() {
		rec := r.RecordBatch()
		times, ok := rec.Column(n.Column).(*array.Timestamp)
		if !ok || times.NullN() > 0 {
			s.release()
			return nil, errNotSorted
		}
		rec.Retain()
		s.batches = append(s.batches, rec)
		s.times = append(s.times, times.Values()...)
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		s.release()
		return nil, errs.Wrap(errs.Internal, err, "query: the rows of a node")
	}
	if !slices.IsSortedFunc(s.times, n.Compare) {
		s.release()
		return nil, errNotSorted
	}
	return s, nil
}

func (s *sorted) release() {
	for _, b := range s.batches {
		b.Release()
	}
}

// rows hands on a part of the rows, as pieces of the first columns. Who gets them releases them.
func (s *sorted) rows(from, to, columns int, add func(column int, a arrow.Array)) {
	at := 0
	for _, b := range s.batches {
		n := int(b.NumRows())
		if lo, hi := max(from-at, 0), min(to-at, n); lo < hi {
			for c := range columns {
				add(c, array.NewSlice(b.Column(c), int64(lo), int64(hi)))
			}
		}
		at += n
	}
}

// merge makes the answer to a statement of which nodes have sorted their rows. It returns errNotSorted if that is left
// to the engine.
func merge(streams [][]byte, n *query.Newest) ([]byte, error) {
	var all []*sorted
	defer func() {
		for _, s := range all {
			s.release()
		}
	}()
	for _, stream := range streams {
		s, err := readSorted(stream, n)
		if err != nil {
			return nil, err
		}
		if all = append(all, s); !s.schema.Equal(all[0].schema) {
			return nil, errNotSorted
		}
	}
	if len(all) == 0 {
		return nil, errNotSorted
	}
	schema := all[0].schema
	meta := schema.Metadata()
	schema = arrow.NewSchema(schema.Fields()[:n.Columns], &meta)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	rec, err := firstRows(all, n, schema)
	if err == nil && rec != nil {
		err = w.Write(rec)
		rec.Release()
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "query: merge the rows of nodes")
	}
	return out.Bytes(), nil
}

// firstRows returns the rows of the answer in their order, nil if there are none.
func firstRows(all []*sorted, n *query.Newest, schema *arrow.Schema) (arrow.RecordBatch, error) {
	pieces := make([][]arrow.Array, n.Columns)
	defer func() {
		for _, list := range pieces {
			for _, a := range list {
				a.Release()
			}
		}
	}()
	add := func(column int, a arrow.Array) { pieces[column] = append(pieces[column], a) }
	next := make([]int, len(all))
	rows := uint64(0)
	for passed := uint64(0); rows < n.Limit; {
		best, to := nextRun(all, next, n)
		if best < 0 {
			break
		}
		from := next[best]
		if passed < n.Offset { // one at a time: OFFSETs are small
			passed++
			next[best]++
			continue
		}
		to = min(to, from+int(n.Limit-rows))
		all[best].rows(from, to, n.Columns, add)
		next[best] = to
		rows += uint64(to - from)
	}
	if rows == 0 {
		return nil, nil
	}
	columns := make([]arrow.Array, n.Columns)
	for c, list := range pieces {
		a, err := array.Concatenate(list, memory.DefaultAllocator)
		if err != nil {
			return nil, err
		}
		defer a.Release()
		columns[c] = a
	}
	return array.NewRecordBatch(schema, columns, int64(rows)), nil
}

// nextRun returns who has the next row, and up to which of its rows nobody else comes before; -1: there is none.
func nextRun(all []*sorted, next []int, n *query.Newest) (best, to int) {
	best, second := -1, -1
	for i, s := range all {
		switch {
		case next[i] == len(s.times):
		case best < 0 || n.Compare(s.times[next[i]], all[best].times[next[best]]) < 0:
			best, second = i, best
		case second < 0 || n.Compare(s.times[next[i]], all[second].times[next[second]]) < 0:
			second = i
		}
	}
	if best < 0 {
		return -1, 0
	}
	times := all[best].times
	to = next[best] + 1
	for to < len(times) && (second < 0 || n.Compare(times[to], all[second].times[next[second]]) <= 0) {
		to++
	}
	return best, to
}

// mergeHere answers a statement for the first rows by time without the engine, if it can.
func (d *distribution) mergeHere(stream grpc.ServerStreamingServer[shardpb.QueryChunk]) (done bool, err error) {
	n := d.split.Newest
	if n == nil || d.split.Explain != "" || n.Limit+n.Offset > maxMerged {
		return false, nil
	}
	ipc, err := merge(d.streams(), n)
	if err != nil {
		return false, nil // the engine says what is wrong, or fetches
	}
	if err := d.sendMissing(stream); err != nil {
		return true, err
	}
	var sent answer
	defer sent.end()
	return true, d.counted(sent.to(stream))(ipc)
}

// frontier knows the time that no row of the answer is behind, once there are enough rows. It is safe for concurrent
// use.
type frontier struct {
	newest *query.Newest
	begun  time.Time

	mu    sync.Mutex // guards what is below
	times []arrow.Timestamp
	unit  arrow.TimeUnit
	known chan struct{} // closed once there is a bound
	bound string
}

// newFrontier returns the frontier of a statement, nil if it is not for the first rows by time.
func newFrontier(s *query.Split) *frontier {
	if s.Newest == nil || s.Newest.Limit+s.Newest.Offset > maxMerged {
		return nil
	}
	return &frontier{newest: s.Newest, begun: time.Now(), known: make(chan struct{})}
}

// add takes the rows of a node into account.
func (f *frontier) add(stream []byte) {
	if f == nil {
		return
	}
	s, err := readSorted(stream, f.newest)
	if err != nil {
		return
	}
	defer s.release()
	f.mu.Lock()
	defer f.mu.Unlock()
	t, _ := s.schema.Field(f.newest.Column).Type.(*arrow.TimestampType)
	if f.bound != "" || t == nil || len(f.times) > 0 && t.Unit != f.unit {
		return
	}
	f.unit = t.Unit
	f.times = append(f.times, s.times...)
	slices.SortFunc(f.times, f.newest.Compare)
	enough := int(f.newest.Limit + f.newest.Offset)
	if len(f.times) < enough {
		return
	}
	at := f.times[enough-1].ToTime(f.unit)
	if year := at.Year(); year < 1 || year > 9999 {
		return // it has no text that the engine reads back
	}
	f.bound = "'" + at.Format("2006-01-02 15:04:05.999999999") + "'"
	close(f.known)
}

// again waits until a node that has not answered is to be asked again: there is a bound, and as long again as it took
// to find it has passed. It returns false if ctx ends before that.
func (f *frontier) again(ctx context.Context) bool {
	if f == nil {
		return false
	}
	select {
	case <-f.known:
	case <-ctx.Done():
		return false
	}
	patience := time.NewTimer(time.Since(f.begun))
	defer patience.Stop()
	select {
	case <-patience.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// sql returns the statement for the rows that are not behind the frontier.
func (f *frontier) sql() string { return f.newest.Before + f.bound + f.newest.After }

// errAskedAgain ends a call whose node is asked for less.
var errAskedAgain = errors.New("asked again with a bound")

// askWithin asks a node as fill does, and once more, for rows that are not behind those of other nodes, if these have
// enough rows before it is done.
func (d *distribution) askWithin(ctx context.Context, p *part) error {
	f := d.frontier
	if f == nil || p.sql != "" {
		return d.fill(ctx, p)
	}
	first, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if f.again(first) {
			cancel(errAskedAgain)
		}
	}()
	err := d.fill(first, p)
	if err == nil || ctx.Err() != nil || !errors.Is(context.Cause(first), errAskedAgain) {
		return err
	}
	p.sql = f.sql()
	return d.fill(ctx, p)
}

// streams returns what the nodes returned.
func (d *distribution) streams() [][]byte {
	var out [][]byte
	for _, p := range d.parts {
		if p.ipc != nil {
			out = append(out, p.ipc)
		}
	}
	return out
}

// rowsOf counts the rows of an Arrow IPC stream, for people.
func rowsOf(stream []byte) string {
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return "?"
	}
	defer r.Release()
	rows := int64(0)
	for r.Next() {
		rows += r.RecordBatch().NumRows()
	}
	return strconv.FormatInt(rows, 10)
}
