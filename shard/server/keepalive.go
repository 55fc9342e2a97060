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

	// hears means that the caller understands a message that the query waits.
	hears bool

	mu sync.Mutex // serializes the messages of the stream, and guards the fields below
	// begun means that the keepalive message is no longer needed.
	begun bool
	// told means that the caller need not be told that the query waits: it knows, or has a part of the answer.
	told bool
}

func newKeepalive(stream grpc.ServerStreamingServer[shardpb.QueryChunk], hears bool) *keepalive {
	k := &keepalive{ServerStreamingServer: stream, hears: hears}
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

// waits tells the caller that the query waits for object storage, once: in the keepalive message, or in a message of
// its own if that was sent already.
func (k *keepalive) waits() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.told:
		return nil
	case !k.begun:
		k.begun, k.told = true, true
		k.timer.Stop()
		return k.SendHeader(metadata.Pairs(turns.WaitsHeader, "1"))
	case k.hears:
		k.told = true
		return k.ServerStreamingServer.Send(&shardpb.QueryChunk{Waits: true})
	}
	return nil
}

// Send sends a piece of the answer.
func (k *keepalive) Send(chunk *shardpb.QueryChunk) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.begun {
		k.begun = true
		k.timer.Stop()
	}
	k.told = true
	return k.ServerStreamingServer.Send(chunk)
}

// end ends the answer. Nothing is sent after it.
func (k *keepalive) end() {
	k.timer.Stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begun, k.told = true, true
}
