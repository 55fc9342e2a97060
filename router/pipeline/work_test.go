package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cordwood/proto/errs"
)

// busy is a pipeline whose program uses up the budget of every record.
const busy = `processors: [{vrl: {source: "for_each(array!(.a)) -> |_, _| { for_each(array!(.a)) -> |_, ` +
	`_| { for_each(array!(.a)) -> |_, _| { x = 1 } } }\n."}}]`

var busyRecord = []byte(`{"a":[` + strings.Repeat("1,", 199) + `1]}`)

// endAfter returns a Request.Ended that reports the end at its n-th call.
func endAfter(n int, why error) (ended func() error, asked *int) {
	asked = new(int)
	return func() error {
		if *asked++; *asked >= n {
			return why
		}
		return nil
	}, asked
}

// TestEndedRequest passes records to requests that end after a while. Each Runner must stop soon, report at which
// record, and never skip.
func TestEndedRequest(t *testing.T) {
	compiled := func(src string) *Pipeline {
		p, err := Compile([]byte(src), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	plain := compiled("version: 2\nprocessors: [{letter: {field: m, ignore_missing: true}}]\ntransform: [{field: " +
		"t, type: epoch, index: timestamp, on_failure: default}]")
	for _, tt := range []struct {
		name   string
		p      *Pipeline // nil means svc_identity
		line   string
		text   bool
		within int // records
	}{
		{"svc_identity", nil, `{"m":"x"}`, false, 2000},
		{"svc_identity, slow path", nil, `{"m":"x","m":"y"}`, false, 2000},
		{"svc_identity, refused", nil, `7`, false, 2000},
		{"svc_identity, text", nil, `x`, true, 2000},
		{"a pipeline", plain, `{"m":"x"}`, false, 5000},
		{"a pipeline, refused", plain, `7`, false, 5000},
		{"a pipeline, text", plain, `x`, true, 5000},
		{"a program that spends all", compiled(busy), string(busyRecord), false, 2},
	} {
		for why, code := range map[error]errs.Code{
			context.DeadlineExceeded: errs.DeadlineExceeded,
			context.Canceled:         errs.Cancelled,
		} {
			t.Run(tt.name, func(t *testing.T) {
				ended, _ := endAfter(3, why)
				q := request(skipErrors, func(q *Request) { q.Ended = ended })
				var run Runner
				var err error
				if tt.p == nil {
					run, err = NewIdentity(q)
				} else {
					run, err = NewRunner(tt.p, q, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer run.Release()
				n := 0
				for err = nil; err == nil && n < 100_000; n++ {
					if tt.text {
						err = run.TextRecord([]byte(tt.line))
					} else {
						err = run.ScanLine([]byte(tt.line))
					}
				}
				if !errors.Is(err, why) || errs.CodeOf(err) != code || n > tt.within {
					t.Errorf("after %d records: %v (code %d)", n, err, errs.CodeOf(err))
				}
			})
		}
	}
}

// TestRequestSteps checks that the request ends when its steps are used up, even if it skips errors.
func TestRequestSteps(t *testing.T) {
	p, err := Compile([]byte(busy), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []func(Runner) error{
		func(run Runner) error { return run.ScanLine(busyRecord) },
		func(run Runner) error { _, err := run.ScanRecord(busyRecord, 0); return err },
	} {
		run, err := NewRunner(p, request(skipErrors, func(q *Request) { q.Steps = 5_000_000 }), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(way(run), way(run)); err != nil {
			t.Fatalf("within the steps: %v", err)
		}
		err = way(run)
		want := "record 2: the request needs more work than one may take: 5000000 steps, and 100 more for each byte"
		if err == nil || !strings.Contains(err.Error(), want) || errs.CodeOf(err) != errs.InvalidArguments {
			t.Errorf("beyond the steps: %v", err)
		}
		if err := run.ScanLine([]byte(`{"a":[]}`)); err == nil {
			t.Error("a record was accepted after the end of the request")
		}
		run.Release()
	}
	// A reused Runner starts with a new budget.
	run, err := NewRunner(p, request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.ScanLine([]byte(`{"a":[]}`)); err != nil {
		t.Error(err)
	}
	run.Release()
}

// TestRequestStepsOfBranches checks that dispatched records use the same budget.
func TestRequestStepsOfBranches(t *testing.T) {
	other, err := Compile([]byte(busy), Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile([]byte("processors: [{letter: {field: k}}]\ndispatcher: {field: k, rules: [{value: "+
		"x, table_suffix: _x, pipeline: busy}]}"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := NewRunner(p, request(skipErrors, func(q *Request) { q.Steps = 5_000_000 }),
		func(string, string) (*Pipeline, error) { return other, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer run.Release()
	line := fmt.Appendf(nil, `{"k":"x",%s`, busyRecord[1:])
	n := 0
	for ; err == nil && n < 100; n++ {
		err = run.ScanLine(line)
	}
	if n != 3 || !strings.Contains(fmt.Sprint(err), "record 2: the request needs more work") {
		t.Errorf("after %d records: %v", n, err)
	}
}

// TestLongRecordsMayTakeMore checks that the budget of a record grows with its length.
func TestLongRecordsMayTakeMore(t *testing.T) {
	src := `processors: [{vrl: {source: "n = 0\nfor_each(array!(.a)) -> |_, v| { n = n + int!(v); n = n + 1; n = n - 1; ` +
		`n = n * 1 }\n.n = n\ndel(.a)\n."}}]`
	p, err := Compile([]byte(src), Options{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := NewRunner(p, request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Release()
	if err := run.ScanLine([]byte(`{"a":[` + strings.Repeat("1,", 499_999) + `1]}`)); err != nil {
		t.Error(err)
	}
}
