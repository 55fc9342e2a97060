package vfs

import (
	"sync"
	"time"
)

// timerSteps is the number of steps of a Timer.
const timerSteps = 10

// Timer calls a function after a time in which the process runs. A suspended process, for example one in a paused
// virtual machine, has only one of the ten steps of the time pass, however long that lasts. So a disk that answers when
// the process continues has not exceeded a deadline. Its methods may be called concurrently.
type Timer struct {
	f func()

	mu    sync.Mutex // guards the fields below; not held during f
	timer *time.Timer
	limit time.Duration
	left  int // how many steps remain; 0 if the timer does not run
}

// AfterFunc calls f in its own goroutine after d, unless the timer is stopped before. f may reset the timer.
func AfterFunc(d time.Duration, f func()) *Timer {
	t := &Timer{f: f}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit, t.left = d, timerSteps
	t.timer = time.AfterFunc(t.step(), t.tick)
	return t
}

// Reset starts the timer again.
func (t *Timer) Reset(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit, t.left = d, timerSteps
	t.timer.Reset(t.step())
}

// step returns the length of the next step; mu must be held.
func (t *Timer) step() time.Duration {
	step := t.limit / timerSteps
	if t.left == 1 {
		return t.limit - (timerSteps-1)*step // with the rest of the division
	}
	return step
}

// Stop stops the timer. It does not wait for a call of the function.
func (t *Timer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = 0
	t.timer.Stop()
}

// tick ends a step.
func (t *Timer) tick() {
	if t.last() {
		t.f()
	}
}

// last begins the next step, or reports that the last one has ended.
func (t *Timer) last() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left == 0 {
		return false
	}
	if t.left--; t.left > 0 {
		t.timer.Reset(t.step())
		return false
	}
	return true
}
