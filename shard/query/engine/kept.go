package engine

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/engine/sql"
	"cordwood/shard/query/partial"
)

// This file keeps the partial result of a statement for each segment. If the statement is repeated,
// only new segments, segments across the border of a time condition, and the memtable are read. A
// statement whose rows are all on this node is split as for several nodes, and answered in the same
// way (byparts.go).

// maxKeptBytes limits the size of the partial results of all segments together, and of the partial
// result of the rest of the table.
const maxKeptBytes = 32 << 20

// errTooLargeToKeep stops the computation of partial results that exceed maxKeptBytes.
var errTooLargeToKeep = errors.New("the partial results of segments are too large to be kept")

// keptParts is a statement for nodes with its kept partial results.
type keptParts struct {
	*divided
	// segments are the segments whose partial results can be kept. known holds the kept ones, by
	// path.
	segments []*query.Segment
	known    map[string]arrow.RecordBatch
	// onlyTimes means that the statement has no conditions but those on the time index.
	onlyTimes bool
}

// divisible returns the statement as one that can run for each segment separately, or nil.
func (r *run) divisible() *divided {
	if r.engine.parts == nil || !r.request.Part || r.st.Explain != "" || len(r.Plans) != 1 || len(r.shadowed) > 0 ||
		r.request.Limit > 0 {
		return nil
	}
	if s := r.divided(); s.of != nil {
		return s
	}
	return nil
}

// keepable returns the kept partial results of the statement. It returns nil if partial results of
// such a statement are never kept.
func (r *run) keepable() *keptParts {
	s := r.divisible()
	if s == nil {
		return nil
	}
	p := r.Plans[0]
	conditions := p.Conditions(s.of.Where, r.now)
	segments := p.Keepable(conditions, r.engine.settings.MinKept)
	if len(segments) == 0 {
		return nil
	}
	if s = s.apart(r.st, conditions); s == nil {
		return nil
	}
	return &keptParts{
		divided: s, segments: segments, known: map[string]arrow.RecordBatch{},
		onlyTimes: !slices.Contains(s.times, false),
	}
}

func (k *keptParts) keyOf(s *query.Segment) partial.Key {
	return partial.Key{Statement: k.key, Segment: s.Path, CRC: s.CRC}
}

// answerFromKept answers a statement for nodes with the help of the kept partial results.
func (r *run) answerFromKept() (done bool, err error) {
	k := r.keepable()
	if k == nil {
		return false, nil
	}
	again := r.engine.parts.Asked(k.key, r.now)
	if !again && r.engine.parts.IsTooLarge(k.key) {
		return false, nil // joining the partial results would take longer than they save
	}
	var unknown []*query.Segment
	for _, s := range k.segments {
		if rec, ok := r.engine.parts.Get(k.keyOf(s)); ok {
			k.known[s.Path] = rec
		} else {
			unknown = append(unknown, s)
		}
	}
	if again && len(unknown) > 0 && r.tooMany(k, unknown) {
		r.engine.parts.TooLarge(k.key, r.now)
		return false, nil
	}
	if again && len(unknown) > 0 {
		switch err := r.computeMissing(k, unknown); {
		case errors.Is(err, errTooLargeToKeep):
			r.engine.parts.TooLarge(k.key, r.now)
			return false, nil
		case sql.IsBroken(err) || r.ctx.Err() != nil:
			return false, err
		}
	}
	if len(k.known) == 0 {
		return false, nil
	}
	p := r.Plans[0]
	p.Kept = map[string]bool{}
	for path := range k.known {
		p.Kept[path] = true
	}
	ipc, err := r.joinKept(k)
	if err != nil || ipc == nil {
		p.Kept = nil
		if sql.IsBroken(err) || r.ctx.Err() != nil {
			return false, err
		}
		return false, nil // the run over the whole table reports the error
	}
	return true, r.send(ipc)
}

// tooMany reports whether the partials of some segments are certainly too large to be kept,
// according to the dictionary of a column that the statement groups by. Computing them only to find
// that out would cost as much as the statement.
func (r *run) tooMany(k *keptParts, segments []*query.Segment) bool {
	if !k.onlyTimes {
		return false // few rows may meet the other conditions
	}
	largest := slices.MaxFunc(segments, func(a, b *query.Segment) int { return cmp.Compare(a.Rows, b.Rows) })
	return slices.ContainsFunc(k.of.Columns, func(name string) bool {
		return r.Plans[0].ManyValues(largest, name, partial.MaxRows)
	})
}

// computeMissing computes and keeps the partial results of segments that have none, separately for each segment.
func (r *run) computeMissing(k *keptParts, segments []*query.Segment) error {
	st, err := r.parseWorker(k.text)
	if err != nil {
		return err
	}
	out := limited{most: min(maxKeptBytes, (len(segments)+1)*partial.MaxBytes)}
	f := &run{ctx: r.ctx, engine: r.engine, in: r.in, st: st, request: r.request, emit: out.write}
	defer f.close()
	f.now = r.now
	settings := *r.engine.settings
	settings.Off = map[string]bool{"pages": true, "bounds": true, "codes": true}
	if f.Planned, err = plan.New(r.ctx, st.Statement, st.shape, r.request, r.now, &settings); err != nil {
		return err
	}
	only := map[string]bool{}
	for _, s := range segments {
		only[s.Path] = true
	}
	f.Plans[0].Only = only
	if err := f.bind(f.execute); err != nil {
		return err
	}
	rec, err := readPartials(out.buf.Bytes())
	if err != nil || rec == nil {
		return err
	}
	return k.keep(r.engine.parts, rec, f.sources[0].Numbered, segments)
}

// limited collects an answer up to a maximum size.
type limited struct {
	buf  bytes.Buffer
	most int
}

func (l *limited) write(ipc []byte) error {
	if l.buf.Len()+len(ipc) > l.most {
		return errTooLargeToKeep
	}
	l.buf.Write(ipc)
	return nil
}

// readPartials reads an Arrow IPC stream as one batch. It returns nil if the stream has no batch.
func readPartials(stream []byte) (arrow.RecordBatch, error) {
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "query: read partial results")
	}
	defer r.Release()
	var list []arrow.RecordBatch
	for r.Next() {
		rec := r.RecordBatch()
		rec.Retain()
		list = append(list, rec)
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, errs.Wrap(errs.Internal, err, "query: read partial results")
	}
	return partial.Concat(r.Schema(), list)
}

// keep stores the rows of an answer by segment. The first column of each row is the position of the
// segment's path.
func (k *keptParts) keep(c *partial.Cache, rec arrow.RecordBatch, paths []string, segments []*query.Segment) error {
	numbers, ok := rec.Column(0).(interface{ Value(i int) int64 })
	if !ok {
		if unsigned, fine := rec.Column(0).(*array.Uint64); fine {
			numbers, ok = asSigned{unsigned}, true
		}
	}
	if !ok {
		return errs.New(errs.Internal, "query: the number of a segment has the type %s, but BIGINT is "+
			"expected", rec.Column(0).DataType())
	}
	rows := map[string][]int{}
	for i := range int(rec.NumRows()) {
		n := numbers.Value(i)
		if n < 0 || int(n) >= len(paths) {
			return errs.New(errs.Internal, "query: an answer names segment %d of %d segments", n, len(paths))
		}
		rows[paths[n]] = append(rows[paths[n]], i)
	}
	fields := rec.Schema().Fields()[1:]
	s := arrow.NewSchema(fields, nil)
	large := false
	for _, seg := range segments {
		part, err := partial.Rows(s, rec, rows[seg.Path])
		if err != nil {
			return err
		}
		k.known[seg.Path] = part
		large = !c.Put(k.keyOf(seg), part) || large
	}
	if large {
		return errTooLargeToKeep
	}
	return nil
}

type asSigned struct{ *array.Uint64 }

func (a asSigned) Value(i int) int64 { return int64(a.Uint64.Value(i)) }

// joinKept returns the kept partial results and the partial results of the rest of the table as one
// Arrow IPC stream. It returns nil if there is no row.
func (r *run) joinKept(k *keptParts) ([]byte, error) {
	var list []arrow.RecordBatch
	for _, s := range k.segments {
		if rec := k.known[s.Path]; rec != nil {
			list = append(list, rec)
		}
	}
	if r.Plans[0].Remain() {
		rest, err := r.restOf(k)
		if err != nil {
			return nil, err
		}
		rec, err := readPartials(rest)
		if err != nil {
			return nil, err
		}
		list = slices.Insert(list, 0, rec)
	}
	whole, err := partial.Concat(list[0].Schema(), list)
	if err != nil {
		return nil, err
	}
	if whole.NumRows() == 0 && k.of.Groups() == 0 {
		return nil, nil
	}
	if whole, err = partial.Merge(whole, k.of.How); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(whole.Schema()))
	if err := errors.Join(w.Write(whole), w.Close()); err != nil {
		return nil, errs.Wrap(errs.Internal, err, "query: write partial results")
	}
	return out.Bytes(), nil
}

// restOf returns the partials of the parts without kept partials, as an Arrow IPC stream. If the statement only
// counts, one row with a number represents the rows that need not be read.
func (r *run) restOf(k *keptParts) ([]byte, error) {
	if k.weighted == "" || r.Plans[0].View.Merges() {
		rest := limited{most: maxKeptBytes}
		emit := r.emit
		r.emit = rest.write
		err := r.bind(r.execute)
		r.emit, r.emitErr, r.ran, r.sent, r.rows = emit, nil, false, false, 0
		return rest.buf.Bytes(), err
	}
	return r.runWeighted(k.weighted, r.Plans[0].Kept)
}
