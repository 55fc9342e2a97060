package install

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"cordwood/proto/shardpb"
	"cordwood/shard/segment"
)

// This file fetches the segments that a flush of the leader wrote, for a follower that has the same rows in memory.
// They go into the folder of the live segments, because their flush adds them to the manifest next.

// FetchFlushed fetches the segments that the flush of a memtable wrote on another node. The memtable has the
// rows of the entries of the log after one index, up to last. The segments get new ids and orders of this replica, and
// their files are complete, checked and synced; the caller has to sync dir.
//
// After an error the caller has to release the ids of the returned segments, and to remove those of their files that
// exist.
func (n *Installer) FetchFlushed(ctx context.Context, node string, after, last uint64,
	dir string,
) (list []segment.Meta, err error) {
	if n.cfg.Full() {
		return nil, fmt.Errorf("the disk of node %s is full up to its reserve", n.cfg.NodeID)
	}
	conn, err := n.cfg.Peers(node)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	client := shardpb.NewShardServiceClient(conn)
	pin, err := n.pin(ctx, client, cancel, &shardpb.PinRequest{
		ShardId: n.cfg.ShardID, Incarnation: n.cfg.Incarnation, Flush: &shardpb.MemtableRange{After: after, Last: last},
	})
	if err != nil {
		return nil, cause(ctx, err)
	}
	for _, p := range pin.segments {
		from := segment.FromProto(p)
		m := from
		m.ID = n.cfg.IDs.Take()
		m.Order = m.ID // as for a file that this replica's flush wrote
		list = append(list, m)
		if err := n.receive(ctx, client, pin.id, &from, filepath.Join(dir, m.FileName())); err != nil {
			return list, cause(ctx, err)
		}
	}
	return list, nil
}

// receive fetches the file of a pinned segment. After an error there is no file.
func (n *Installer) receive(ctx context.Context, client shardpb.ShardServiceClient, pin uint64, m *segment.Meta,
	path string,
) error {
	temp := segment.TempName(path)
	f, err := n.cfg.FS.Create(temp)
	if err != nil {
		return err
	}
	a := &arriving{n: n, m: m, f: f}
	if err = a.fetch(ctx, client, pin); err == nil {
		err = a.check()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = n.cfg.FS.Rename(temp, path)
	}
	if err != nil {
		err = errors.Join(err, n.cfg.FS.Remove(temp))
	}
	return err
}
