package bucket

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// GuardConfig configures a Guard.
type GuardConfig struct {
	// Read is for requests that change nothing. By default there are 4 tries, with a pause of 100 ms that grows to 2 s.
	Read Policy
	// Write is for all other requests. By default they are tried until the context ends, with a pause of a second that
	// grows to 5 minutes.
	Write Policy
	// Concurrency is the maximum number of requests that run at once. The default value is 64.
	Concurrency int
	// NoCircuit makes the Guard ask a service that does not answer again and again.
	NoCircuit bool
}

// Policy says how requests are repeated.
type Policy struct {
	// Tries is the number of times that a request is sent in total; Forever means until the context ends.
	Tries int
	// Pause is the delay before the second try. It doubles each time, up to MaxPause, and is varied at random.
	Pause, MaxPause time.Duration
}

// Forever is the number of tries of requests that are repeated until their context ends.
const Forever = -1

const (
	// damagedTries is the number of times that damaged bytes are read.
	damagedTries = 3
	// forbiddenPause is the delay before a request of Forever that is forbidden is sent again.
	forbiddenPause = time.Minute
	// compareBytes is the length of the ranges in which a stored object is read back.
	compareBytes = 8 << 20
	// probeWait is how long a read that the circuit refuses waits for the probe that is under way.
	probeWait = 500 * time.Millisecond
	// probeTime is how long a probe goes on although its caller has given up.
	probeTime = 10 * time.Second
)

// Guard is a bucket over another one, which may fail. It repeats requests that may succeed if they are repeated,
// compares stored objects with what was sent, limits the requests that run at once, and asks a service that does not
// answer only once a second.
type Guard struct {
	b       Bucket
	cfg     GuardConfig
	limit   *limiter
	circuit *circuit
	latency *latency
}

// NewGuard returns a bucket over b.
func NewGuard(b Bucket, cfg GuardConfig) *Guard {
	if cfg.Read.Tries == 0 {
		cfg.Read = Policy{Tries: 4, Pause: 100 * time.Millisecond, MaxPause: 2 * time.Second}
	}
	if cfg.Write.Tries == 0 {
		cfg.Write = Policy{Tries: Forever, Pause: time.Second, MaxPause: 5 * time.Minute}
	}
	if cfg.Concurrency == 0 {
		cfg.Concurrency = 64
	}
	return &Guard{b: b, cfg: cfg, limit: newLimiter(cfg.Concurrency), circuit: &circuit{}, latency: &latency{}}
}

// WithWrites returns a Guard that repeats requests that change something as p says. It shares all else with g: the
// limits, and what is known about the service.
func (g *Guard) WithWrites(p Policy) *Guard {
	other := *g
	other.cfg.Write = p
	return &other
}

// State returns how the service answers at the moment.
func (g *Guard) State() State {
	s := g.circuit.state()
	s.Concurrency = g.limit.now()
	return s
}

// Location implements Bucket.
func (g *Guard) Location() string { return g.b.Location() }

// again returns the delay before the next try of a request that failed for the try-th time. ok is false if the error
// is final.
func (p *Policy) again(err error, try int, pause time.Duration) (delay time.Duration, ok bool) {
	kind, known := KindOf(err)
	if !known {
		return 0, false
	}
	switch kind {
	case Unavailable, Throttled:
		ok = p.Tries == Forever || try < p.Tries
	case Damaged:
		ok = try < damagedTries
	case Forbidden:
		return forbiddenPause, p.Tries == Forever
	}
	return pause/2 + rand.N(pause), ok
}

// do sends a request until it succeeds or fails for good. f sends it once.
func (g *Guard) do(ctx context.Context, c class, op, key string, f func(ctx context.Context) error) error {
	_, err := repeat(ctx, g, c, op, key, func(ctx context.Context, done func()) (struct{}, error) {
		if done != nil {
			defer done()
		}
		return struct{}{}, g.once(ctx, c, f)
	})
	return err
}

// fetch is do for a read. If the circuit lets it through as a probe, its outcome counts even if the caller gives up
// before: a query gives up as soon as one of its reads was refused. f must not change what the caller uses.
func fetch[T any](ctx context.Context, g *Guard, op, key string, f func(ctx context.Context) (T, error)) (T, error) {
	once := func(ctx context.Context) (got T, err error) {
		err = g.once(ctx, reader, func(ctx context.Context) error {
			got, err = f(ctx)
			return err
		})
		return got, err
	}
	return repeat(ctx, g, reader, op, key, func(ctx context.Context, done func()) (T, error) {
		if done == nil {
			return once(ctx)
		}
		type answer struct {
			got T
			err error
		}
		answers := make(chan answer, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
			defer cancel()
			got, err := once(ctx)
			done()
			answers <- answer{got, err}
		}()
		select {
		case a := <-answers:
			return a.got, a.err
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	})
}

// repeat calls send until it succeeds or fails for good. send calls done, unless it is nil, when the outcome was noted.
func repeat[T any](ctx context.Context, g *Guard, c class, op, key string,
	send func(ctx context.Context, done func()) (T, error),
) (none T, err error) {
	policy := &g.cfg.Read
	if c == writer {
		policy = &g.cfg.Write
	}
	pause := max(policy.Pause, time.Microsecond)
	for try := 1; ; try++ {
		done, err := g.admit(ctx, policy, op, key)
		if err != nil {
			return none, err
		}
		got, err := send(ctx, done)
		if err == nil {
			return got, nil
		}
		if ctx.Err() != nil {
			return none, err
		}
		delay, ok := policy.again(err, try, pause)
		if !ok {
			return none, err
		}
		if !sleep(ctx, delay) {
			return none, err
		}
		pause = min(2*pause, max(policy.MaxPause, policy.Pause))
	}
}

// admit waits, or fails, while the circuit is open. done is not nil for a probe.
func (g *Guard) admit(ctx context.Context, p *Policy, op, key string) (done func(), err error) {
	if g.cfg.NoCircuit {
		return nil, ctx.Err()
	}
	for waited := false; ; {
		done, outcome, err := g.circuit.admit(op, g.at(key))
		switch {
		case err == nil:
			return done, nil
		case p.Tries == Forever:
			if !sleep(ctx, g.circuit.untilProbe()) {
				return nil, err
			}
		case waited || outcome == nil || !waitFor(ctx, outcome, probeWait):
			return nil, err
		default:
			waited = true // the answer to the probe may have closed the circuit
		}
	}
}

// waitFor waits until a channel is closed. It returns false if the context ends, or some time has passed, before.
func waitFor(ctx context.Context, c <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// sleep waits for some time. It returns false if the context ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// once sends a request once, and notes the outcome.
func (g *Guard) once(ctx context.Context, c class, f func(ctx context.Context) error) error {
	epoch, err := g.limit.acquire(ctx, c)
	if err != nil {
		return err
	}
	began := time.Now()
	err = f(ctx)
	g.limit.release(c, epoch, err)
	g.circuit.note(c, g.timedOut(ctx, err, began), began)
	return err
}

// timedOut returns the outcome of a request for the circuit. A request that got no answer within the whole second or
// more that its caller had failed, even if a shorter time would say nothing.
func (g *Guard) timedOut(ctx context.Context, err error, began time.Time) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil && time.Since(began) >= probeEvery {
		return &Error{
			Kind: Unavailable, Op: "use", At: g.b.Location(),
			Err: fmt.Errorf("no answer within %s", time.Since(began).Round(time.Millisecond)),
		}
	}
	return err
}

// Put implements Bucket. It compares the stored object with c. The answer to an earlier try may have been lost, so if
// only a later try finds an object with the key, the result depends on its bytes: if they are not those of c, the error
// is of kind Damaged, and the caller should use another key.
func (g *Guard) Put(ctx context.Context, key string, c Content) error {
	unknown := false // whether an earlier try may have stored the object
	for try := 1; ; try++ {
		err := g.do(ctx, writer, "write", key, func(ctx context.Context) error {
			err := g.b.Put(ctx, key, c)
			if is(err, Exists) && unknown {
				return nil // compare decides
			}
			unknown = true
			return err
		})
		if err != nil {
			return err
		}
		err = g.do(ctx, writer, "compare", key, func(ctx context.Context) error { return g.compare(ctx, key, c) })
		switch {
		case is(err, NotFound):
			err = &Error{Kind: Unavailable, Op: "write", At: g.at(key), Err: errLost}
		case is(err, Damaged) && c.Replace:
			if failed := g.Delete(ctx, key); failed != nil {
				return errors.Join(err, failed)
			}
		default:
			return err
		}
		if try == damagedTries {
			return err
		}
	}
}

// errLost is the cause of errors of objects that a service has stored and does not have.
var errLost = errors.New("it was accepted but does not exist")

// compare returns an error unless the object with the key is c.
func (g *Guard) compare(ctx context.Context, key string, c Content) error {
	info, err := g.b.Head(ctx, key)
	if err != nil {
		return err
	}
	differs := func(text string, args ...any) error {
		return &Error{Kind: Damaged, Op: "write", At: g.at(key), Err: fmt.Errorf(text, args...)}
	}
	if info.Size != c.Size {
		return differs("%d bytes were sent, but %d were stored", c.Size, info.Size)
	}
	if c.Replace || !c.Checked {
		return nil
	}
	if !info.Checked {
		if info.CRC, err = g.checksum(ctx, key, c.Size); err != nil {
			return err
		}
	}
	if info.CRC != c.CRC {
		return differs("the stored object has the checksum %08x, want %08x", info.CRC, c.CRC)
	}
	return nil
}

// checksum reads an object back and returns its checksum.
func (g *Guard) checksum(ctx context.Context, key string, size int64) (uint32, error) {
	crc := uint32(0)
	for at := int64(0); at < size; at += compareBytes {
		b, err := g.b.Range(ctx, key, Range{Offset: at, Length: min(compareBytes, size-at), ObjectSize: size})
		if err != nil {
			return 0, err
		}
		crc = crc32.Update(crc, Castagnoli, b)
	}
	return crc, nil
}

// at returns the location of an object for display.
func (g *Guard) at(key string) string { return strings.TrimSuffix(g.b.Location(), "/") + "/" + key }

// Open implements Bucket. It repeats the request, but not the reads from its answer.
func (g *Guard) Open(ctx context.Context, key string, offset int64) (body io.ReadCloser, err error) {
	err = g.do(ctx, reader, "read", key, func(ctx context.Context) error {
		b, err := g.b.Open(ctx, key, offset)
		body = b
		return err
	})
	if err != nil {
		return nil, err
	}
	return body, nil
}

// Head implements Bucket.
func (g *Guard) Head(ctx context.Context, key string) (Info, error) {
	return fetch(ctx, g, "describe", key, func(ctx context.Context) (Info, error) { return g.b.Head(ctx, key) })
}

// List implements Bucket. It keeps the whole listing in memory, because a repeated request begins anew.
func (g *Guard) List(ctx context.Context, prefix string, f func(Info) error) error {
	list, err := fetch(ctx, g, "list", prefix, func(ctx context.Context) (list []Info, err error) {
		err = g.b.List(ctx, prefix, func(info Info) error {
			list = append(list, info)
			return nil
		})
		return list, err
	})
	if err != nil {
		return err
	}
	for _, info := range list {
		if err := f(info); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements Bucket.
func (g *Guard) Delete(ctx context.Context, key string) error {
	return g.do(ctx, writer, "remove", key, func(ctx context.Context) error { return g.b.Delete(ctx, key) })
}

// Copy implements Bucket. It compares the sizes of both objects.
func (g *Guard) Copy(ctx context.Context, key string, to Bucket, toKey string) error {
	if other, ok := to.(*Guard); ok {
		to = other.b
	}
	return g.do(ctx, writer, "copy", key, func(ctx context.Context) error {
		if err := g.b.Copy(ctx, key, to, toKey); err != nil {
			return err
		}
		from, err := g.b.Head(ctx, key)
		if err != nil {
			return err
		}
		copied, err := to.Head(ctx, toKey)
		if err == nil && copied.Size != from.Size {
			err = &Error{
				Kind: Damaged, Op: "copy", At: g.at(key),
				Err: fmt.Errorf("the copy has %d bytes, want %d", copied.Size, from.Size),
			}
		}
		return err
	})
}
