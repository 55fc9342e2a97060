package server

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"cordwood/proto/shardpb"
)

// sentMessages records the messages that are sent to a stream.
type sentMessages struct {
	grpc.ServerStreamingServer[shardpb.QueryChunk]
	list []string
}

func (s *sentMessages) SendHeader(metadata.MD) error {
	s.list = append(s.list, "keepalive")
	return nil
}

func (s *sentMessages) Send(*shardpb.QueryChunk) error {
	s.list = append(s.list, "rows")
	return nil
}

// TestKeepalive checks that a keepalive message precedes an answer that begins late, but not one that
// begins soon, and that nothing is sent after the end.
func TestKeepalive(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(k *keepalive)
		want []string
	}{
		{"soon", func(k *keepalive) { _ = k.Send(nil) }, []string{"rows"}},
		{"late", func(k *keepalive) { <-time.After(2 * keepaliveAfter); _ = k.Send(nil) }, []string{"keepalive", "rows"}},
		{"nothing", func(*keepalive) {}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sentMessages{}
				k := newKeepalive(s)
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
