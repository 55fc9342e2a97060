package guard

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

var noRoom = &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}

// fullFor returns a write that finds the disk full for the given time.
func fullFor(d time.Duration) func() error {
	since := time.Now()
	return func() error {
		if time.Since(since) < d {
			return noRoom
		}
		return nil
	}
}

// TestFullDiskUntilDeadline frees disk space at the moment when the deadline of the write is
// extended again. The write must succeed, and nothing may fail when the extended deadline has
// passed too.
func TestFullDiskUntilDeadline(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			g := New(Config{Deadline: 4 * retryFull, Fail: func(err error) { t.Errorf("the log failed: %v", err) }})
			if err := g.Write("append", func() error {
				return g.WhileFull("append", WriteFull, fullFor(4*retryFull))
			}); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute) // of virtual time
		})
	}
}

// TestDeadlineBetweenWaitAndEnd lets the timer fire after the wait for disk space has ended and
// before the write is done, at each place where that can happen.
func TestDeadlineBetweenWaitAndEnd(t *testing.T) {
	const deadline = 4*retryFull + 1
	for _, test := range []struct {
		name    string
		after   time.Duration // how long the disk takes after it has space again
		overdue bool
	}{
		{"at once", 1, false},
		{"shortly before the deadline that was put off", deadline, false},
		{"never", 3 * deadline, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var failed error
				g := New(Config{Deadline: deadline, Fail: func(err error) { failed = err }})
				since := time.Now()
				err := g.Write("append", func() error {
					if err := g.WhileFull("append", WriteFull, fullFor(4*retryFull)); err != nil {
						return err
					}
					if waited := time.Since(since); waited != deadline-1 || g.waiting.load().underWay() != 0 {
						t.Errorf("waited %s, and %d still wait", waited, g.waiting.load().underWay())
					}
					time.Sleep(test.after)
					return nil
				})
				time.Sleep(time.Minute)
				synctest.Wait()
				if (err != nil) != test.overdue || !errors.Is(failed, err) {
					t.Errorf("the write returned %v, and the log failed with %v", err, failed)
				}
				if test.overdue && !strings.Contains(err.Error(), "did not answer") {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestDeadlineAndEnd lets the write and its deadline end in either order. The state of the log must
// match what the write returns.
func TestDeadlineAndEnd(t *testing.T) {
	for range 500 {
		synctest.Test(t, func(t *testing.T) {
			var failed error
			g := New(Config{Deadline: time.Second, Fail: func(err error) { failed = err }})
			err := g.Write("append", func() error {
				time.Sleep(time.Second)
				return nil
			})
			before := g.broken.Load()
			time.Sleep(time.Minute)
			synctest.Wait()
			if (err == nil) != (failed == nil) || g.broken.Load() != before {
				t.Fatalf("the write returned %v, and the log failed with %v afterwards", err, failed)
			}
		})
	}
	g := New(Config{Deadline: time.Second, Fail: func(err error) { t.Errorf("the log failed: %v", err) }})
	w := watch{guard: g, what: "append"}
	w.ended.Store(true)
	w.fire() // which was running when the write ended
}

// TestFullDisk fills the disk for a while. Nothing fails, nothing is latched, and the log
// continues when there is space.
func TestFullDisk(t *testing.T) {
	notified := make(chan error, 100)
	g := New(Config{
		Deadline: 20 * time.Millisecond, Full: func(err error) { notified <- err },
		Fail: func(err error) { t.Errorf("the log failed: %v", err) },
	})
	full := &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	tries := 0
	err := g.Write("append", func() error {
		return g.WhileFull("append", WriteFull, func() error {
			if tries++; tries < 3 {
				return full
			}
			return nil
		})
	})
	if err != nil || tries != 3 || len(notified) != 2 {
		t.Errorf("got %v after %d tries, notified %d times", err, tries, len(notified))
	}
	// The same error from fsync is latched, because the state of the disk is unknown after it.
	if sync := (&fs.PathError{Op: "sync", Path: "x", Err: syscall.ENOSPC}); WriteFull(sync) {
		t.Error("an fsync counts as a write")
	}
	done := make(chan error)
	go func() {
		done <- g.Write("append", func() error { return g.WhileFull("append", WriteFull, func() error { return full }) })
	}()
	for range 3 {
		if err := <-notified; !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("notified of %v", err)
		}
	}
	g.Close()
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("a wait that was ended gives %v", err)
	}
}
