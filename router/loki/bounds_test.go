package loki

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/loki/translate"
)

// A query of one step may have millions of numbers, but not millions of series with long labels.
func TestSeriesAreBounded(t *testing.T) {
	for length, most := range map[int]int{0: 600_000, 1000: 120_000, 1 << 20: 200} {
		e, key := &evaluator{steps: translate.Steps{N: 1}}, strings.Repeat("x", length)
		n := 0
		for e.count(key) == nil {
			if n++; n > most {
				t.Fatalf("more than %d series with labels of %d bytes", most, length)
			}
		}
		if err := e.count(key); errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), "MiB") {
			t.Error(err)
		}
	}
	e := &evaluator{steps: translate.Steps{N: 10_000}}
	for range 200 {
		if err := e.count("x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.count("x"); err == nil || !strings.Contains(err.Error(), "maximum number of series (200)") {
		t.Error(err)
	}
}
