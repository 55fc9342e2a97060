package server

import (
	"context"

	"cordwood/proto/errs"
	"cordwood/shard/query"
)

// namedEngine is an Engine that adds the node to errors about missing memory or a failed process,
// because several nodes, each with its own engine, work on one query.
type namedEngine struct {
	Engine
	here func() string // returns the node, or "" if it is the only one
}

// Query runs a statement.
func (e namedEngine) Query(ctx context.Context, req *query.Request, emit func(ipc []byte) error) error {
	return e.name(e.Engine.Query(ctx, req, emit))
}

// Needs reports what a statement reads.
func (e namedEngine) Needs(ctx context.Context, req *query.Request) ([]query.Need, error) {
	needs, err := e.Engine.Needs(ctx, req)
	return needs, e.name(err)
}

// Split splits a statement for several nodes.
func (e namedEngine) Split(ctx context.Context, req *query.Request) (*query.Split, error) {
	split, err := e.Engine.Split(ctx, req)
	return split, e.name(err)
}

// name adds the node to an error.
func (e namedEngine) name(err error) error { return onNode(err, e.here) }

// onNode adds the node that here returns to an error about a condition of the node.
func onNode(err error, here func() string) error {
	if err == nil || here == nil {
		return err
	}
	switch code := errs.CodeOf(err); code {
	case errs.RuntimeResourcesExhausted, errs.External:
		if id := here(); id != "" {
			return errs.Wrap(code, err, "on node %s", id)
		}
	}
	return err
}
