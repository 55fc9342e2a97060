package install

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/manifest"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// This file fetches the state of another replica: its manifest, and the files of its segments.

const (
	// fetchSilence is how long to wait for data from the other replica.
	fetchSilence = 30 * time.Second
	// fetchTries is the number of times that the rest of a file is requested after the connection
	// broke.
	fetchTries = 5
	// fetchSoon is how long a fetch may take without another round. Rows that were written during
	// it must still be in the leader's log afterwards.
	fetchSoon = 5 * time.Second
	// fetchRounds is the maximum number of rounds.
	fetchRounds = 8
)

// fetchState fetches the state of the shard on another node until it is complete in the
// folder incoming.
func (n *Installer) fetchState(ctx context.Context, from string) error {
	conn, err := n.cfg.Peers(from)
	if err != nil {
		return err
	}
	in := n.folder
	if err := in.fs.MkdirAll(in.dir); err != nil {
		return err
	}
	if old, err := in.state(); err != nil {
		return err
	} else if old != nil {
		if err := in.restoreNames(old); err != nil {
			return err
		}
	}
	client := shardpb.NewShardServiceClient(conn)
	for round := 1; ; round++ {
		start := time.Now()
		st, err := n.fetchRound(ctx, client)
		if err != nil {
			return err
		}
		if time.Since(start) <= fetchSoon || round == fetchRounds {
			return n.complete(st)
		}
	}
}

// fetchRound pins the state of the other replica and fetches the missing files.
func (n *Installer) fetchRound(ctx context.Context, client shardpb.ShardServiceClient) (*manifest.State, error) {
	in := n.folder
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pin, st, err := n.pinState(ctx, client, cancel)
	if err != nil {
		return nil, cause(ctx, err)
	}
	wanted := map[string]bool{}
	total := int64(0)
	for i := range st.Segments {
		wanted[fetchedName(&st.Segments[i])] = true
		total += st.Segments[i].Bytes
	}
	if len(wanted) < len(st.Segments) {
		return nil, errors.New("two of its segments have the same checksums and size")
	}
	if err := in.keep(wanted); err != nil {
		return nil, err
	}
	n.total.Store(total)
	n.done.Store(0)
	for i := range st.Segments {
		if err := n.fetchSegment(ctx, client, pin, &st.Segments[i]); err != nil {
			return nil, cause(ctx, err)
		}
	}
	return st, in.fs.SyncDir(in.dir)
}

// cause returns the error that ended ctx, if it has ended, and otherwise err.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c
	}
	return err
}

// watchdog ends a context if it is not fed for fetchSilence.
func watchdog(cancel context.CancelCauseFunc, what string) *time.Timer {
	return time.AfterFunc(fetchSilence, func() { cancel(fmt.Errorf("%s: received nothing for %s", what, fetchSilence)) })
}

// pinned is what another replica pinned.
type pinned struct {
	id       uint64
	segments []*shardpb.PinnedSegment
	state    []byte
}

// pinState pins the state of the other replica as long as ctx lives. It ends ctx if the pin is
// lost.
func (n *Installer) pinState(ctx context.Context, client shardpb.ShardServiceClient,
	cancel context.CancelCauseFunc,
) (pin uint64, st *manifest.State, err error) {
	p, err := n.pin(ctx, client, cancel, &shardpb.PinRequest{
		ShardId: n.cfg.ShardID, State: true,
		Incarnation: n.cfg.Incarnation, Objects: n.cfg.Objects,
	})
	if err != nil {
		return 0, nil, err
	}
	st, err = manifest.DecodeState("decode the state of the other replica", p.state)
	return p.id, st, err
}

// pin pins segments of the other replica as long as ctx lives. It ends ctx if the pin is lost.
func (n *Installer) pin(ctx context.Context, client shardpb.ShardServiceClient, cancel context.CancelCauseFunc,
	req *shardpb.PinRequest,
) (p pinned, err error) {
	dog := watchdog(cancel, "pin")
	defer func() {
		if err != nil {
			dog.Stop()
		}
	}()
	stream, err := client.Pin(ctx, req, grpc.MaxCallRecvMsgSize(64<<20))
	if err != nil {
		return p, errs.FromGRPC(err)
	}
	for complete := false; !complete; {
		m, err := stream.Recv()
		if err != nil {
			return p, errs.FromGRPC(err)
		}
		dog.Reset(fetchSilence)
		for _, seg := range m.Segments {
			if seg.Damaged {
				return p, fmt.Errorf("segment %d of the other replica is damaged, so its state cannot be used", seg.Id)
			}
		}
		if req.Flush != nil { // the segments of a state are in the state
			p.segments = append(p.segments, m.Segments...)
		}
		if p.state = append(p.state, m.State...); len(p.state) > maxStateBytes {
			return p, fmt.Errorf("the state of the other replica has more than %d bytes", maxStateBytes)
		}
		p.id, complete = m.PinId, m.Complete
	}
	go func() { // until ctx ends
		defer dog.Stop()
		for {
			if _, err := stream.Recv(); err != nil {
				cancel(fmt.Errorf("the pin was lost: %w", errs.FromGRPC(err)))
				return
			}
			dog.Reset(fetchSilence)
		}
	}()
	return p, nil
}

// maxStateBytes is the maximum size of a shard's state without its segments: 100,000 tables of
// 1,000 columns need 4 GB.
const maxStateBytes = 8 << 30

// arriving is a segment's file that is being received.
type arriving struct {
	n   *Installer
	m   *segment.Meta
	f   vfs.File
	at  int64  // number of bytes received
	crc uint32 // checksum of the received bytes
	// done, if set, counts the bytes, too.
	done *atomic.Int64
	// ours means that writing to the disk of this node failed.
	ours bool
}

// take writes the next bytes of the file.
func (a *arriving) take(ctx context.Context, b []byte) error {
	if a.at+int64(len(b)) > a.m.Bytes {
		return fmt.Errorf("segment %d has %d bytes, but more were received", a.m.ID, a.m.Bytes)
	}
	if err := a.n.cfg.Rate.Wait(ctx, len(b)); err != nil {
		return err
	}
	if _, err := a.f.Write(b); err != nil {
		a.ours = true
		return err
	}
	a.at += int64(len(b))
	a.crc = crc32.Update(a.crc, castagnoli, b)
	if a.done != nil {
		a.done.Add(int64(len(b)))
	}
	return nil
}

// fetch reads the rest of the file. If the connection breaks, it requests the rest again, up to
// fetchTries times in a row without progress.
func (a *arriving) fetch(ctx context.Context, client shardpb.ShardServiceClient, pin uint64) (err error) {
	for try := 1; a.at < a.m.Bytes; try++ {
		before := a.at
		err = a.n.readSegment(ctx, client, &shardpb.ReadSegmentRequest{
			ShardId: a.n.cfg.ShardID, PinId: pin, SegmentId: a.m.ID, Offset: a.at,
		}, func(b []byte) error { return a.take(ctx, b) })
		if a.at > before {
			try = 1
		}
		lost := (*brokenStream)(nil)
		if err != nil && (!errors.As(err, &lost) || try >= fetchTries || ctx.Err() != nil) {
			return err
		}
		if err == nil && a.at == before {
			break // the stream ended without an error
		}
	}
	return nil
}

// check compares the size and the checksum of the complete file. If they are correct, it syncs the
// file.
func (a *arriving) check() error {
	switch {
	case a.at != a.m.Bytes:
		return fmt.Errorf("segment %d has %d bytes, but %d were received", a.m.ID, a.m.Bytes, a.at)
	case a.crc != a.m.FileCRC:
		return fmt.Errorf("segment %d was received with the checksum %08x, want %08x: it is damaged on the other node, or "+
			"was damaged during the transfer",
			a.m.ID, a.crc, a.m.FileCRC)
	}
	return a.f.Sync()
}

// fetchSegment fetches one file unless it is complete already.
func (n *Installer) fetchSegment(ctx context.Context, client shardpb.ShardServiceClient, pin uint64,
	m *segment.Meta,
) error {
	in := n.folder
	path := in.path(fetchedName(m))
	if size, err := in.fs.Stat(path); err == nil && size == m.Bytes {
		n.done.Add(m.Bytes)
		return nil // the file was checked before it got its name
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	temp := segment.TempName(path)
	f, at, crc, err := in.resume(path, m.Bytes)
	if err != nil {
		return err
	}
	n.done.Add(at)
	a := &arriving{n: n, m: m, f: f, at: at, crc: crc, done: &n.done}
	err = a.fetch(ctx, client, pin)
	whole := err == nil
	if whole {
		err = a.check()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		return in.fs.Rename(temp, path)
	}
	n.done.Add(-a.at)
	if !whole && !a.ours { // the next attempt continues after the received bytes
		return err
	}
	return errors.Join(err, in.fs.Remove(temp))
}

// brokenStream converts the error of a stream that ended too early.
type brokenStream struct{ error }

func (e *brokenStream) Unwrap() error { return e.error }

func (n *Installer) readSegment(ctx context.Context, client shardpb.ShardServiceClient,
	req *shardpb.ReadSegmentRequest, take func([]byte) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dog := watchdog(cancel, fmt.Sprintf("read segment %d", req.SegmentId))
	defer dog.Stop()
	stream, err := client.ReadSegment(ctx, req)
	if err != nil {
		return &brokenStream{errs.FromGRPC(err)}
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &brokenStream{cause(ctx, errs.FromGRPC(err))}
		}
		dog.Stop() // now only the disk of this node or the rate limit takes time
		if err := take(m.Data); err != nil {
			return err
		}
		dog.Reset(fetchSilence)
	}
}

// complete assigns ids of this replica to the fetched segments and writes STATE. From then on the
// shard can adopt the state.
func (n *Installer) complete(st *manifest.State) error {
	in := n.folder
	next := *st
	next.Segments = append([]segment.Meta(nil), st.Segments...)
	n.cfg.IDs.Raise(st.NextSegmentID)
	for i := range next.Segments {
		m := &next.Segments[i]
		from := fetchedName(m)
		m.ID = n.cfg.IDs.Take()
		if err := in.fs.Rename(in.path(from), in.path(m.FileName())); err != nil {
			return err
		}
	}
	next.NextSegmentID = n.cfg.IDs.Upcoming()
	// These ids referred to files that the other replica's files have replaced.
	next.Reserved, next.Garbage = nil, nil
	if err := in.fs.SyncDir(in.dir); err != nil {
		return err
	}
	return in.put(stateFileName, stateMagic, next.Encode())
}
