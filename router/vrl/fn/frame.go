package fn

import (
	"fmt"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"cordwood/router/vrl/value"
)

// A Frame is what one run of a program works in. It is reused from run to run and
// belongs to one goroutine at a time.
type Frame struct {
	// Event and Meta are the values that the program works on.
	Event, Meta *value.Value
	// Slots hold the variables.
	Slots []value.Value
	// Args is room for arguments of calls, used as a stack by the compiler's code.
	Args []value.Value
	// Hints remember where fields were found in the last event.
	Hints []int32
	// Host is what the program runs in.
	Host *Host

	// budget is what the run may still spend. The steps in rest are set apart until the meter has
	// checked whether the request is over.
	budget Budget
	rest   int
	meter  *Meter // nil: the run belongs to no request

	stop  Stop
	fail  failure
	calls []*Site
	slab  []byte // what is left of the block that small strings are cut from
}

// Rounded returns the count of integers of JSON texts that were rounded to floats; nil if the run
// belongs to no request.
func (f *Frame) Rounded() *int {
	if f.meter == nil {
		return nil
	}
	return &f.meter.Rounded
}

// Vanished returns the count of numbers other than 0 that became the float 0; nil if the run
// belongs to no request.
func (f *Frame) Vanished() *int {
	if f.meter == nil {
		return nil
	}
	return &f.meter.Vanished
}

// Budget bounds a run.
type Budget struct {
	// Steps bounds time: about one for each operation and element handled.
	Steps int
	// Bytes bounds the memory for strings that the run makes.
	Bytes int
}

// Stop is why an expression returned false.
type Stop uint8

// The reasons. Running is none.
const (
	Running Stop = iota
	Failed
	Aborted
	Returned
	// Exhausted is a failure that no program can handle: the budget is used up.
	Exhausted
)

// failure is an error whose text is made only when it is needed.
type failure struct {
	text   string
	err    error
	format string
	args   []any
	val    value.Value // the kind that was not expected, or what return returned
	want   string
}

// Site is where a call is in the source.
type Site struct {
	Name       string
	Start, End int
}

// Reset readies f for a run that may spend b.
func (f *Frame) Reset(event, meta *value.Value, b Budget) {
	f.Event, f.Meta, f.budget, f.rest = event, meta, b, 0
	f.stop = Running
}

// Meter makes the run, which Reset began, spend what m has for the record under way. Settle
// ends that.
func (f *Frame) Meter(m *Meter) {
	f.meter = m
	f.budget = Budget{Steps: min(m.Record.Steps, m.slice), Bytes: m.Record.Bytes}
	f.rest = m.Record.Steps - f.budget.Steps
	m.slice -= f.budget.Steps
}

// Settle gives back to the meter what the run did not spend.
func (f *Frame) Settle() {
	m := f.meter
	if m == nil {
		return
	}
	m.Record = Budget{Steps: f.budget.Steps + f.rest, Bytes: f.budget.Bytes}
	m.slice += f.budget.Steps
	f.meter = nil
}

// Left returns what the run may still spend.
func (f *Frame) Left() Budget {
	return Budget{Steps: max(f.budget.Steps+f.rest, 0), Bytes: f.budget.Bytes}
}

// Release drops all that the run left in f, so that nothing is kept alive by it. What is
// left of the block for strings is for the next run.
func (f *Frame) Release() {
	f.Event, f.Meta = nil, nil
	clear(f.Slots)
	clear(f.Args[:cap(f.Args)])
	f.fail = failure{}
	f.calls = f.calls[:0]
}

// Fail makes the call fail with a fixed text.
func (f *Frame) Fail(text string) (value.Value, bool) {
	f.start(Failed)
	f.fail.text = text
	return value.Value{}, false
}

// Failf makes the call fail with a text that is formatted if and when it is read. Values
// among the arguments are shown in the language's notation.
func (f *Frame) Failf(format string, args ...any) (value.Value, bool) {
	f.start(Failed)
	f.fail.format, f.fail.args = format, args
	return value.Value{}, false
}

// FailErr makes the call fail with the text of an error, after a prefix such as
// "unable to parse json: ".
func (f *Frame) FailErr(prefix string, err error) (value.Value, bool) {
	f.start(Failed)
	f.fail.text, f.fail.err = prefix, err
	return value.Value{}, false
}

// FailKind makes the call fail because a value is not of the kind wanted, as in
// "expected string, got integer".
func (f *Frame) FailKind(want string, got value.Value) (value.Value, bool) {
	f.start(Failed)
	f.fail.want, f.fail.val = want, got
	return value.Value{}, false
}

// Abort ends the run as aborted.
func (f *Frame) Abort(text string) (value.Value, bool) {
	f.start(Aborted)
	f.fail.text = text
	return value.Value{}, false
}

// Return ends the run with a result.
func (f *Frame) Return(v value.Value) (value.Value, bool) {
	f.start(Returned)
	f.fail.val = v
	return value.Value{}, false
}

func (f *Frame) start(s Stop) {
	if f.stop == Exhausted {
		return
	}
	f.stop = s
	f.fail = failure{}
	f.calls = f.calls[:0]
}

// Stopped reports why the last expression returned false.
func (f *Frame) Stopped() Stop { return f.stop }

// Caught makes the run continue after a failure that the program handles. It returns false
// if nothing can handle it.
func (f *Frame) Caught() bool {
	if f.stop == Exhausted {
		return false
	}
	f.stop = Running
	return true
}

// Result returns what the program returned by return.
func (f *Frame) Result() value.Value { return f.fail.val }

// Through notes that a failure passed through a call, whose name and place the text of
// the failure will name. The compiler's code calls it.
func (f *Frame) Through(s *Site) {
	if f.stop == Failed {
		f.calls = append(f.calls, s)
	}
}

// The text of a failure quotes values that a client sent, whose length it must not have.
const (
	maxText   = 4 << 10
	maxQuoted = 512 // bytes of a string, and values of a container
)

// quotable returns an argument of a message such that quoting it is cheap.
func quotable(arg any) any {
	switch x := arg.(type) {
	case string:
		return cut(x, maxQuoted)
	case value.Value:
		switch {
		case x.IsString() && x.Len() > maxQuoted:
			return value.NewString(cut(x.Str(), maxQuoted))
		case value.Weight(x, maxQuoted) >= maxQuoted:
			return fmt.Sprintf("(%s of %d elements)", x.Kind(), x.Len())
		}
	}
	return arg
}

// cut shortens a text to about n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// TextValue returns the text of the failure as a value, for a program that handles it; false
// if the budget does not suffice.
func (f *Frame) TextValue() (value.Value, bool) {
	text := f.Text()
	return value.NewString(text), f.Reserve(len(text))
}

// Text returns the text of the failure as programs see it, with places as ranges of bytes.
// Long values in it are shortened.
func (f *Frame) Text() string {
	return f.TextFor(func(s *Site) string {
		return "(" + strconv.Itoa(s.Start) + ":" + strconv.Itoa(s.End) + ")"
	})
}

// Failing returns the call of the program that failed, the outermost one; nil if there is none.
func (f *Frame) Failing() *Site {
	if len(f.calls) == 0 {
		return nil
	}
	return f.calls[len(f.calls)-1]
}

// TextFor is Text with the places of calls in the words of place.
func (f *Frame) TextFor(place func(*Site) string) string {
	var b []byte
	if f.stop != Aborted {
		for i := len(f.calls) - 1; i >= 0; i-- {
			s := f.calls[i]
			b = append(b, "function call error for "...)
			b = strconv.AppendQuote(b, s.Name)
			b = append(b, " at "...)
			b = append(b, place(s)...)
			b = append(b, ": "...)
		}
	}
	x := &f.fail
	switch {
	case x.want != "":
		b = append(b, "expected "...)
		b = append(b, x.want...)
		b = append(b, ", got "...)
		b = append(b, x.val.Kind().String()...)
	case x.format != "":
		args := make([]any, len(x.args))
		for i, arg := range x.args {
			args[i] = quotable(arg)
		}
		b = fmt.Appendf(b, x.format, args...)
	default:
		b = append(b, x.text...)
		if x.err != nil {
			b = append(b, x.err.Error()...)
		}
	}
	if f.stop == Aborted {
		return string(b) // the program's own words
	}
	return cut(string(b), maxText)
}

// Spend takes n steps off the budget. It returns false, and fails the run, if there are not so
// many left.
func (f *Frame) Spend(n int) bool {
	if f.budget.Steps -= n; f.budget.Steps >= 0 {
		return true
	}
	return f.goOn()
}

// goOn takes steps from the rest after those at hand were spent.
func (f *Frame) goOn() bool {
	need := -f.budget.Steps
	if need > f.rest {
		return f.exhaust("the program needs too much time for this event: its budget of steps is used up")
	}
	// There is a rest only for runs with a meter.
	slice, ok := f.meter.take(need)
	if !ok {
		return f.exhaust("the program was stopped: " + f.meter.Err().Error())
	}
	f.rest -= need
	f.budget.Steps = min(slice, f.rest)
	f.meter.slice += slice - f.budget.Steps
	f.rest -= f.budget.Steps
	return true
}

// Reserve takes n bytes off the budget for memory. A function calls it before it makes
// something whose size its arguments determine. It returns false, and fails the run, if there are
// not so many left.
func (f *Frame) Reserve(n int) bool {
	if n >= 0 && f.budget.Bytes >= n {
		f.budget.Bytes -= n
		return true
	}
	return f.exhaust("the program needs too much memory for this event: its budget of bytes is used up")
}

// Exhaust fails the run such that no program can handle it, as Spend does.
func (f *Frame) Exhaust(text string) { f.exhaust(text) }

func (f *Frame) exhaust(text string) bool {
	f.start(Failed)
	f.stop = Exhausted
	f.fail.text = text
	return false
}

const slabSize = 4 << 10

// Bytes returns n new bytes for a string that the run makes; see Str. Small ones are cut
// from a block, so that many strings cost few allocations.
func (f *Frame) Bytes(n int) []byte {
	if n > slabSize/8 {
		return make([]byte, n)
	}
	if n > len(f.slab) {
		f.slab = make([]byte, slabSize)
	}
	b := f.slab[:n:n]
	f.slab = f.slab[n:]
	return b
}

// Concat returns the string a followed by b; false if the budget does not suffice.
func (f *Frame) Concat(a, b string) (value.Value, bool) {
	n := len(a) + len(b)
	if !f.Reserve(n) {
		return value.Value{}, false
	}
	buf := f.Bytes(n)
	copy(buf[copy(buf, a):], b)
	return value.NewBytes(buf), true
}

// Keep returns a string value with a copy of b, which may then be used again; false if
// the budget does not suffice. It is for functions that build text in a scratch buffer.
func (f *Frame) Keep(b []byte) (value.Value, bool) {
	if !f.Reserve(len(b)) {
		return value.Value{}, false
	}
	buf := f.Bytes(len(b))
	copy(buf, b)
	return value.NewBytes(buf), true
}

// Unsafe returns b as a string without copying it: b must not change any more.
func Unsafe(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Octets returns the bytes of s without copying them: they must not be changed.
func Octets(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
