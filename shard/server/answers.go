package server

import (
	"google.golang.org/grpc"

	"cordwood/proto/heap"
	"cordwood/proto/shardpb"
	"cordwood/proto/words"
)

// largeAnswer is the minimum size of a large answer, such as an export. Such an answer produces
// garbage quickly and uses most of the heap.
const largeAnswer = 32 << 20

// answer sends one answer, and counts its bytes.
type answer struct {
	stream grpc.ServerStreamingServer[shardpb.QueryChunk]
	bytes  int
	// usual makes the garbage collector run as often as usual again. It is nil if the answer is not large.
	usual func()
	// kept is a copy of what was sent, if part is set: then the answer to this part is kept.
	kept []byte
	part *keptPart
	// failed is the error of the stream that ended the answer.
	failed error
}

// add counts bytes that were sent.
func (a *answer) add(n int) {
	a.bytes += n
	if a.usual == nil && a.bytes >= largeAnswer {
		a.usual = heap.Large()
	}
}

// keep makes a copy of the answer to a part, if it has been asked for before.
func (a *answer) keep(part *keptPart) {
	if part != nil && part.again {
		a.part = part
	}
}

// forget gives up the copy, because the answer is not complete.
func (a *answer) forget() { a.part, a.kept = nil, nil }

// copy adds bytes that were sent to the copy of the answer, as long as it is small enough to be kept.
func (a *answer) copy(ipc []byte) {
	if a.part == nil {
		return
	}
	if len(a.kept)+len(ipc) > maxKeptAnswer {
		a.forget()
		return
	}
	a.kept = append(a.kept, ipc...)
}

// Missing sends what is missing in the answer.
func (a *answer) Missing(what []words.Missing) error {
	chunk := &shardpb.QueryChunk{}
	chunk.Missing, chunk.Partial = shardpb.NewMissing(what)
	return a.stream.Send(chunk)
}

// Rows sends bytes of an Arrow IPC stream.
func (a *answer) Rows(ipc []byte) error {
	for len(ipc) > 0 {
		n := min(len(ipc), chunkBytes)
		if err := a.stream.Send(&shardpb.QueryChunk{ArrowIpc: ipc[:n]}); err != nil {
			a.failed = err
			return err
		}
		a.copy(ipc[:n])
		a.add(n)
		ipc = ipc[n:]
	}
	return nil
}

// end ends the answer.
func (a *answer) end() {
	if a.usual != nil {
		a.usual()
		a.usual = nil
	}
}
