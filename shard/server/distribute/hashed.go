package distribute

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/words"
	"cordwood/shard/query"
	"cordwood/shard/query/partial"
)

// If the distinct values that a statement counts are too large to be sent, the nodes send a hash of
// each of their distinct values. A hash that arrives once is one value. If a hash arrives several
// times, either several nodes have the same value, or two values have the same hash. The nodes are
// then asked for the values with this hash. Rows may be deleted before they answer, so each hash
// counts as at least one value. The result is the number at the time when the nodes sent their
// hashes, except for different values with the same hash.

// maxRepeated is the maximum number of hashes whose values are requested. If more values are on
// several nodes, rows are fetched.
const maxRepeated = 5000

// errShared reports that too many values may be on several nodes.
var errShared = errs.New(errs.Internal, "query: more than %d values have hashes that several nodes sent", maxRepeated)

// errHashes reports that the hashes of different nodes cannot be compared.
var errHashes = errs.New(errs.Internal, "query: the nodes hash values in different ways, because their engines differ")

// askAll requests the partial results of all nodes, or hashes of values if the partial results are too large.
func (d *Statement) askAll(ctx context.Context) error {
	if d.split.Hashed != nil && d.nodes.large.has(d.statement()) {
		return d.askHashes(ctx)
	}
	missing := slices.Clone(d.missing)
	err := d.askBest(ctx)
	if d.split.Hashed == nil || !errors.Is(err, errTooLarge) || d.nodes.shared.has(d.statement()) {
		return err
	}
	d.nodes.large.add(d.statement())
	d.forget(missing)
	return d.askHashes(ctx)
}

// forget releases the answers of the nodes. missing is what was missing before the requests.
func (d *Statement) forget(missing []words.Missing) {
	d.missing = missing
	for _, p := range d.parts {
		d.bytes.Add(-int64(p.bytes))
		d.nodes.partials.Add(-int64(p.bytes))
		p.sql, p.streams, p.bytes = "", nil, 0
	}
}

// askHashes counts the distinct values by their hashes.
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
	number, repeated := splitByCount(hashes)
	d.sentHashes = len(hashes)
	if len(repeated) > maxRepeated {
		d.nodes.shared.add(d.statement())
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

// askValues returns the number of distinct values that have one of some hashes, one for each hash at least.
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
	values := map[uint64]map[string]bool{}
	for _, h := range hashes {
		values[h] = map[string]bool{}
	}
	for _, stream := range d.streams() {
		err := eachBatch(stream, func(rec arrow.RecordBatch) error {
			k, ok := rec.Column(0).(*array.Uint64)
			if !ok || rec.NumCols() < 2 {
				return errHashes
			}
			c, ok := rec.Column(1).(*array.String)
			if !ok {
				return errHashes
			}
			for i := range c.Len() {
				if of := values[k.Value(i)]; of != nil {
					of[strings.Clone(c.Value(i))] = true
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	number := 0
	for _, of := range values {
		number += max(len(of), 1)
	}
	return number, nil
}

// eachBatch calls f with each batch of a stream. The batches have at least one column.
func eachBatch(stream []byte, f func(rec arrow.RecordBatch) error) error {
	r, err := partial.NewReader(stream)
	if err != nil {
		return errs.Wrap(errs.Internal, err, "query: read partial results")
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
		return errs.Wrap(errs.Internal, err, "query: read partial results")
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

// splitByCount returns the number of hashes that occur once, and the hashes that occur several
// times. It changes the order of the list.
func splitByCount(list []uint64) (once int, repeated []uint64) {
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

// headBits is the number of leading bits by which hashes are divided into buckets. Sorting the buckets is faster than
// sorting the whole list, because a bucket fits into the cache of a core.
const headBits = 12

// byHead divides the hashes of a list into buckets by their leading bits.
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

// partialsOf returns the request for the final statement: the answers of the nodes, and the
// statement that they ran.
func (d *Statement) partialsOf() (worker string, out *query.Partials) {
	out = &query.Partials{
		Final: d.split.Final, Explain: d.split.Explain, Moment: d.split.Moment, Streams: d.streams(),
	}
	if d.blocks != nil {
		return d.blocks[0].split.Worker, d.partialsOfBlocks(out)
	}
	if !d.counted {
		return d.split.Worker, out
	}
	stream, _ := partial.Number(d.number, "__n") // writing to a buffer never fails
	out.Final, out.Streams = d.split.Hashed.Final, [][]byte{stream}
	return d.split.Hashed.Worker, out
}
