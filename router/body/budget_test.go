package body

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
)

// client is a body that sends data and then stalls, or sends further pieces of each bytes at intervals of every.
type client struct {
	data    []byte // sent at once
	every   time.Duration
	each    int           // the number of bytes sent at each later interval; 0 if there is none
	stopped chan struct{} // receives a value from Stop; later reads receive it again
}

func (c *client) Read(p []byte) (int, error) {
	if len(c.data) > 0 {
		n := copy(p, c.data)
		c.data = c.data[n:]
		return n, nil
	}
	var more <-chan time.Time
	if c.each > 0 {
		more = time.After(c.every)
	}
	select {
	case <-c.stopped:
		c.Stop()
		return 0, os.ErrDeadlineExceeded
	case <-more:
		return min(c.each, len(p)), nil
	}
}

func (c *client) Close() error { return nil }

// Stop makes reads fail. It may be called again.
func (c *client) Stop() {
	select {
	case c.stopped <- struct{}{}:
	default:
	}
}

// crowd records the outcomes of bodies that stalled.
type crowd struct {
	wg   sync.WaitGroup
	ends chan error
}

// stall starts to read a body that announces total bytes and arrives from cl, and waits until the reading has
// started.
func (c *crowd) stall(r *Reader, total int64, cl *client) {
	cl.stopped = make(chan struct{}, 1)
	c.begin(r, total, cl)
}

// begin starts to read a body that announces total bytes, and waits until the reading has started.
func (c *crowd) begin(r *Reader, total int64, body io.ReadCloser) {
	req := httptest.NewRequest(http.MethodPost, "/v1/ingest", nil)
	req.Body, req.ContentLength = body, total
	c.wg.Go(func() {
		_, release, err := r.Read(req)
		if err == nil {
			release()
		}
		c.ends <- err
	})
	synctest.Wait()
}

const mib = 1 << 20

// Clients that announce much and send nothing lose their reserved memory as soon as another body needs it.
func TestReservedMemoryIsLent(t *testing.T) {
	for name, cl := range map[string]client{
		"nothing":  {},
		"a little": {data: make([]byte, 1000)},
		"a drop":   {data: make([]byte, 1000), every: 100 * time.Millisecond, each: 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newReader(t, Config{MaxBytes: 8 * mib, MaxInFlight: 16 * mib})
			var c crowd
			c.ends = make(chan error, 100)
			clients := make([]client, 10)
			for i := range clients {
				clients[i] = client{data: cl.data, every: cl.every, each: cl.each}
				c.stall(r, 8*mib, &clients[i])
			}
			start := time.Now()
			data, release, err := r.Read(request("", make([]byte, 3*mib), false))
			if err != nil || len(data) != 3*mib {
				t.Fatalf("%s: %v", name, err)
			}
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("%s: it had to wait for %s", name, took)
			}
			if used := r.InFlight(); used > 16*mib {
				t.Errorf("%s: %d bytes in flight", name, used)
			}
			release()
			for i := range clients {
				clients[i].Stop()
			}
			c.wg.Wait()
			if r.InFlight() != 0 {
				t.Errorf("%s: %d bytes in flight in the end", name, r.InFlight())
			}
		})
	}
}

// Clients that filled the memory and then stall or send too slowly are refused when another body waits, and only
// then.
func TestSlowBodiesAreRefused(t *testing.T) {
	for name, cl := range map[string]client{
		"stalled": {},
		"a drip":  {every: time.Second, each: 8 << 10},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newReader(t, Config{MaxBytes: 8 * mib, MaxInFlight: 16 * mib})
			c := crowd{ends: make(chan error, 3)}
			var clients [3]client
			for i := range clients {
				clients[i] = client{data: make([]byte, 4*mib+3*mib/4), every: cl.every, each: cl.each}
				c.stall(r, 8*mib, &clients[i])
			}
			time.Sleep(5 * time.Second)
			if len(c.ends) != 0 {
				t.Fatalf("%s: refused while nothing waited: %v", name, <-c.ends)
			}
			start := time.Now()
			_, release, err := r.Read(request("", make([]byte, 3*mib), false))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("%s: it had to wait for %s", name, took)
			}
			if e := errs.From(<-c.ends); e.Status() != 429 || e.RetryAfter == 0 ||
				!bytes.Contains([]byte(e.Msg), []byte("too slowly")) {
				t.Errorf("%s: refused with %v", name, e)
			}
			if len(c.ends) != 0 {
				t.Errorf("%s: more bodies were refused than needed", name)
			}
			release()
			for i := range clients {
				clients[i].Stop()
			}
			c.wg.Wait()
		})
	}
}

// Under policy Fail no body waits, but a refused slow body frees memory for later ones.
func TestSlowBodiesAreRefusedUnderFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t, Config{MaxInFlight: 8 * mib, Policy: Fail})
		c := crowd{ends: make(chan error, 1)}
		c.stall(r, 8*mib, &client{data: make([]byte, 7*mib)})
		var err error
		tries := 0
		for ; tries < 5; tries++ {
			var release func()
			if _, release, err = r.Read(request("", make([]byte, 4*mib), false)); err == nil {
				release()
				break
			}
			time.Sleep(time.Second)
		}
		if err != nil || tries == 0 {
			t.Errorf("after %d tries: %v", tries, err)
		}
		c.wg.Wait()
	})
}

// A body that arrives steadily is not refused, however many bodies wait.
func TestSteadyBodiesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t, Config{MaxInFlight: 8 * mib})
		c := crowd{ends: make(chan error, 1)}
		cl := &client{data: make([]byte, 4*mib), every: 100 * time.Millisecond, each: 64 << 10}
		cl.stopped = make(chan struct{}, 1)
		c.begin(r, 7*mib, &limited{client: cl, left: 7 * mib})
		if _, release, err := r.Read(request("", make([]byte, mib), false)); err != nil {
			t.Errorf("the other: %v", err)
		} else {
			release()
		}
		if err := <-c.ends; err != nil {
			t.Errorf("the steady one: %v", err)
		}
	})
}

// limited is a client whose body ends.
type limited struct {
	*client
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left == 0 {
		return 0, io.EOF
	}
	n, err := l.client.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// Bodies that each have half of the memory that they need do not wait for each other when none is left. The
// youngest is refused, and the others complete without a wait.
func TestHalfReadBodiesDoNotBlockEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t, Config{MaxInFlight: 8 * mib})
		start := time.Now()
		var good, refused atomic.Int64
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				// The length is unknown, so nothing is reserved in advance.
				body := &limited{
					client: &client{every: time.Millisecond, each: 64 << 10, stopped: make(chan struct{}, 1)},
					left:   3 * mib,
				}
				req := httptest.NewRequest(http.MethodPost, "/v1/ingest", nil)
				req.Body, req.ContentLength = body, -1
				switch _, release, err := r.Read(req); {
				case err == nil:
					good.Add(1)
					release()
				case errs.CodeOf(err) == errs.RateLimited && errs.From(err).RetryAfter > 0:
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("they waited for each other: %s", took)
		}
		if good.Load() < 2 || good.Load()+refused.Load() != 16 {
			t.Errorf("%d succeeded, %d were refused", good.Load(), refused.Load())
		}
		if r.InFlight() != 0 {
			t.Errorf("%d bytes in flight", r.InFlight())
		}
	})
}

// A request that leaves the queue lets those behind it continue.
func TestLeavingTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t, Config{MaxInFlight: 4 * mib, MaxWait: time.Hour})
		_, release, err := r.Read(request("", make([]byte, 3*mib+mib/2), false))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, _, err := r.Read(request("", make([]byte, mib), false).WithContext(ctx)); !errors.Is(err, context.Canceled) {
				t.Errorf("the first: %v", err)
			}
		})
		synctest.Wait()
		done := make(chan struct{})
		wg.Go(func() {
			defer close(done)
			if _, release, err := r.Read(request("", make([]byte, 1000), false)); err != nil {
				t.Errorf("the second: %v", err)
			} else {
				release()
			}
		})
		synctest.Wait()
		select {
		case <-done:
			t.Error("the second overtook the first")
		default:
		}
		cancel()
		wg.Wait()
		release()
	})
}
