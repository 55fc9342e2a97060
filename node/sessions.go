package node

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/node/config"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/pgwire"
)

// sessionsWait is the time limit of each node when all nodes are asked for their sessions.
const sessionsWait = 3 * time.Second

// sessions answers and asks other nodes about the sessions of PostgreSQL clients.
type sessions struct {
	metapb.UnimplementedSessionsServer
	members *membership
	// server is nil until this node serves PostgreSQL clients.
	server atomic.Pointer[pgwire.Server]
}

// ListSessions lists the sessions of this node.
func (s *sessions) ListSessions(context.Context, *metapb.ListSessionsRequest) (*metapb.ListSessionsResponse, error) {
	return &metapb.ListSessionsResponse{Sessions: s.own()}, nil
}

func (s *sessions) own() []*metapb.ClientSession {
	server := s.server.Load()
	if server == nil {
		return nil
	}
	list := server.Sessions()
	for _, one := range list {
		one.NodeId = s.members.data.nodeID
	}
	return list
}

// CancelStatement ends the statement of a session of this node.
func (s *sessions) CancelStatement(
	_ context.Context, req *metapb.CancelStatementRequest,
) (*metapb.CancelStatementResponse, error) {
	server := s.server.Load()
	return &metapb.CancelStatementResponse{Found: server != nil && server.Cancel(req.Pid, req.Key)}, nil
}

// routers returns the ids of the other routers.
func (s *sessions) routers() (ids []string) {
	for _, m := range s.members.meta.Nodes() {
		if m.Id != s.members.data.nodeID && slices.Contains(m.Roles, config.RoleRouter) {
			ids = append(ids, m.Id)
		}
	}
	return ids
}

// list returns the sessions of this node, or of all nodes. If some do not answer, it returns the others' sessions and
// an error.
func (s *sessions) list(ctx context.Context, all bool) ([]*metapb.ClientSession, error) {
	out := s.own()
	if !all {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(ctx, sessionsWait)
	defer cancel()
	var mu sync.Mutex // guards out and failed
	var failed error
	s.ask(ctx, s.routers(), func(id string, client metapb.SessionsClient) error {
		resp, err := client.ListSessions(ctx, &metapb.ListSessionsRequest{})
		mu.Lock()
		defer mu.Unlock()
		for _, one := range resp.GetSessions() {
			one.NodeId = id
			out = append(out, one)
		}
		return err
	}, func(id string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if failed == nil {
			failed = errs.New(errs.ShardUnreachable, "the sessions of node %s are not known: %s", id,
				errs.From(errs.FromGRPC(err)).Msg)
		}
	})
	return out, failed
}

// cancelElsewhere ends the statement of a session of another router. It asks those to which the process id may belong.
func (s *sessions) cancelElsewhere(ctx context.Context, pid, key uint32) bool {
	ids := slices.DeleteFunc(s.routers(), func(id string) bool { return !pgwire.MayServe(id, pid) })
	var found atomic.Bool
	s.ask(ctx, ids, func(_ string, client metapb.SessionsClient) error {
		resp, err := client.CancelStatement(ctx, &metapb.CancelStatementRequest{Pid: pid, Key: key})
		if resp.GetFound() {
			found.Store(true)
		}
		return err
	}, func(id string, err error) {
		s.members.log.Warn("a request to cancel a statement could not be passed on", "node", id, "error", err)
	})
	return found.Load()
}

// ask calls nodes at once. A node of an older version has no sessions that others may ask for.
func (s *sessions) ask(
	ctx context.Context, ids []string, call func(id string, client metapb.SessionsClient) error,
	failed func(id string, err error),
) {
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			conn, err := s.members.nodes.Dial(id)
			if err == nil {
				err = call(id, metapb.NewSessionsClient(conn))
			}
			switch {
			case err == nil, status.Code(err) == codes.Unimplemented:
			case ctx.Err() != nil:
				failed(id, fmt.Errorf("no answer in time: %w", err))
			default:
				failed(id, err)
			}
		})
	}
	wg.Wait()
}
