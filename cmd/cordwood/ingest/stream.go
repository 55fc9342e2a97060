package ingest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// errPause is returned by a stream once, when a batch has waited for its time limit.
var errPause = errors.New("the time limit of the batch is over")

// errStopped is returned by a stream that was stopped, between two records or within an incomplete
// one.
var errStopped = errors.New("the program is stopping")

// lastPart is the time to wait for the last bytes of a read after a stop.
const lastPart = 100 * time.Millisecond

// stream is an input that may pause for long: a pipe. A goroutine reads ahead, so that a read can
// end early. It must not be used by several goroutines.
type stream struct {
	ctx    context.Context
	stop   <-chan struct{}
	after  time.Duration
	parts  <-chan []byte // read data; closed after failure was set
	free   chan<- []byte
	rest   []byte // the unread bytes of the current part
	part   []byte // the current part
	failed error  // the reason why parts was closed

	timer   *time.Timer // nil unless a batch waits
	expired bool        // the timer has expired, but no batch could be ended at that time
}

// newStream reads r until it ends, or, after ctx has ended or stop was closed, until the current
// read is over; then it calls done. Data that was read before stop was closed is still returned.
// after is the time that a batch may wait.
func newStream(ctx context.Context, stop <-chan struct{}, r io.Reader, done func(), after time.Duration) *stream {
	parts, free := make(chan []byte), make(chan []byte, 2)
	s := &stream{ctx: ctx, stop: stop, after: after, parts: parts, free: free}
	for range cap(free) {
		free <- make([]byte, peekBytes)
	}
	go func() {
		defer done()
		defer close(parts)
		for {
			var b []byte
			select {
			case b = <-free:
			case <-stop:
				s.failed = errStopped
				return
			case <-ctx.Done():
				s.failed = ctx.Err()
				return
			}
			n, err := r.Read(b[:cap(b)])
			if n > 0 {
				select {
				case parts <- b[:n]:
				case <-ctx.Done():
					s.failed = ctx.Err()
					return
				}
			} else {
				free <- b
			}
			if err != nil {
				s.failed = err
				return
			}
		}
	}()
	return s
}

// begin records that a batch has its first record. From then on the batch waits.
func (s *stream) begin() {
	if s != nil && s.timer == nil && !s.expired {
		s.timer = time.NewTimer(s.after)
	}
}

// end records that the batch is complete.
func (s *stream) end() {
	if s == nil {
		return
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer, s.expired = nil, false
}

// late reports whether the batch should be sent as soon as possible.
func (s *stream) late() bool { return s != nil && s.expired }

func (s *stream) Read(b []byte) (int, error) {
	var late <-chan time.Time
	if s.timer != nil {
		late = s.timer.C
		// An input that never pauses must not keep a batch for longer.
		select {
		case <-late:
			return 0, s.expire()
		default:
		}
	}
	if len(s.rest) == 0 {
		if s.part != nil {
			s.free <- s.part
			s.part = nil
		}
		select {
		case part, ok := <-s.parts:
			if !ok {
				return 0, s.stopped(s.failed)
			}
			s.part, s.rest = part, part
		case <-late:
			return 0, s.expire()
		case <-s.stop:
			select {
			case part, ok := <-s.parts:
				if !ok {
					return 0, s.stopped(s.failed)
				}
				s.part, s.rest = part, part
			case <-time.After(lastPart): // the current read may never end
				return 0, s.stopped(errStopped)
			}
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		}
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// stopped ends a waiting batch before the stream ends because it was stopped.
func (s *stream) stopped(err error) error {
	if errors.Is(err, errStopped) && s.timer != nil {
		return s.expire()
	}
	return err
}

func (s *stream) expire() error {
	s.timer, s.expired = nil, true
	return errPause
}

// Flows reports whether an input may pause. This is true unless the input is a regular file.
func Flows(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err != nil || !info.Mode().IsRegular()
}

// guessByLine guesses the format from the first line of an input that may pause after it.
func guessByLine(r *bufio.Reader) (InputFormat, error) {
	head, err := peekLine(r)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return formatOf(head), nil
}

// peekLine waits for the first line of an input that is not blank, or as much of it as r can
// buffer; it returns all buffered bytes.
func peekLine(r *bufio.Reader) ([]byte, error) {
	for want := 1; ; {
		head, err := r.Peek(want)
		if len(head) > 0 {
			head, _ = r.Peek(r.Buffered()) // buffered bytes need no wait
		}
		if err != nil || len(head) >= peekBytes || hasLine(head) {
			return head, err
		}
		want = len(head) + 1
	}
}

// hasLine reports whether text has a complete line that is not blank.
func hasLine(text []byte) bool {
	blank := true
	for _, c := range text {
		switch c {
		case ' ', '\t', '\r':
		case '\n':
			if !blank {
				return true
			}
		default:
			blank = false
		}
	}
	return false
}
