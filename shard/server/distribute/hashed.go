package distribute

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/errs"
	"cordwood/shard/query"
)

// If the different values that a statement counts are too large to be sent, the nodes send a hash of each of their
// different values. A hash that came once is one value. If it came several times, several nodes may have the same
// value, or two values may have the same hash: the nodes are asked for the values of these hashes.

// maxRepeated is of how many hashes the values are asked for. If more values than that lie on several nodes, rows are
// fetched.
const maxRepeated = 5000

// errShared tells that too many values may lie on several nodes.
var errShared = errs.New(errs.Internal, "query: more than %d values have hashes that several nodes sent", maxRepeated)

// errHashes tells that hashes of nodes cannot be compared.
var errHashes = errs.New(errs.Internal, "query: the nodes hash values in different ways, because their engines differ")

// askAll asks the nodes for their partial results, and for hashes of values if these are too large.
func (d *Statement) askAll(ctx context.Context) error {
	if d.split.Hashed != nil && d.nodes.large.has(d.req.Sql) {
		return d.askHashes(ctx)
	}
	missing := slices.Clone(d.missing)
	err := d.askBest(ctx)
	if d.split.Hashed == nil || !errors.Is(err, errTooLarge) || d.nodes.shared.has(d.req.Sql) {
		return err
	}
	d.nodes.large.add(d.req.Sql)
	d.forget(missing)
	return d.askHashes(ctx)
}

// forget gives up what the nodes returned. missing is what was missing before they were asked.
func (d *Statement) forget(missing []string) {
	d.missing = missing
	for _, p := range d.parts {
		d.bytes.Add(-int64(p.bytes))
		d.nodes.partials.Add(-int64(p.bytes))
		p.sql, p.streams, p.bytes = "", nil, 0
	}
}

// askHashes counts the different values by their hashes.
func (d *Statement) askHashes(ctx context.Context) error {
	h := d.split.Hashed
	missing := slices.Clone(d.missing)
	for _, p := range d.parts {
		p.sql = h.Hashes
	}
	if err := d.ask(ctx); err != nil {
		return err
	}
	var hashes []uint64
	for _, stream := range d.streams() {
		list, err := readHashes(stream, h.Probe)
		if err != nil {
			return err
		}
		hashes = append(hashes, list...)
	}
	number, repeated := tellApart(hashes)
	d.sentHashes = len(hashes)
	if len(repeated) > maxRepeated {
		d.nodes.shared.add(d.req.Sql)
		return errShared
	}
	if len(repeated) > 0 {
		d.forget(missing)
		n, err := d.askValues(ctx, repeated)
		if err != nil {
			return err
		}
		number += n
	}
	d.number, d.counted = int64(number), true
	return nil
}

// askValues returns how many different values there are of some hashes.
func (d *Statement) askValues(ctx context.Context, hashes []uint64) (int, error) {
	list := make([]string, len(hashes))
	for i, h := range hashes {
		list[i] = strconv.FormatUint(h, 10) + "::UBIGINT"
	}
	for _, p := range d.parts {
		p.sql = d.split.Hashed.Before + strings.Join(list, ", ") + d.split.Hashed.After
	}
	if err := d.ask(ctx); err != nil {
		return 0, err
	}
	values := map[string]bool{}
	for _, stream := range d.streams() {
		err := eachBatch(stream, func(rec arrow.RecordBatch) error {
			c, ok := rec.Column(0).(*array.String)
			if !ok {
				return errHashes
			}
			for i := range c.Len() {
				values[strings.Clone(c.Value(i))] = true
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return len(values), nil
}

// eachBatch calls f with the batches of a stream, which have one column at least.
func eachBatch(stream []byte, f func(rec arrow.RecordBatch) error) error {
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return errs.Wrap(errs.Internal, err, "query: partial results")
	}
	defer r.Release()
	for r.Next() {
		rec := r.RecordBatch()
		if rec.NumCols() == 0 {
			return errHashes
		}
		if err := f(rec); err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return errs.Wrap(errs.Internal, err, "query: partial results")
	}
	return nil
}

// readHashes reads the hashes of a node, one of which is the probe.
func readHashes(stream []byte, probe uint64) (out []uint64, err error) {
	err = eachBatch(stream, func(rec arrow.RecordBatch) error {
		c, ok := rec.Column(0).(*array.Uint64)
		if !ok || c.NullN() > 0 {
			return errHashes
		}
		out = append(out, c.Values()...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	at := slices.Index(out, probe)
	if at < 0 {
		return nil, errHashes
	}
	return slices.Delete(out, at, at+1), nil
}

// tellApart returns how many hashes occur once, and those that occur several times. It changes the order of the list.
func tellApart(list []uint64) (once int, repeated []uint64) {
	for _, bucket := range byHead(list) {
		slices.Sort(bucket)
		for i := 0; i < len(bucket); {
			k := i + 1
			for k < len(bucket) && bucket[k] == bucket[i] {
				k++
			}
			if k == i+1 {
				once++
			} else {
				repeated = append(repeated, bucket[i])
			}
			i = k
		}
	}
	return once, repeated
}

// headBits is by how many of their first bits hashes are sorted into buckets: to sort those takes less than to sort
// all, since a bucket fits into the cache of a core.
const headBits = 12

// byHead returns the numbers of a list in buckets by their first bits.
func byHead(list []uint64) [][]uint64 {
	if len(list) < 1<<headBits {
		return [][]uint64{list}
	}
	var ends [1 << headBits]int
	for _, h := range list {
		ends[h>>(64-headBits)]++
	}
	sum := 0
	for i, n := range ends {
		ends[i], sum = sum, sum+n
	}
	sorted := make([]uint64, len(list))
	for _, h := range list {
		at := &ends[h>>(64-headBits)]
		sorted[*at] = h
		*at++
	}
	out, begin := make([][]uint64, 0, len(ends)), 0
	for _, end := range ends {
		out, begin = append(out, sorted[begin:end]), end
	}
	return out
}

// partialsOf returns the last step over what the nodes returned, and the statement whose partial results these are.
func (d *Statement) partialsOf() (worker string, out *query.Partials) {
	out = &query.Partials{
		Final: d.split.Final, Explain: d.split.Explain, Moment: d.split.Moment, Streams: d.streams(),
	}
	if !d.counted {
		return d.split.Worker, out
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(d.number)
	value := b.NewArray()
	defer value.Release()
	s := arrow.NewSchema([]arrow.Field{{Name: "__n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	rec := array.NewRecordBatch(s, []arrow.Array{value}, 1)
	defer rec.Release()
	var stream bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(s))
	_ = errors.Join(w.Write(rec), w.Close()) // a buffer takes all
	out.Final, out.Streams = d.split.Hashed.Final, [][]byte{stream.Bytes()}
	return d.split.Hashed.Worker, out
}
