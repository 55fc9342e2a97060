package meta

import (
	"cmp"
	"fmt"
	"slices"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// This file applies commands about operations.

const (
	// maxRunning is the maximum number of running operations.
	maxRunning = 1000
	// maxEnded is the number of ended operations that are kept. It is part of the state machine.
	maxEnded = 1000
)

// applyPutOperation stores a new operation, or changes one that has not changed since the proposer
// read it.
func applyPutOperation(tx *catalog.Tx, cmd *metapb.PutOperation, now int64, c *change) (*metapb.Result, error) {
	o := cmd.Operation
	all, err := tx.Operations.All()
	if err != nil {
		return nil, err
	}
	if o.Id == 0 {
		if n := count(all, running); running(o) && n >= maxRunning {
			return nil, errs.New(errs.InvalidArguments,
				"Operation %s cannot be started: %d are running, the maximum", o.Kind, n)
		}
		o.CreatedUnixNano, o.Version = now, 0
	} else {
		had, err := tx.Operations.Get(o.Id)
		switch {
		case err != nil:
			return nil, err
		case had == nil:
			return nil, errs.New(errs.InvalidArguments, "Operation %d not found; it may have been forgotten", o.Id)
		case had.Version != o.Version:
			return nil, errs.New(errs.RequestOutdated,
				"Operation %d has version %d and not %d: it was changed meanwhile; read it again", o.Id, had.Version, o.Version)
		case !running(had):
			return nil, errs.New(errs.InvalidArguments, "Operation %d has ended and cannot be changed any more", o.Id)
		}
		o.CreatedUnixNano = had.CreatedUnixNano
	}
	if running(o) {
		if other := excludes(all, o); other != nil {
			return nil, errs.New(errs.InvalidArguments,
				"Operation %s cannot be started while operation %d (%s) of the same %s runs; wait for it, or cancel it", o.Kind,
				other.Id, other.Kind, subject(other, o))
		}
	}
	if o.Id == 0 {
		if o.Id, err = tx.Operations.NextID(); err != nil {
			return nil, err
		}
	}
	o.Version++
	o.UpdatedUnixNano, o.EndedUnixNano = now, 0
	if !running(o) {
		o.EndedUnixNano = now
		all = append(slices.DeleteFunc(all, func(x *metapb.Operation) bool { return x.Id == o.Id }), o)
		if err := dropEnded(tx, all, maxEnded, c); err != nil {
			return nil, err
		}
	}
	c.Operations = []*metapb.Operation{o}
	return &metapb.Result{Operation: o}, tx.Operations.Put(o)
}

func applyDropOperations(tx *catalog.Tx, cmd *metapb.DropOperations, c *change) (*metapb.Result, error) {
	all, err := tx.Operations.All()
	if err != nil {
		return nil, err
	}
	return &metapb.Result{}, dropEnded(tx, all, int(min(cmd.Keep, maxEnded)), c)
}

// dropEnded keeps the last maxEnded ended operations and removes the older ones.
func dropEnded(tx *catalog.Tx, all []*metapb.Operation, keep int, c *change) error {
	ended := slices.DeleteFunc(slices.Clone(all), running)
	slices.SortFunc(ended, func(a, b *metapb.Operation) int {
		if a.EndedUnixNano != b.EndedUnixNano {
			return cmp.Compare(a.EndedUnixNano, b.EndedUnixNano)
		}
		return cmp.Compare(a.Id, b.Id)
	})
	for _, o := range ended[:max(0, len(ended)-keep)] {
		if err := tx.Operations.Drop(o.Id); err != nil {
			return err
		}
		c.DroppedOperations = append(c.DroppedOperations, o.Id)
	}
	return nil
}

func running(o *metapb.Operation) bool {
	return o.State == metapb.OperationState_OPERATION_STATE_RUNNING
}

func count(all []*metapb.Operation, is func(*metapb.Operation) bool) (n int) {
	for _, o := range all {
		if is(o) {
			n++
		}
	}
	return n
}

// excludes returns a running operation that excludes o: another one for the same shard, table or
// node, or another rebalance. A part may run together with the whole.
func excludes(all []*metapb.Operation, o *metapb.Operation) *metapb.Operation {
	for _, other := range all {
		if other.Id == o.Id || !running(other) || o.Parent != 0 && o.Parent == other.Id || o.Id != 0 && other.Parent == o.Id {
			continue
		}
		if subject(other, o) != "" {
			return other
		}
	}
	return nil
}

// subject returns the object that both operations are about. It is empty if they have nothing in
// common.
func subject(a, b *metapb.Operation) string {
	switch {
	case a.ShardId != 0 && a.ShardId == b.ShardId:
		return fmt.Sprintf("shard %d", a.ShardId)
	case a.TableId != 0 && a.TableId == b.TableId:
		return fmt.Sprintf("table %d", a.TableId)
	case a.NodeId != "" && a.NodeId == b.NodeId:
		return "node " + a.NodeId
	case a.Kind == "rebalance" && b.Kind == "rebalance":
		return "cluster"
	}
	return ""
}
