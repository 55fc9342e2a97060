package shard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/segment"
)

// pinned is an open pin as a client sees it.
type pinned struct {
	id, index uint64
	segments  []segment.Meta
	close     func()
}

func pinOver(t *testing.T, c shardpb.ShardServiceClient, shard uint32) *pinned {
	t.Helper()
	ctx, cancel := context.WithCancel(wait(t))
	stream, err := c.Pin(ctx, &shardpb.PinRequest{ShardId: shard})
	if err != nil {
		t.Fatal(err)
	}
	p := &pinned{close: func() {
		cancel()
		for {
			if _, err := stream.Recv(); err != nil {
				return
			}
		}
	}}
	for {
		resp, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		p.id, p.index = resp.PinId, resp.Index
		for _, s := range resp.Segments {
			p.segments = append(p.segments, segment.FromProto(s))
		}
		if resp.Complete {
			return p
		}
	}
}

func readSegment(t *testing.T, c shardpb.ShardServiceClient, req *shardpb.ReadSegmentRequest) ([]byte, error) {
	t.Helper()
	stream, err := c.ReadSegment(wait(t), req)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, errs.FromGRPC(err)
		}
		out = append(out, resp.Data...)
	}
}

func TestPin(t *testing.T) {
	t.Parallel()
	o := openShard(t, testConfig(t))
	c := serve(t, &fakeEngine{}, o.Shard)
	o.mustPut(batch(head(1, 5, 1), "a", "b"))
	o.flush()
	index := o.mustPut(batch(head(2, 5, 2), "c"))
	p := pinOver(t, c, testShard)
	defer p.close()
	if len(p.segments) != 2 || p.index < index {
		t.Fatalf("pinned %d segments at index %d, want 2 at %d or later: what was acknowledged must be flushed",
			len(p.segments), p.index, index)
	}

	// Later rows are not in the pin, and removed files stay for the pin.
	o.mustPut(batch(head(1, 5, 3), "later"))
	if err := o.DropTable(wait(t), 2); err != nil {
		t.Fatal(err)
	}
	o.flush()
	rows := int64(0)
	for i := range p.segments {
		m := &p.segments[i]
		rows += m.Rows
		whole, err := readSegment(t, c, &shardpb.ReadSegmentRequest{ShardId: testShard, PinId: p.id, SegmentId: m.ID})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/"+segment.FileName(m.ID), whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := segment.Check(o.Shard.cfg.FS, dir, m, true); err != nil {
			t.Error(err)
		}
		half := m.Bytes / 2
		tail, err := readSegment(t, c, &shardpb.ReadSegmentRequest{
			ShardId: testShard, PinId: p.id, SegmentId: m.ID, Offset: half,
		})
		if err != nil || !bytes.Equal(tail, whole[half:]) {
			t.Errorf("from offset %d: %d bytes, %v; want the %d that are left", half, len(tail), err, m.Bytes-half)
		}
	}
	if rows != 3 {
		t.Errorf("the pinned segments have %d rows, want 3", rows)
	}

	dropped := 0
	for i := range p.segments {
		if p.segments[i].TableID == 2 {
			dropped = i
		}
	}
	name := o.segmentDir + "/" + segment.FileName(p.segments[dropped].ID)
	if _, err := os.Stat(name); err != nil {
		t.Errorf("the file of a pinned segment is gone: %v", err)
	}
	p.close()
	until(t, "the file of the dropped table to be removed", func() bool {
		_, err := os.Stat(name)
		return errors.Is(err, os.ErrNotExist)
	})
	_, err := readSegment(t, c, &shardpb.ReadSegmentRequest{ShardId: testShard, PinId: p.id, SegmentId: p.segments[0].ID})
	if errs.CodeOf(err) != errs.InvalidArguments {
		t.Errorf("read after the pin was closed: %v, want %d", err, errs.InvalidArguments)
	}
}

func TestReadSegmentFaults(t *testing.T) {
	t.Parallel()
	o := openShard(t, testConfig(t))
	c := serve(t, &fakeEngine{}, o.Shard)
	o.mustPut(batch(head(1, 5, 1), "a"))
	p := pinOver(t, c, testShard)
	defer p.close()
	for name, req := range map[string]*shardpb.ReadSegmentRequest{
		"other shard":     {ShardId: testShard + 1, PinId: p.id, SegmentId: p.segments[0].ID},
		"other pin":       {ShardId: testShard, PinId: p.id + 1, SegmentId: p.segments[0].ID},
		"other segment":   {ShardId: testShard, PinId: p.id, SegmentId: p.segments[0].ID + 1},
		"behind the end":  {ShardId: testShard, PinId: p.id, SegmentId: p.segments[0].ID, Offset: p.segments[0].Bytes + 1},
		"negative offset": {ShardId: testShard, PinId: p.id, SegmentId: p.segments[0].ID, Offset: -1},
	} {
		if b, err := readSegment(t, c, req); errs.CodeOf(err) != errs.InvalidArguments {
			t.Errorf("%s: %d bytes, error %v; want %d", name, len(b), err, errs.InvalidArguments)
		}
	}
	stream, err := c.Pin(wait(t), &shardpb.PinRequest{ShardId: testShard + 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); errs.CodeOf(errs.FromGRPC(err)) != errs.ShardUnreachable {
		t.Errorf("pin of a shard of another node: %v, want %d", err, errs.ShardUnreachable)
	}
}

// until waits until ok returns true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for ctx := wait(t); !ok(); {
		if ctx.Err() != nil {
			t.Fatalf("timed out waiting for %s", what)
		}
		<-time.After(time.Millisecond)
	}
}
