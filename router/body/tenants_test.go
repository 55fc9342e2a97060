package body

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/turns"
)

// known are the databases of the tests.
func known(database string) bool { return len(database) == 1 }

// hold takes memory for rows of a database.
func hold(r *Reader, database string, n int64) (*Body, error) {
	ctx := turns.WithDatabase(context.Background(), database)
	b, err := r.Hold(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := b.Reserve(ctx, n); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

// TestDatabasesShareMemory: a flood of bodies for a, which are stored slowly, takes all memory while a is alone. The
// first body of b waits until one of a is stored, before all bodies of a that wait. Later ones of b do not wait.
func TestDatabasesShareMemory(t *testing.T) {
	for _, policy := range []Policy{Wait, Fail} {
		synctest.Test(t, func(t *testing.T) {
			r := newReader(t, Config{MaxInFlight: 16 * mib, MaxWait: time.Hour, Known: known, Policy: policy})
			ctx, cancel := context.WithCancel(t.Context())
			var flood sync.WaitGroup
			var most atomic.Int64
			for i := range 64 {
				flood.Go(func() {
					for ctx.Err() == nil {
						b, err := hold(r, "a", mib)
						if err != nil && policy == Wait {
							t.Error(err)
							return
						}
						most.Store(max(most.Load(), r.InFlight()))
						time.Sleep(time.Second + time.Duration(i)*time.Millisecond)
						if b != nil {
							b.Release()
						}
					}
				})
			}
			time.Sleep(time.Minute)
			if n := most.Load(); n < 15*mib || n > 16*mib {
				t.Errorf("a alone used %d bytes", n)
			}
			begin := time.Now()
			b, err := hold(r, "b", mib)
			for err != nil && policy == Fail && time.Since(begin) < 10*time.Second {
				time.Sleep(time.Millisecond)
				b, err = hold(r, "b", mib)
			}
			if err != nil || time.Since(begin) > 1100*time.Millisecond {
				t.Errorf("the first body of b: %v after %s", err, time.Since(begin))
			}
			if b != nil {
				b.Release()
			}
			time.Sleep(10 * time.Second)
			for i := range 1000 {
				begin := time.Now()
				b, err := hold(r, "b", 2*mib)
				if err != nil || time.Since(begin) > 0 {
					t.Fatalf("body %d of b: %v after %s", i, err, time.Since(begin))
				}
				time.Sleep(10 * time.Millisecond)
				b.Release()
			}
			cancel()
			flood.Wait()
			if r.InFlight() != 0 {
				t.Errorf("%d bytes are in use in the end", r.InFlight())
			}
		})
	}
}

// TestStuckDatabase: all bodies of a need more than a may have beside b. The youngest ones are refused, and the oldest
// one is completed, although b has bodies all the time.
func TestStuckDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t, Config{MaxInFlight: 16 * mib, MaxWait: time.Hour, Known: known})
		one, err := hold(r, "b", mib)
		if err != nil {
			t.Fatal(err)
		}
		defer one.Release()
		ctx := turns.WithDatabase(t.Context(), "a")
		var all [4]*Body
		for i := range all {
			if all[i], err = hold(r, "a", 3*mib); err != nil {
				t.Fatal(err)
			}
		}
		ends := make(chan error, len(all))
		for i, b := range all {
			go func() {
				err := b.Reserve(ctx, 6*mib)
				b.Release()
				if i == 0 && err != nil {
					t.Errorf("the oldest one: %v", err)
				}
				ends <- err
			}()
			synctest.Wait()
		}
		refused := 0
		for range all {
			if err := <-ends; err != nil {
				refused++
				if errs.From(err).Status() != 429 {
					t.Error(err)
				}
			}
		}
		if refused == 0 || refused == len(all) {
			t.Errorf("%d of %d were refused", refused, len(all))
		}
	})
}

// TestInventedDatabases: a client gets no further part of the memory by names of databases that do not exist, and the
// number of databases that are counted is bounded.
func TestInventedDatabases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t, Config{MaxInFlight: 16 * mib, Known: known, Policy: Fail})
		for i := range 100 {
			b, err := hold(r, fmt.Sprint("invented", i), 1000)
			if err != nil {
				t.Fatal(err)
			}
			b.Release()
		}
		if n := len(r.budget.tenants); n != 1 {
			t.Errorf("%d databases are counted", n)
		}
		many := newReader(t, Config{MaxInFlight: 16 * mib, Known: func(string) bool { return true }})
		for i := range 10 * maxTenants {
			b, err := hold(many, fmt.Sprint("d", i), 1000)
			if err != nil {
				t.Fatal(err)
			}
			b.Release()
		}
		if n := len(many.budget.tenants); n > maxTenants+1 {
			t.Errorf("%d databases are counted", n)
		}
		time.Sleep(2 * activeFor)
		b, err := hold(many, "last", 1000)
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		if n := len(many.budget.tenants); n != 1 {
			t.Errorf("%d databases are left", n)
		}
	})
}

// stopped is a Stopper that calls a function.
type stopped func()

// Stop implements Stopper.
func (f stopped) Stop() { f() }

// TestSlowBodyOfAnother: a slow body of a database within its part is not refused to make room for a flood of another.
func TestSlowBodyOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t, Config{MaxInFlight: 16 * mib, MaxWait: 5 * time.Second, Known: known})
		res := &r.newBody(turns.WithDatabase(t.Context(), "b")).res
		res.stop = stopped(func() { t.Error("the body of b is refused") })
		if err := res.begin(t.Context(), 2*mib); err != nil {
			t.Fatal(err)
		}
		res.filled.Store(2 * mib)
		for range 20 {
			go func() {
				if b, err := hold(r, "a", 2*mib); err == nil {
					time.Sleep(time.Minute)
					b.Release()
				}
			}()
		}
		time.Sleep(time.Hour)
		res.end(2 * mib)
		res.release()
	})
}

// TestRandomTenants: whatever the sizes, the memory is never exceeded, every body ends, and nothing is left.
func TestRandomTenants(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			const size = 16 * mib
			r := newReader(t, Config{MaxInFlight: size, Known: known})
			var all sync.WaitGroup
			var stored [5]atomic.Int64
			for i := range 100 {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				n := rng.IntN(5)
				database := string(rune('a' + n))
				all.Go(func() {
					for range 20 {
						b, err := hold(r, database, rng.Int64N(4*mib>>rng.IntN(10))+1)
						for k := rng.IntN(3); err == nil && k > 0; k-- {
							time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
							if !b.TryReserve(rng.Int64N(6*mib)) && b.Reserve(t.Context(), rng.Int64N(6*mib)) != nil {
								break
							}
						}
						if used := r.InFlight(); used > size {
							t.Errorf("seed %d: %d bytes are in use", seed, used)
						}
						if err == nil {
							stored[n].Add(1)
							b.Release()
						}
						time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
					}
				})
			}
			all.Wait()
			for _, d := range r.budget.tenants {
				if d.held != 0 || d.holders != 0 || len(d.growing)+len(d.entering) != 0 {
					t.Errorf("seed %d: %+v is left", seed, d)
				}
			}
			if b := r.budget; b.used.Load() != 0 || b.growing != 0 || b.holders != 0 || len(b.readers) != 0 {
				t.Errorf("seed %d: %d bytes, %d and %d bodies are left", seed, b.used.Load(), b.growing, b.holders)
			}
			for n := range stored {
				if stored[n].Load() == 0 {
					t.Errorf("seed %d: no body of %c got memory", seed, 'a'+n)
				}
			}
		})
	}
}
