package fn

import "errors"

// checkEvery is the number of steps after which a Meter checks whether its request has ended. A step takes about 7
// ns.
const checkEvery = 100_000

// ErrSteps means that the request has used up its steps.
var ErrSteps = errors.New("the request has used up its budget of steps")

// A Meter limits the work for a request and for each of its records. Programs that run for a record take their steps
// and bytes from it. Other code that works on the record may do the same.
//
// The meter checks whether the request has ended after every 100,000 steps. When it has, every Spend returns false,
// and Err returns the reason.
//
// A Meter belongs to one goroutine. Start prepares it for a request, and Begin for a record.
type Meter struct {
	// Rounded counts the integers in JSON texts of the current record that were rounded to floats.
	Rounded int
	// Vanished counts the nonzero numbers of the current record that became the float 0.
	Vanished int
	// Fractions counts the numbers of the current record whose fraction the processor epoch dropped.
	Fractions int
	// GrokFractions counts the numbers of the current record whose fraction the processor grok dropped.
	GrokFractions int
	// GrokDigits counts the numbers of the current record that had more digits than the float that the processor grok
	// made of them.
	GrokDigits int
	// Record is the unused budget of the current record, without the steps in slice.
	Record Budget

	ended func() error
	slice int   // steps that may be used before the next check
	left  int64 // steps of the request that are not in slice
	bound bool  // set if the steps of the request are limited; otherwise left is not used
	err   error
}

// Start starts a request. ended returns the reason why the request has ended, as context.Context.Err does; if it is
// nil, the request never ends. steps is the budget of the request; 0 means none. Grant adds to it.
func (m *Meter) Start(ended func() error, steps int64) {
	*m = Meter{ended: ended, left: steps, bound: steps > 0}
}

// Begin starts a record with the budget b. It returns the result of Err.
func (m *Meter) Begin(b Budget) error {
	m.Record, m.Rounded, m.Vanished = b, 0, 0
	m.Fractions, m.GrokFractions, m.GrokDigits = 0, 0, 0
	return m.err
}

// Grant adds steps to the budget of the request.
func (m *Meter) Grant(steps int) {
	if m.bound {
		m.left += int64(steps)
	}
}

// Err returns the reason why work for the request must stop: the result of ended, or ErrSteps. It is nil while the
// request may continue.
func (m *Meter) Err() error { return m.err }

// Spend takes n steps from the budgets of the record and the request. If one of the budgets has too few steps, it
// returns false. Err then says whether it is the request's budget.
func (m *Meter) Spend(n int) bool {
	if m.Record.Steps -= n; m.Record.Steps < 0 {
		return false
	}
	if m.slice -= n; m.slice >= 0 {
		return true
	}
	n = -m.slice
	m.slice = 0
	n, ok := m.take(n)
	m.slice = n
	return ok
}

// Reserve takes n bytes from the budget of the record. It returns false if there are not enough.
func (m *Meter) Reserve(n int) bool {
	if n < 0 || m.Record.Bytes < n {
		m.Record.Bytes = 0
		return false
	}
	m.Record.Bytes -= n
	return true
}

// take charges need steps that were used, and returns how many steps may be used before the next check. It checks
// whether the request has ended.
func (m *Meter) take(need int) (slice int, ok bool) {
	if m.err == nil && m.ended != nil {
		m.err = m.ended()
	}
	if m.err == nil && m.bound && m.left < int64(need) {
		m.err = ErrSteps
	}
	if m.err != nil {
		return 0, false
	}
	if !m.bound {
		return checkEvery, true
	}
	m.left -= int64(need)
	slice = int(min(m.left, checkEvery))
	m.left -= int64(slice)
	return slice, true
}
