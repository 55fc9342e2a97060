package fn

import "errors"

// lookEvery is the number of steps after which a Meter looks whether its request is over.
// A step takes about 7 ns.
const lookEvery = 100_000

// ErrSteps is the error of a Meter whose request has used up its steps.
var ErrSteps = errors.New("the request has used up its budget of steps")

// A Meter bounds the work of a request: of all of its records together, and of
// each. Programs that run for a record take their steps and bytes from it, and so may
// any other code that works on the record.
//
// Steps are counted; only every 100,000 of them the meter asks whether the request is
// over. From then on every Spend returns false, and Err says why.
//
// A Meter belongs to one goroutine. Start readies it for a request, Begin for a record.
type Meter struct {
	// Rounded counts the integers of JSON texts that were rounded to floats in the record under way.
	Rounded int
	// Vanished counts the numbers other than 0 that became the float 0 in the record under way.
	Vanished int
	// Fractions counts the numbers whose fraction the processor epoch dropped in the record under way.
	Fractions int
	// GrokFractions counts the numbers whose fraction the processor grok dropped in the record under way.
	GrokFractions int
	// GrokDigits counts the numbers with more digits than the float that the processor grok made of
	// them in the record under way.
	GrokDigits int
	// Record is what is left to the record under way, beyond the steps of slice.
	Record Budget

	ended func() error
	slice int   // steps that may be taken before the next look
	left  int64 // steps of the request beyond slice
	bound bool  // left counts
	err   error
}

// Start begins a request. ended reports why the request is over, as context.Context.Err
// does; nil: it never is. steps is the budget of the request, to which Grant adds; 0 is none.
func (m *Meter) Start(ended func() error, steps int64) {
	*m = Meter{ended: ended, left: steps, bound: steps > 0}
}

// Begin begins a record that may spend b. It returns what Err returns.
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

// Err returns why nothing more may be done for the request: what ended returned, or
// ErrSteps. It is nil while the request may continue.
func (m *Meter) Err() error { return m.err }

// Spend takes n steps off the budgets of the record and the request. It returns false if
// one of them does not have so many; Err says which.
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

// Reserve takes n bytes off the budget of the record. It returns false if there are not so many
// left.
func (m *Meter) Reserve(n int) bool {
	if n < 0 || m.Record.Bytes < n {
		m.Record.Bytes = 0
		return false
	}
	m.Record.Bytes -= n
	return true
}

// take pays for need steps that were spent, and returns the number of steps that may be
// taken before the next look. It looks whether the request is over.
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
		return lookEvery, true
	}
	m.left -= int64(need)
	slice = int(min(m.left, lookEvery))
	m.left -= int64(slice)
	return slice, true
}
