package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/clusterapi"
)

// This file makes the requests of an operator, with the same calls as the HTTP API.

// ask starts an operation. A refusal is not a fault.
func (w *World) ask(req *clusterapi.Request) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	answer, err := w.routers[w.rng.IntN(len(w.routers))].admin.Start(ctx, req, "simulation")
	switch {
	case err != nil:
		w.event("%s is refused: %v", req.Kind, err)
	case answer.Operation != nil:
		w.event("operation %d, %s of %s, starts", answer.Operation.ID, req.Kind, answer.Operation.Subject)
	default:
		w.event("%s: %s", req.Kind, answer.Message)
	}
}

// moveShard replaces a member of a group with a node that is not a member.
func (w breaker) moveShard() {
	all := w.shards()
	s := all[w.rng.IntN(len(all))]
	free := slices.DeleteFunc(w.nodeIDs(), func(id string) bool { return slices.Contains(s.Replicas, id) })
	if len(free) == 0 || len(s.Replicas) == 0 {
		return
	}
	w.ask(&clusterapi.Request{
		Kind: operation.ShardMove, Shard: s.Id, From: s.Replicas[w.rng.IntN(len(s.Replicas))],
		To: free[w.rng.IntN(len(free))],
	})
}

// moveTable moves a table's writes to other shards, sometimes with its rows.
func (w breaker) moveTable() {
	t := w.tables[w.rng.IntN(len(w.tables))]
	all := w.shards()
	if len(all) < 2 {
		return
	}
	var to []uint32
	for _, i := range w.rng.Perm(len(all))[:1+w.rng.IntN(2)] {
		to = append(to, all[i].Id)
	}
	w.ask(&clusterapi.Request{
		Kind: operation.TableMove, Table: schema.DefaultDatabase + "." + t.name, ToShards: to,
		WithRows: to[0]%2 == 0 && !t.cold, // its service of shards reads no objects
	})
}

// drain drains a node, or makes a drained node active again.
func (w breaker) drain() {
	w.ask(&clusterapi.Request{Kind: operation.NodeDrain, Node: w.anyNode().ID, ForRestart: w.rng.IntN(3) == 0})
}

func (w breaker) undrain() {
	w.ask(&clusterapi.Request{Kind: "node-undrain", Node: w.anyNode().ID})
}

// cancel cancels a running operation.
func (w breaker) cancel() {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	r := w.routers[0]
	var running []uint64
	for _, op := range r.meta.Operations() {
		if op.EndedUnixNano == 0 {
			running = append(running, op.Id)
		}
	}
	if len(running) == 0 {
		return
	}
	id := running[w.rng.IntN(len(running))]
	_, err := r.admin.Cancel(ctx, id)
	w.event("operation %d is cancelled: %v", id, err)
}

// maxOperation is how long operations may take after the end of all faults.
const maxOperation = 10 * time.Minute

// awaitOperations waits until no operation runs and every shard has the wanted number of replicas.
func (w *World) awaitOperations() {
	if w.flipped {
		time.Sleep(scrubEvery + 10*time.Second) // until damage has been found and reported
	}
	r, last := w.routers[0], ""
	for since := time.Now(); time.Since(since) < maxOperation; time.Sleep(time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		status, err := r.admin.Status(ctx)
		cancel()
		switch {
		case err != nil:
			last = err.Error()
		case len(status.Operations) > 0:
			op := status.Operations[0]
			last = fmt.Sprintf("operation %d, %s of %s, is at step %s: %s", op.ID, op.Kind, op.Subject, op.Step, op.Reason)
		case status.UnderReplicated > 0:
			last = fmt.Sprintf("%d shards lack replicas: %v", status.UnderReplicated, status.Problems)
		default:
			i := slices.IndexFunc(status.Shards, func(s clusterapi.Shard) bool { return s.State != "ok" })
			if i < 0 {
				w.event("no operation runs any more")
				return
			}
			last = fmt.Sprintf("shard %d is in state %q: %+v", status.Shards[i].ID, status.Shards[i].State, status.Shards[i])
		}
	}
	w.violation("the cluster has not settled %s after the end of the faults: %s", maxOperation, last)
}
