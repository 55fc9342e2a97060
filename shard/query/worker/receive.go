package worker

import (
	"fmt"
	"io"
	"sync"

	"cordwood/shard/query"
)

// pieces are buffers for parts of answers.
var pieces = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// receive reads the answer to its end.
func (x *exchange) receive() error {
	for {
		kind, length, err := x.header()
		if err != nil {
			return err
		}
		switch kind {
		case frameData:
			if err := x.data(length); err != nil {
				return err
			}
		case frameFetch:
			if err := x.fetch(length); err != nil {
				return err
			}
		case frameEnd:
			return x.end(length)
		case frameAnalysis, frameNeeded, frameParts, frameColumns, frameError:
			text, err := readText(waiting{x}, length)
			if err != nil {
				return err
			}
			d := &decoder{src: text}
			if kind == frameError {
				f, err := decode[failure](d)
				if err != nil {
					return x.broken(err)
				}
				return f.err()
			}
			switch {
			case kind == frameNeeded && x.needs != nil:
				*x.needs, err = decode[[]query.Need](d)
			case kind == frameParts && x.split != nil:
				*x.split, err = decode[query.Split](d)
			case kind == frameColumns && x.described != nil:
				*x.described, err = decode[query.Description](d)
			case kind == frameAnalysis && x.analysis != nil:
				*x.analysis, err = decode[query.Analysis](d)
			default:
				err = fmt.Errorf("unexpected frame of kind %d", kind)
			}
			if err != nil {
				return x.broken(err)
			}
			return nil
		default:
			return x.broken(fmt.Errorf("unexpected frame of kind %d", kind))
		}
	}
}

// end reads the message that ends the answer of a query.
func (x *exchange) end(length int) error {
	text, err := readText(waiting{x}, length)
	if err != nil {
		return err
	}
	e, err := decode[ended](&decoder{src: text})
	if err != nil {
		return x.broken(err)
	}
	x.c.p.report(e)
	return nil
}

// broken handles a malformed answer: the process is killed.
func (x *exchange) broken(err error) error {
	x.c.p.w.log.Error("query worker: killed the process because it sent a malformed answer", "pid",
		x.c.p.pid, "error", err)
	x.c.p.kill()
	return errBroken
}

// header reads the header of a frame.
func (x *exchange) header() (kind frameKind, length int, err error) {
	for {
		kind, length, err = readHeader(x.c.r)
		if err == nil {
			x.answered = true
			return kind, length, nil
		}
		if err = x.interrupted(err); err != nil {
			return 0, 0, err
		}
	}
}

// data passes a piece of the answer to emit.
func (x *exchange) data(length int) error {
	b := pieces.Get().(*[]byte)
	defer pieces.Put(b)
	for length > 0 {
		n := min(length, len(*b))
		if _, err := io.ReadFull(waiting{x}, (*b)[:n]); err != nil {
			return err
		}
		length -= n
		if x.stopped {
			continue
		}
		if x.emitErr = x.emit((*b)[:n]); x.emitErr != nil {
			if err := x.stop(stopCancelled); err != nil {
				return err
			}
		}
	}
	return nil
}

// waiting reads from the connection. It continues to read after the context has ended.
type waiting struct{ x *exchange }

func (w waiting) Read(p []byte) (int, error) {
	for {
		n, err := w.x.c.r.Read(p)
		if n > 0 || err == nil {
			return n, nil
		}
		if err = w.x.interrupted(err); err != nil {
			return 0, err
		}
	}
}
