package distribute

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/partial"
)

// This file merges rows that are sorted by the time index alone, without the engine. Such rows also show early which
// other rows cannot be in the answer (frontier.go). As soon as there are enough rows, a node that has not finished
// gets a new request, for only the rows within their bound.

// maxMerged is the maximum number of rows that are merged here. If there are more, the engine
// merges them.
const maxMerged = 20_000

// sorted holds the rows of a node, sorted by time.
type sorted struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	times   []arrow.Timestamp
}

// errNotSorted means that rows cannot be merged here.
var errNotSorted = errors.New("the rows are not sorted by a time")

// readSorted reads the rows of a node.
func readSorted(stream []byte, n *query.Newest) (*sorted, error) {
	r, err := partial.NewReader(stream)
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "query: read the rows of a node")
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
			return nil, errNotSorted
		}
		rec.Retain()
		s.batches = append(s.batches, rec)
		s.times = append(s.times, times.Values()...)
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, errs.Wrap(errs.Internal, err, "query: read the rows of a node")
	}
	if !slices.IsSortedFunc(s.times, n.Compare) {
		return nil, errNotSorted
	}
	return s, nil
}

// addRows calls add with pieces of the first columns of the rows [from, to). The callee releases the pieces.
func (s *sorted) addRows(from, to, columns int, add func(column int, a arrow.Array)) {
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

// merge computes the answer to a statement from the sorted rows of the nodes. If the engine has to do it, merge
// returns errNotSorted.
func merge(all []*sorted, n *query.Newest) ([]byte, error) {
	if len(all) == 0 {
		return nil, errNotSorted
	}
	for _, s := range all {
		if s == nil || s != all[0] && !s.schema.Equal(all[0].schema) {
			return nil, errNotSorted
		}
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

// firstRows returns the rows of the answer in order, or nil if there are none.
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
		if passed < n.Offset { // one row at a time: OFFSETs are small
			passed++
			next[best]++
			continue
		}
		to = min(to, from+int(n.Limit-rows))
		all[best].addRows(from, to, n.Columns, add)
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

// nextRun returns the index in all of the node that has the next row, and the end of the run of its rows that come
// before the rows of all other nodes. It returns -1 if no rows are left.
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
