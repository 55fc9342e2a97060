package distribute

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/shard/query"
	"cordwood/shard/query/partial"
)

// If a statement requests the groups with the largest counts, each node first sends only its groups
// with the largest counts. The counts that it does not send are no larger than the smallest one
// that it sent. That often proves that no other group can be in the answer, after only a hundredth
// of the groups was sent. Otherwise the nodes are asked for all groups.

// askBest asks the nodes for their best groups, and for all if these do not prove the answer.
func (d *Statement) askBest(ctx context.Context) error {
	b := d.split.Best
	if b == nil || d.nodes.unproven.has(d.statement()) {
		return d.ask(ctx)
	}
	missing := slices.Clone(d.missing)
	for _, p := range d.parts {
		p.sql = b.Worker
	}
	if err := d.ask(ctx); err != nil {
		return err
	}
	if provesBest(d.streams(), b) {
		return nil
	}
	d.nodes.unproven.add(d.statement())
	d.forget(missing)
	return d.ask(ctx)
}

// sentGroup is what this node knows about a group.
type sentGroup struct {
	// count is the sum of the counts that nodes sent.
	count int64
	// rest is an upper bound of the group's counts on the nodes that did not send it: the sum of
	// the bounds of all nodes, minus the bounds of the nodes that sent it.
	rest int64
}

// provesBest reports whether the first groups by their counts are certain: their counts on all
// nodes are known, and no other group can have as many.
func provesBest(streams [][]byte, b *query.Best) bool {
	groups := map[string]*sentGroup{}
	all := int64(0) // the maximum count of a group that no node sent, over all nodes
	for _, stream := range streams {
		list, err := readCounts(stream, b)
		if err != nil {
			return false
		}
		bound := int64(0) // the maximum count that this node may have for a group that it did not send
		if uint64(len(list)) >= b.Rows {
			bound = slices.MinFunc(list, func(a, b countedGroup) int { return cmp.Compare(a.count, b.count) }).count
		}
		for _, g := range list {
			known := groups[g.key]
			if known == nil {
				known = &sentGroup{}
				groups[g.key] = known
			}
			known.count += g.count
			known.rest -= bound
		}
		all += bound
	}
	var certain []int64
	for _, g := range groups {
		if g.rest += all; g.rest == 0 {
			certain = append(certain, g.count)
		}
	}
	if all == 0 {
		return true // every node sent all of its groups
	}
	if uint64(len(certain)) < b.First {
		return false
	}
	slices.Sort(certain)
	least := certain[uint64(len(certain))-b.First]
	if all >= least {
		return false
	}
	for _, g := range groups {
		if g.rest > 0 && g.count+g.rest >= least {
			return false
		}
	}
	return true
}

// countedGroup is a group of a node with its count.
type countedGroup struct {
	key   string
	count int64
}

// errNotCounted means that counts of groups cannot be compared here.
var errNotCounted = errors.New("the texts of groups do not identify them")

// readCounts reads the groups that a node sent.
func readCounts(stream []byte, b *query.Best) ([]countedGroup, error) {
	r, err := partial.NewReader(stream)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	if r.Schema().NumFields() <= max(b.Count, b.Groups-1) || b.Count < 0 {
		return nil, errNotCounted
	}
	for _, f := range r.Schema().Fields()[:b.Groups] {
		if !sameAsText(f.Type) {
			return nil, errNotCounted
		}
	}
	var out []countedGroup
	var key []byte
	for r.Next() {
		rec := r.RecordBatch()
		counts, ok := rec.Column(b.Count).(*array.Int64)
		if !ok || counts.NullN() > 0 {
			return nil, errNotCounted
		}
		for i := range int(rec.NumRows()) {
			key = key[:0]
			for _, c := range rec.Columns()[:b.Groups] {
				if c.IsNull(i) {
					key = append(key, '-')
					continue
				}
				s := c.ValueStr(i)
				key = append(strconv.AppendInt(key, int64(len(s)), 10), ':')
				key = append(key, s...)
			}
			out = append(out, countedGroup{string(key), counts.Value(i)})
		}
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return out, nil
}

// sameAsText reports whether values of a type are equal exactly if their texts are. For doubles
// this is false: 0 and -0 are one group.
func sameAsText(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.BOOL, arrow.STRING, arrow.LARGE_STRING, arrow.TIMESTAMP, arrow.DATE32:
		return true
	}
	return false
}
