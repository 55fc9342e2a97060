package fn

import (
	"fmt"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"cordwood/router/vrl/value"
)

// A Frame is the state of one run of a program. It is reused between runs and belongs to one goroutine at a time.
type Frame struct {
	// Event and Meta are the values that the program works on.
	Event, Meta *value.Value
	// Slots hold the variables.
	Slots []value.Value
	// Args is a stack of arguments for calls. The compiler's code uses it.
	Args []value.Value
	// Places remember what each place of the program that uses a field of the event did to the last events.
	Places []value.Cache
	// Host is the environment of the program.
	Host *Host

	// budget is the rest of the run's budget. The steps in rest become available after the meter has checked whether
	// the request has ended.
	budget Budget
	rest   int
	meter  *Meter // nil if the run does not belong to a request

	stop  Stop
	fail  failure
	calls []*Site
	slab  []byte // the unused part of the block from which small strings are allocated
}

// Rounded returns the counter of integers in JSON texts that were rounded to floats; nil if the run does not belong
// to a request.
func (f *Frame) Rounded() *int {
	if f.meter == nil {
		return nil
	}
	return &f.meter.Rounded
}

// Vanished returns the counter of nonzero numbers that became the float 0; nil if the run does not belong to a
// request.
func (f *Frame) Vanished() *int {
	if f.meter == nil {
		return nil
	}
	return &f.meter.Vanished
}

// Budget has the limits of a run.
type Budget struct {
	// Steps limits the time: about one step for each operation and each element.
	Steps int
	// Bytes limits the memory for strings that the run creates.
	Bytes int
}

// Stop is the reason why an expression returned false.
type Stop uint8

// The reasons. Running means that there is none.
const (
	Running Stop = iota
	Failed
	Aborted
	Returned
	// Exhausted means that the budget is used up. No program can handle this failure.
	Exhausted
)

// failure is an error whose text is formatted only when it is needed.
type failure struct {
	text   string
	err    error
	format string
	args   []any
	val    value.Value // the value of the wrong kind, or the value of return
	want   string
}

// Site is the place of a call in the source.
type Site struct {
	Name       string
	Start, End int
}

// Reset prepares f for a run with the budget b.
func (f *Frame) Reset(event, meta *value.Value, b Budget) {
	f.Event, f.Meta, f.budget, f.rest = event, meta, b, 0
	f.stop = Running
}

// Meter makes the run that Reset started use the budget that m has for the current record. Settle ends this.
func (f *Frame) Meter(m *Meter) {
	f.meter = m
	f.budget = Budget{Steps: min(m.Record.Steps, m.slice), Bytes: m.Record.Bytes}
	f.rest = m.Record.Steps - f.budget.Steps
	m.slice -= f.budget.Steps
}

// Settle returns the unused budget to the meter.
func (f *Frame) Settle() {
	m := f.meter
	if m == nil {
		return
	}
	m.Record = Budget{Steps: f.budget.Steps + f.rest, Bytes: f.budget.Bytes}
	m.slice += f.budget.Steps
	f.meter = nil
}

// Left returns the unused budget.
func (f *Frame) Left() Budget {
	return Budget{Steps: max(f.budget.Steps+f.rest, 0), Bytes: f.budget.Bytes}
}

// Clear prepares f for the next run: no variable has a value.
func (f *Frame) Clear() {
	clear(f.Slots)
	f.Args = f.Args[:0]
}

// Release drops everything that the run has left in f, so that it can be freed. The rest of the block for strings
// stays for the next run.
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

// Failf makes the call fail with a text that is formatted only when it is read. Values among the arguments are
// shown in the language's notation.
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

// Caught continues the run after a failure that the program handles. It returns false if the failure cannot be
// handled.
func (f *Frame) Caught() bool {
	if f.stop == Exhausted {
		return false
	}
	f.stop = Running
	return true
}

// Result returns the value of the program's return.
func (f *Frame) Result() value.Value { return f.fail.val }

// Through records that a failure passed through a call, so that the failure's text names the call and its place.
// The compiler's code calls it.
func (f *Frame) Through(s *Site) {
	if f.stop == Failed {
		f.calls = append(f.calls, s)
	}
}

// The text of a failure quotes values from a client, so their length is limited.
const (
	maxText   = 4 << 10
	maxQuoted = 512 // bytes of a string, and elements of a container
)

// quotable returns an argument for a message that is cheap to quote.
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

// TextValue returns the text of the failure as a value, for a program that handles it. It returns false if the
// budget is too small.
func (f *Frame) TextValue() (value.Value, bool) {
	text := f.Text()
	return value.NewString(text), f.Reserve(len(text))
}

// Text returns the text of the failure as programs see it, with places as byte ranges. Long values are shortened.
func (f *Frame) Text() string {
	return f.TextFor(func(s *Site) string {
		return "(" + strconv.Itoa(s.Start) + ":" + strconv.Itoa(s.End) + ")"
	})
}

// Failing returns the outermost call that failed; nil if there is none.
func (f *Frame) Failing() *Site {
	if len(f.calls) == 0 {
		return nil
	}
	return f.calls[len(f.calls)-1]
}

// TextFor returns the same text as Text, but formats the places of calls with the function place.
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
		return string(b) // the text comes from the program
	}
	return cut(string(b), maxText)
}

// Spend takes n steps from the budget. If there are not enough, it makes the run fail and returns false.
func (f *Frame) Spend(n int) bool {
	if f.budget.Steps -= n; f.budget.Steps >= 0 {
		return true
	}
	return f.goOn()
}

// goOn takes steps from rest when the available steps are used up.
func (f *Frame) goOn() bool {
	need := -f.budget.Steps
	if need > f.rest {
		return f.exhaust("the program needs too much time for this event: its budget of steps is used up")
	}
	// Only runs with a meter have steps in rest.
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

// Reserve takes n bytes from the memory budget. Functions call it before they create a value whose size depends on
// their arguments. If there are not enough bytes, it makes the run fail and returns false.
func (f *Frame) Reserve(n int) bool {
	if n >= 0 && f.budget.Bytes >= n {
		f.budget.Bytes -= n
		return true
	}
	return f.exhaust("the program needs too much memory for this event: its budget of bytes is used up")
}

// Exhaust makes the run fail as Spend does. No program can handle this failure.
func (f *Frame) Exhaust(text string) { f.exhaust(text) }

func (f *Frame) exhaust(text string) bool {
	f.start(Failed)
	f.stop = Exhausted
	f.fail.text = text
	return false
}

const slabSize = 4 << 10

// Bytes returns n new bytes for a string that the run creates; see Str. Small strings are allocated from a block, so
// that many strings need few allocations.
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

// Concat returns the string a followed by b. It returns false if the budget is too small.
func (f *Frame) Concat(a, b string) (value.Value, bool) {
	n := len(a) + len(b)
	if !f.Reserve(n) {
		return value.Value{}, false
	}
	buf := f.Bytes(n)
	copy(buf[copy(buf, a):], b)
	return value.NewBytes(buf), true
}

// Keep returns a string value with a copy of b, which the caller may then reuse. It returns false if the budget is
// too small. It is for functions that build text in a buffer.
func (f *Frame) Keep(b []byte) (value.Value, bool) {
	if !f.Reserve(len(b)) {
		return value.Value{}, false
	}
	buf := f.Bytes(len(b))
	copy(buf, b)
	return value.NewBytes(buf), true
}

// Unsafe returns b as a string without copying. b must not be changed afterwards.
func Unsafe(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Octets returns the bytes of s without copying. They must not be changed.
func Octets(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
