package transport

import (
	"net"
	"sync"
	"time"
)

// keptBuffer is the maximum size of a buffer that a writer keeps, in bytes.
const keptBuffer = 1 << 20

// writer writes frames to a connection from a separate goroutine. Frames that are queued during a
// write are written together afterwards. The queue is bounded by the windows of the callers, or by
// the requests that they answer.
type writer struct {
	conn     net.Conn
	pause    time.Duration
	deadline time.Duration
	failed   func(error)

	mu     sync.Mutex // guards the fields below
	buf    []byte
	urgent bool // buf contains a frame that must be sent without delay
	ended  bool

	wake    chan struct{} // receives when there is a frame to write
	hurry   chan struct{} // receives when there is an urgent frame
	stopped chan struct{}
}

// newWriter starts a writer. Frames that are not urgent wait up to pause for others, so that they
// are written together. A write that takes longer than deadline fails. failed is called with the
// first error, and must close the connection.
func newWriter(conn net.Conn, pause, deadline time.Duration, failed func(error)) *writer {
	w := &writer{
		conn: conn, pause: pause, deadline: deadline, failed: failed,
		wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	go w.run()
	return w
}

// write queues a frame. patient means that the frame may wait for others.
func (w *writer) write(f *frame, patient bool) {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return // the frame would never be written
	}
	w.buf = f.append(w.buf)
	w.urgent = w.urgent || !patient
	w.mu.Unlock()
	signal(w.wake)
	if !patient {
		signal(w.hurry)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is signalled already
	}
}

func (w *writer) run() {
	defer close(w.stopped)
	var spare []byte
	for range w.wake {
		if w.waits() {
			t := time.NewTimer(w.pause)
			select {
			case <-t.C:
			case <-w.hurry:
				t.Stop()
			}
		}
		w.mu.Lock()
		b, ended := w.buf, w.ended
		w.buf, w.urgent = spare[:0], false
		w.mu.Unlock()
		spare = nil // it is w.buf now
		if ended {
			return
		}
		if len(b) == 0 {
			spare = b
			continue
		}
		err := w.conn.SetWriteDeadline(time.Now().Add(w.deadline))
		if err == nil {
			_, err = w.conn.Write(b)
		}
		if err != nil {
			w.failed(err)
		}
		if cap(b) <= keptBuffer {
			spare = b
		}
	}
}

// waits reports whether all queued frames may wait for more.
func (w *writer) waits() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pause > 0 && !w.urgent && !w.ended
}

// stop ends the goroutine and waits for it. The connection must be closed first, so that no write
// hangs.
func (w *writer) stop() {
	w.mu.Lock()
	w.ended = true
	w.urgent = true
	w.mu.Unlock()
	signal(w.wake)
	signal(w.hurry)
	<-w.stopped
}
