package install

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
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
	// fetchSilence is how long nothing may come from the other replica.
	fetchSilence = 30 * time.Second
	// fetchTries is how often the rest of a file is asked for after the connection broke.
	fetchTries = 5
	// fetchSoon is how long fetching may have taken for the state not to be asked for once
	// more: what came meanwhile would have to be in the leader's log.
	fetchSoon = 5 * time.Second
	// fetchRounds bounds how often it is asked for.
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
		if err := in.unname(old); err != nil {
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

// fetchRound pins the state of the other replica and fetches the files that are not here.
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

// cause returns what ended ctx, if that is why err came.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c
	}
	return err
}

// watchdog ends a context if it is not fed for fetchSilence.
func watchdog(cancel context.CancelCauseFunc, what string) *time.Timer {
	return time.AfterFunc(fetchSilence, func() { cancel(fmt.Errorf("%s: nothing came for %s", what, fetchSilence)) })
}

// pinState pins the state of the other replica for as long as ctx lives, which it ends
// when the pin is lost.
func (n *Installer) pinState(ctx context.Context, client shardpb.ShardServiceClient,
	cancel context.CancelCauseFunc,
) (pin uint64, st *manifest.State, err error) {
	dog := watchdog(cancel, "pin")
	defer func() {
		if err != nil {
			dog.Stop()
		}
	}()
	stream, err := client.Pin(ctx, &shardpb.PinRequest{
		ShardId: n.cfg.ShardID, State: true,
		Incarnation: n.cfg.Incarnation,
	}, grpc.MaxCallRecvMsgSize(64<<20))
	if err != nil {
		return 0, nil, errs.FromGRPC(err)
	}
	var state []byte
	for complete := false; !complete; {
		m, err := stream.Recv()
		if err != nil {
			return 0, nil, errs.FromGRPC(err)
		}
		dog.Reset(fetchSilence)
		for _, seg := range m.Segments {
			if seg.Damaged {
				return 0, nil, fmt.Errorf("segment %d is damaged there: its state cannot be taken over", seg.Id)
			}
		}
		if state = append(state, m.State...); len(state) > maxStateBytes {
			return 0, nil, fmt.Errorf("its state has more than %d bytes", maxStateBytes)
		}
		pin, complete = m.PinId, m.Complete
	}
	st, err = manifest.DecodeState("state of the other replica", state)
	if err != nil {
		return 0, nil, err
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
	return pin, st, nil
}

// maxStateBytes bounds the state of a shard without its segments: 100,000 tables of 1,000 columns
// are 4 GB.
const maxStateBytes = 8 << 30

// arriving is a segment's file on its way here.
type arriving struct {
	n   *Installer
	m   *segment.Meta
	f   vfs.File
	at  int64  // how many bytes are here
	crc uint32 // their checksum
	// ours: writing to the disk of this node failed.
	ours bool
}

// take writes the next bytes of the file.
func (a *arriving) take(ctx context.Context, b []byte) error {
	if a.at+int64(len(b)) > a.m.Bytes {
		return fmt.Errorf("segment %d has %d bytes, more came", a.m.ID, a.m.Bytes)
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
	a.n.done.Add(int64(len(b)))
	return nil
}

// fetch reads the rest of the file. It asks again when the connection broke, fetchTries times in a
// row without any progress.
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
			break // the other side says that this was all
		}
	}
	return nil
}

// check returns what is wrong with the whole file, and syncs it if nothing is.
func (a *arriving) check() error {
	switch {
	case a.at != a.m.Bytes:
		return fmt.Errorf("segment %d has %d bytes, %d came", a.m.ID, a.m.Bytes, a.at)
	case a.crc != a.m.FileCRC:
		return fmt.Errorf("segment %d came with checksum %08x, want %08x: it is damaged there, or on the way",
			a.m.ID, a.crc, a.m.FileCRC)
	}
	return a.f.Sync()
}

// fetchSegment fetches one file, unless it is here.
func (n *Installer) fetchSegment(ctx context.Context, client shardpb.ShardServiceClient, pin uint64,
	m *segment.Meta,
) error {
	in := n.folder
	path := in.path(fetchedName(m))
	if size, err := in.fs.Stat(path); err == nil && size == m.Bytes {
		n.done.Add(m.Bytes)
		return nil // it was checked before it got its name
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	temp := segment.TempName(path)
	f, at, crc, err := in.resume(path, m.Bytes)
	if err != nil {
		return err
	}
	n.done.Add(at)
	a := &arriving{n: n, m: m, f: f, at: at, crc: crc}
	err = a.fetch(ctx, client, pin)
	whole := err == nil
	if whole {
		err = a.check()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		return in.fs.Rename(temp, path)
	}
	n.done.Add(-a.at)
	if !whole && !a.ours { // the next attempt goes on behind what is here
		return err
	}
	return errors.Join(err, in.fs.Remove(temp))
}

// brokenStream is the error of a stream that ended before its time.
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
		dog.Stop() // what takes time now is our disk, or the rate
		if err := take(m.Data); err != nil {
			return err
		}
		dog.Reset(fetchSilence)
	}
}

// complete gives the fetched segments ids of this replica and writes the state down, from
// when on it can be taken over.
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
	// These were about files that the other replica's files have replaced.
	next.Reserved, next.Garbage = nil, nil
	if err := in.fs.SyncDir(in.dir); err != nil {
		return err
	}
	return in.put(stateFileName, stateMagic, next.Encode())
}
