package server

import (
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"cordwood/proto/shardpb"
	"cordwood/proto/turns"
)

// keepaliveAfter is how long a query may run before it sends a keepalive message. A client that
// receives nothing for a second asks the next replica.
const keepaliveAfter = 200 * time.Millisecond

// keepalive sends one keepalive message, the headers, if the answer does not begin soon.
type keepalive struct {
	grpc.ServerStreamingServer[shardpb.QueryChunk]
	timer *time.Timer

	mu sync.Mutex // serializes the messages of the stream, and guards begun
	// begun means that the keepalive message is no longer needed.
	begun bool
}

func newKeepalive(stream grpc.ServerStreamingServer[shardpb.QueryChunk]) *keepalive {
	k := &keepalive{ServerStreamingServer: stream}
	k.timer = time.AfterFunc(keepaliveAfter, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if !k.begun {
			k.begun = true
			_ = stream.SendHeader(metadata.MD{}) // if the client is gone, the context ends
		}
	})
	return k
}

// waits sends the keepalive message at once, and says in it that the query waits for object storage. If the message was
// sent already, the caller does not learn it.
func (k *keepalive) waits() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.begun {
		return nil
	}
	k.begun = true
	k.timer.Stop()
	return k.SendHeader(metadata.Pairs(turns.WaitsHeader, "1"))
}

// Send sends a piece of the answer.
func (k *keepalive) Send(chunk *shardpb.QueryChunk) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.begun {
		k.begun = true
		k.timer.Stop()
	}
	return k.ServerStreamingServer.Send(chunk)
}

// end ends the answer. Nothing is sent after it.
func (k *keepalive) end() {
	k.timer.Stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begun = true
}
