package metaclient

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/metapb"
)

// indexed answers every request for the index with the same one, after running a function while the
// answer is in flight.
type indexed struct {
	grpc.ClientConnInterface
	index     uint64
	meanwhile func() error
}

func (i indexed) Invoke(_ context.Context, _ string, _, reply any, _ ...grpc.CallOption) error {
	if err := i.meanwhile(); err != nil {
		return err
	}
	reply.(*metapb.ReadIndexResponse).Index = i.index
	return nil
}

// TestLateAnswer checks that a delayed answer with an index below the view's does not count as a
// loss of data.
func TestLateAnswer(t *testing.T) {
	for _, test := range []struct {
		name      string
		at, later uint64 // the view's index at the request and at the answer
		lost      bool
	}{
		{"the view has advanced", 5, 7, false},
		{"the group has lost something", 7, 7, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var asked atomic.Int32
			var c *Client
			at := func(index uint64) {
				s := newState()
				s.index = index
				c.view.replace(s)
			}
			c = New(Config{
				Members: func() []string { return []string{"n1", "n2"} },
				Dial: func(string) (grpc.ClientConnInterface, error) {
					return indexed{index: 5, meanwhile: func() error {
						if asked.Add(1) > 1 {
							cancel(nil)
							return context.Canceled
						}
						at(test.later)
						return nil
					}}, nil
				},
			})
			at(test.at)
			c.check(ctx, cancel)
			if c.view.back != test.lost {
				t.Errorf("%s: the view may go back: %t, want %t", test.name, c.view.back, test.lost)
			}
			time.Sleep(time.Minute) // all goroutines have ended by then
		})
	}
}
