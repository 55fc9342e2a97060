package server

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"cordwood/proto/shardpb"
	"cordwood/proto/turns"
)

// sentMessages records the messages that are sent to a stream.
type sentMessages struct {
	grpc.ServerStreamingServer[shardpb.QueryChunk]
	list []string
}

func (s *sentMessages) SendHeader(h metadata.MD) error {
	if len(h.Get(turns.WaitsHeader)) > 0 {
		s.list = append(s.list, "keepalive: waits")
	} else {
		s.list = append(s.list, "keepalive")
	}
	return nil
}

func (s *sentMessages) Send(c *shardpb.QueryChunk) error {
	if c.GetWaits() {
		s.list = append(s.list, "waits")
	} else {
		s.list = append(s.list, "rows")
	}
	return nil
}

// TestKeepalive checks that a keepalive message precedes an answer that begins late, but not one that
// begins soon, that a query says once that it waits for object storage, before its rows, and that nothing is sent after
// the end.
func TestKeepalive(t *testing.T) {
	late := func() { <-time.After(2 * keepaliveAfter) }
	for _, c := range []struct {
		name string
		do   func(k *keepalive)
		deaf bool // the caller does not understand the message
		want []string
	}{
		{"soon", func(k *keepalive) { _ = k.Send(nil) }, false, []string{"rows"}},
		{"late", func(k *keepalive) { late(); _ = k.Send(nil) }, false, []string{"keepalive", "rows"}},
		{"nothing", func(*keepalive) {}, false, nil},
		{"waits from the start", func(k *keepalive) {
			_ = k.waits()
			late()
			_ = k.waits()
			_ = k.Send(nil)
		}, false, []string{"keepalive: waits", "rows"}},
		{"waits later", func(k *keepalive) {
			late()
			_ = k.waits()
			_ = k.waits()
			_ = k.Send(nil)
		}, false, []string{"keepalive", "waits", "rows"}},
		{"waits later, unheard", func(k *keepalive) {
			late()
			_ = k.waits()
			_ = k.Send(nil)
		}, true, []string{"keepalive", "rows"}},
		{"waits with rows", func(k *keepalive) { _ = k.Send(nil); _ = k.waits() }, false, []string{"rows"}},
		{"waits after the end", func(k *keepalive) { k.end(); _ = k.waits() }, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sentMessages{}
				k := newKeepalive(s, !c.deaf)
				c.do(k)
				k.end()
				<-time.After(4 * keepaliveAfter)
				if !slices.Equal(s.list, c.want) {
					t.Errorf("sent %v, want %v", s.list, c.want)
				}
			})
		})
	}
}
