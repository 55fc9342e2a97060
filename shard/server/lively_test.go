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

// said notes what a stream is told to send.
type said struct {
	grpc.ServerStreamingServer[shardpb.QueryChunk]
	list []string
}

func (s *said) SendHeader(metadata.MD) error {
	s.list = append(s.list, "sign")
	return nil
}

func (s *said) Send(*shardpb.QueryChunk) error {
	s.list = append(s.list, "rows")
	return nil
}

// TestSignOfLife: an answer that begins late has a sign of life before it, one that begins soon does not, and nothing
// is sent after the end.
func TestSignOfLife(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(l *lively)
		want []string
	}{
		{"soon", func(l *lively) { _ = l.Send(nil) }, []string{"rows"}},
		{"late", func(l *lively) { <-time.After(2 * signAfter); _ = l.Send(nil) }, []string{"sign", "rows"}},
		{"nothing", func(*lively) {}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &said{}
				l := newLively(s)
				c.do(l)
				l.end()
				<-time.After(4 * signAfter)
				if !slices.Equal(s.list, c.want) {
					t.Errorf("sent %v, want %v", s.list, c.want)
				}
			})
		})
	}
}
