package pipeline

import (
	"fmt"
	"sync"
	"testing"
)

// TestParallel runs many requests through the same pipelines concurrently.
func TestParallel(t *testing.T) {
	others := map[string]*Pipeline{}
	compiled := func(src string) *Pipeline {
		p, err := Compile([]byte(src), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	others["x"] = compiled("version: 2\nprocessors: [{letter: {field: a}}]\ntransform: [{field: t, type: epoch, index: " +
		"timestamp, on_failure: default}]")
	p := compiled("processors: [{vrl: {source: '.n = length!(.a); .'}}, {letter: {field: a, method: " +
		"upper}}]\ndispatcher: {field: k, rules: [{value: 1, table_suffix: _x, pipeline: x}, {value: 2, table_suffix: _y}]}")
	lookup := func(name, _ string) (*Pipeline, error) { return others[name], nil }
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 20 {
				want := ""
				for range 2 {
					runner, err := NewRunner(p, request(), lookup)
					if err != nil {
						t.Error(err)
						return
					}
					for n := range 50 {
						line := fmt.Sprintf(`{"a":"g%d-%d","k":%d,"f%d":{"o":%d}}`, g, i, n%3, (g+n)%7, n)
						if err := runner.ScanLine([]byte(line)); err != nil {
							t.Error(err)
						}
					}
					out, err := runner.Finish()
					if err != nil {
						t.Error(err)
						return
					}
					if got := dump(out); want == "" {
						want = got
					} else if got != want {
						t.Errorf("one request gives\n%s\nand again\n%s", want, got)
					}
					runner.Release()
				}
			}
		})
	}
	wg.Wait()
}
