package server

import (
	"google.golang.org/grpc"

	"cordwood/proto/shardpb"
	"cordwood/shard/server/distribute"
)

// A query is divided by the leaders that its sender presumes, or that this node knows. If a shard has another leader,
// the answer is the same, but the rows of the shard travel. So each answer ends with the leaders that were presumed
// wrong, and the next query is divided by these.

// Leaders is what a node knows about the leaders of shards. *shardclient.Client implements it.
type Leaders interface {
	// Leader returns the node that is believed to lead a shard, or "".
	Leader(shard uint32) string
	// Reported records the leader that a replica of the shard reports.
	Reported(shard uint32, leader string)
}

// shows reports whether this node can read the rows of a shard.
func (s *server) shows(id uint32, anyReplica bool) bool {
	sh, ok := s.cfg.Shards(id)
	return ok && (anyReplica || sh.Leads())
}

// leader returns the node that leads a shard, as far as this node knows, or "". A replica of the shard on this node
// knows it best.
func (s *server) leader(id uint32) string {
	if s.cfg.Leaders == nil {
		return ""
	}
	if sh, ok := s.cfg.Shards(id); ok {
		if node := sh.Leader(); node != "" {
			s.cfg.Leaders.Reported(id, node)
			return node
		}
	}
	return s.cfg.Leaders.Leader(id)
}

// otherLeaders returns the leaders of the shards of a request that were presumed to have another leader.
func (s *server) otherLeaders(req *shardpb.QueryRequest) []*shardpb.ShardLeader {
	if req.AnyReplica || s.cfg.Leaders == nil {
		return nil
	}
	presumed := make(map[uint32]string, len(req.Nodes))
	for _, of := range req.Nodes {
		if len(of.NodeIds) > 0 {
			presumed[of.ShardId] = of.NodeIds[0]
		}
	}
	var out []*shardpb.ShardLeader
	for _, t := range req.Tables {
		if t.Inline {
			continue
		}
		for _, id := range distribute.ShardsOf(t) {
			if req.Part && s.shows(id, false) {
				continue
			}
			if node := s.leader(id); node != "" && node != presumed[id] {
				out = append(out, &shardpb.ShardLeader{ShardId: id, NodeId: node})
				presumed[id] = node // once for each shard
			}
		}
	}
	return out
}

// sendLast sends the message behind the rows of an answer, if it contains something.
func (s *server) sendLast(req *shardpb.QueryRequest, q *runningQuery,
	out grpc.ServerStreamingServer[shardpb.QueryChunk],
) error {
	last := &shardpb.QueryChunk{Leaders: s.otherLeaders(req)}
	if req.Part && req.Stages {
		last.Stages = q.stages()
	}
	if last.Stages == nil && len(last.Leaders) == 0 {
		return nil
	}
	return out.Send(last)
}
