package trail

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/audit"
	"cordwood/shard/vfs"
)

// failure is a failed sign-in of one of n users.
func failure(i, n int) audit.Change {
	c := audit.Change{Err: errs.New(errs.UserPasswordMismatch, "wrong").WithStatus(http.StatusUnauthorized)}
	c.Need.Action = audit.SignIn
	c.By = another(c.By)
	c.By.User, c.By.Address = fmt.Sprintf("user%d", i%n), netip.AddrFrom4([4]byte{192, 0, 2, byte(i % 7)})
	return c
}

// another returns a new value of the type of p.
func another[T any](*T) *T { return new(T) }

// TestFloodOfFailures lets 10,000 sign-ins a second fail for half a minute, with more names than are counted one by
// one, first while the table can be written and then while it cannot. Memory and files stay bounded, and each failure
// is in a row, in the number of a row about repetitions, or in the number of lost records.
func TestFloodOfFailures(t *testing.T) {
	for _, broken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeTable{rows: map[int64]Row{}}
			if broken {
				f.err = errors.New("no leader")
			}
			tr := openTrail(t, vfs.NewMem(), f)
			stop := start(t, tr)
			log := audit.New(slog.New(slog.DiscardHandler), tr)
			const perSecond, seconds, names = 10_000, 30, 40_000
			for i := range perSecond * seconds {
				log.Record(t.Context(), failure(i, names))
				if i%(perSecond/100) == 0 {
					time.Sleep(10 * time.Millisecond)
					tr.mu.Lock()
					n := len(tr.queue)
					tr.mu.Unlock()
					if n > maxQueue {
						t.Fatalf("%d records are in the queue", n)
					}
				}
			}
			if s := tr.State(); s.Waiting > maxSpool {
				t.Errorf("the files have %d bytes", s.Waiting)
			}
			f.fail(nil)
			log.Flush(true)
			time.Sleep(5 * time.Minute) // virtual
			stop()
			kept, counted := 0, 0
			for _, r := range f.rows {
				more := 0
				switch _, err := fmt.Sscanf(r.Message, "%d more", &more); {
				case r.Action == lostAction:
				case err == nil:
					counted += more
				default:
					kept++
				}
			}
			lost := int(tr.State().Lost)
			if uint64(lost) != f.lostRows() {
				t.Errorf("%d records were lost, and rows say %d", lost, f.lostRows())
			}
			if sum := kept + counted + lost; sum != perSecond*seconds {
				t.Errorf("broken %t: %d rows, %d repetitions and %d lost are %d of %d failures", broken, kept, counted, lost, sum,
					perSecond*seconds)
			}
			if kept > 110_000 {
				t.Errorf("%d rows of one minute", kept)
			}
			t.Logf("broken %t: %d rows, %d counted, %d lost", broken, kept, counted, lost)
		})
	}
}

// BenchmarkFailures measures what a failed sign-in costs the request: of one name, of a few, and of more names than
// are counted one by one.
func BenchmarkFailures(b *testing.B) {
	for _, names := range []int{1, 1000, 1_000_000} {
		b.Run(fmt.Sprintf("names=%d", names), func(b *testing.B) {
			tr, err := Open(Config{
				FS: vfs.NewMem(), Dir: "audit", Node: "n1", Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				b.Fatal(err)
			}
			var out strings.Builder
			log := audit.New(slog.New(slog.NewTextHandler(&out, nil)), tr)
			changes := make([]audit.Change, 4096)
			b.ReportAllocs()
			for i := range b.N {
				at := i % len(changes)
				if at == 0 { // the names are made outside of the measurement
					b.StopTimer()
					out.Reset()
					for j := range changes {
						changes[j] = failure(i+j, names)
					}
					b.StartTimer()
				}
				log.Record(b.Context(), changes[at])
			}
		})
	}
}
