package body

import (
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
)

// Memory for rows counts like memory for bodies: Reserve waits for it, and fails if the budget can never be
// enough.
func TestReserveForRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t, Config{MaxInFlight: 8 * mib, MaxWait: 10 * time.Second})
		open := func() *Body {
			b, err := r.Open(request("", make([]byte, 2*mib), false))
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		a, b := open(), open()
		if !a.TryReserve(3*mib) || r.InFlight() != 7*mib {
			t.Fatalf("%d bytes are held", r.InFlight())
		}
		if !a.TryReserve(1*mib) || r.InFlight() != 7*mib {
			t.Fatal("the reserved memory is not enough for fewer bytes")
		}
		if b.TryReserve(2 * mib) {
			t.Fatal("more memory is reserved than exists")
		}
		if err := b.Reserve(t.Context(), 7*mib); errs.From(err).Status() != 413 {
			t.Fatalf("more than the budget: %v", err)
		}
		start := time.Now()
		if err := b.Reserve(t.Context(), 2*mib); errs.CodeOf(err) != errs.RateLimited || time.Since(start) != 10*time.Second {
			t.Fatalf("after %s: %v", time.Since(start), err)
		}
		c := make(chan error)
		b.Release()
		b = open() // 1 MiB is free
		go func() { c <- a.Reserve(t.Context(), 5*mib) }()
		synctest.Wait()
		select {
		case err := <-c:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		b.Release()
		if err := <-c; err != nil {
			t.Fatal(err)
		}
		a.Release()
		a.Release()
		if r.InFlight() != 0 {
			t.Errorf("%d bytes are in flight", r.InFlight())
		}
	})
}

// Data that did not arrive by HTTP counts like a body and waits for memory.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t, Config{MaxBytes: 4 * mib, MaxInFlight: 5 * mib, MaxWait: 10 * time.Second})
		if _, err := r.Hold(t.Context(), make([]byte, 4*mib+1)); errs.From(err).Status() != 413 {
			t.Errorf("too large: %v", err)
		}
		a, err := r.Hold(t.Context(), make([]byte, 3*mib))
		if err != nil || r.InFlight() != 3*mib || len(a.Data) != 3*mib {
			t.Fatalf("%v, %d bytes in flight", err, r.InFlight())
		}
		start := time.Now()
		if _, err := r.Hold(t.Context(), make([]byte, 3*mib)); errs.CodeOf(err) != errs.RateLimited ||
			time.Since(start) != 10*time.Second {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		time.AfterFunc(time.Second, a.Release)
		b, err := r.Hold(t.Context(), make([]byte, 3*mib))
		if err != nil || !b.TryReserve(2*mib) || b.TryReserve(3*mib) {
			t.Fatalf("%v, %d bytes in flight", err, r.InFlight())
		}
		b.Release()
		if r.InFlight() != 0 {
			t.Errorf("%d bytes are in flight", r.InFlight())
		}
	})
}
