package reach

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/proto/metapb"
)

// tryFor is the time limit of a connection attempt for a node that asks whether it can be reached.
const tryFor = time.Second

// maxReason is the maximum length of the reason in an answer, in bytes.
const maxReason = 300

// ErrUnknown is the error of Config.Try when the result is unknown.
var ErrUnknown = errors.New("the address of the node is not known here")

// Reach tries to reach the node that asks.
func (m *Monitor) Reach(ctx context.Context, req *metapb.ReachRequest) (*metapb.ReachResponse, error) {
	select {
	case m.trying <- struct{}{}:
		defer func() { <-m.trying }()
	default:
		return nil, status.Error(codes.ResourceExhausted, "too many other requests are running")
	}
	try, cancel := context.WithTimeout(ctx, tryFor)
	err := m.cfg.Try(try, req.NodeId)
	cancel()
	if errors.Is(err, ErrUnknown) {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	if ctx.Err() != nil {
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	resp := &metapb.ReachResponse{Reached: err == nil, Connected: m.connected(req.NodeId), Unreachable: m.Unreachable()}
	if err != nil {
		text := err.Error()
		resp.Reason = strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
	}
	return resp, nil
}

// Echo records that another node reached this one.
func (m *Monitor) Echo(_ context.Context, req *metapb.EchoRequest) (*metapb.EchoResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked[req.NodeId] { // otherwise any caller could fill the memory
		m.heard[req.NodeId] = time.Now()
	}
	return &metapb.EchoResponse{}, nil
}

// connected reports whether this node reached most of the other nodes, except but, in its last round. It returns true
// if there are no others.
func (m *Monitor) connected(but string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked == nil {
		return false // this node has had no round yet
	}
	asked, answered := 0, 0
	for id := range m.asked {
		if id != but {
			asked++
			if m.answered[id] {
				answered++
			}
		}
	}
	return asked == 0 || 2*answered > asked
}
