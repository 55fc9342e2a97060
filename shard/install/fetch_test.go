package install

import (
	"context"
	"hash/crc32"
	"io"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/proto/shardpb"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// answer is the answer of a replica to a request for the rest of a file: some bytes, and the end of
// the stream.
type answer struct {
	bytes string
	err   error
}

// replica answers ReadSegment with one answer after another. It repeats the last one.
type replica struct {
	shardpb.ShardServiceClient
	answers []answer
	offsets []int64
}

func (r *replica) ReadSegment(_ context.Context, req *shardpb.ReadSegmentRequest, _ ...grpc.CallOption,
) (grpc.ServerStreamingClient[shardpb.ReadSegmentResponse], error) {
	r.offsets = append(r.offsets, req.Offset)
	a := r.answers[0]
	if len(r.answers) > 1 {
		r.answers = r.answers[1:]
	}
	return &answerStream{answer: a}, nil
}

// answerStream is the stream of one answer.
type answerStream struct {
	grpc.ServerStreamingClient[shardpb.ReadSegmentResponse]
	answer
}

func (s *answerStream) Recv() (*shardpb.ReadSegmentResponse, error) {
	if s.bytes == "" {
		return nil, s.err
	}
	m := &shardpb.ReadSegmentResponse{Data: []byte(s.bytes)}
	s.bytes = ""
	return m, nil
}

// TestFetchSegment checks that the rest of a file is requested after an interruption. If the other
// replica ends the file too early without an error, a repetition would give the same answer for
// ever. So this must be an error, and the received bytes are removed.
func TestFetchSegment(t *testing.T) {
	t.Parallel()
	broken := status.Error(codes.Unavailable, "connection lost")
	const whole = "twelve bytes"
	for _, test := range []struct {
		name    string
		answers []answer
		offsets int
		err     string // part of the error
		left    bool   // whether the received bytes stay for the next attempt
	}{
		{"in one piece", []answer{{whole, io.EOF}}, 1, "", false},
		{"in two streams", []answer{{"twelve", broken}, {" bytes", io.EOF}}, 2, "", false},
		{"a stream ends early", []answer{{"twelve", io.EOF}, {" bytes", io.EOF}}, 2, "", false},
		{"the file is shorter there", []answer{{"twelve", io.EOF}, {"", io.EOF}}, 2, "but 6 were received", false},
		{"an empty file there", []answer{{"", io.EOF}}, 1, "has 12 bytes, but 0 were received", false},
		{"the connection stays broken", []answer{{"twelve", broken}, {"", broken}}, fetchTries, "connection lost", true},
		{"a longer file there", []answer{{whole + "!", io.EOF}}, 1, "has 12 bytes, but more were received", true},
		{"other bytes", []answer{{"twelve BYTES", io.EOF}}, 1, "was received with the checksum", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMem()
			n := New(Config{Dir: "shard", FS: fs, Rate: NewRate(1 << 40), Logger: slog.New(slog.DiscardHandler)})
			if err := fs.MkdirAll(n.folder.dir); err != nil {
				t.Fatal(err)
			}
			m := &segment.Meta{ID: 7, Bytes: int64(len(whole)), FileCRC: crc32.Checksum([]byte(whole), castagnoli)}
			other := &replica{answers: test.answers}
			err := n.fetchSegment(context.Background(), other, 1, m)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if len(other.offsets) != test.offsets {
				t.Errorf("asked from %d, want %d times", other.offsets, test.offsets)
			}
			path := n.folder.path(fetchedName(m))
			if got, err := vfs.ReadFile(fs, path); test.err == "" && string(got) != whole {
				t.Errorf("the file has %q, error %v", got, err)
			} else if test.err != "" && err == nil {
				t.Errorf("there is a file with %q", got)
			}
			if _, err := fs.Stat(segment.TempName(path)); (err == nil) != test.left {
				t.Errorf("the received bytes stay: %v, want %v", err == nil, test.left)
			}
		})
	}
}
