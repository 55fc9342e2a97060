package server

import (
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"cordwood/proto/shardpb"
)

// signAfter is how long a query may run before a sign of life is sent: the other side asks the next replica if none
// comes within a second. An answer that comes before needs no sign, which would be a message of its own.
const signAfter = 50 * time.Millisecond

// lively sends a sign of life if the answer does not begin soon.
type lively struct {
	grpc.ServerStreamingServer[shardpb.QueryChunk]
	sign *time.Timer

	mu sync.Mutex // guards begun, and holds messages apart
	// begun means that no sign is wanted any more.
	begun bool
}

func newLively(stream grpc.ServerStreamingServer[shardpb.QueryChunk]) *lively {
	l := &lively{ServerStreamingServer: stream}
	l.sign = time.AfterFunc(signAfter, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.begun {
			l.begun = true
			_ = stream.SendHeader(metadata.MD{}) // if the other side is gone, the context ends
		}
	})
	return l
}

// Send sends a piece of the answer.
func (l *lively) Send(chunk *shardpb.QueryChunk) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		l.begun = true
		l.sign.Stop()
	}
	return l.ServerStreamingServer.Send(chunk)
}

// end ends the answer: nothing is sent after it.
func (l *lively) end() {
	l.sign.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
}
