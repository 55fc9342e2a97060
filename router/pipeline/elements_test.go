package pipeline

import (
	"strings"
	"testing"
)

// TestSkippedElements checks that, if a record becomes several rows, only the failing rows are skipped, unless records
// must be stored whole.
func TestSkippedElements(t *testing.T) {
	const source = `
processors:
- vrl: {source: '.rows'}
transform: [{field: n, type: int8}]
`
	const records = `{"rows":[{"n":1},{"n":300},{"n":3},7]}
{"rows":[{"n":"x"},{"n":"y"}]}
{"rows":[{"n":5}]}`
	for _, c := range []struct {
		name   string
		change func(*Request)
		rows   string
		skips  []string
	}{
		{"rows", func(*Request) {}, "n Int8: 1 3 5", []string{
			"0 transform element 1 of the list", "0 processor element 3 of the list", "1 transform element 0 of the list",
			"1 transform element 1 of the list",
		}},
		{"whole records", wholeRecords, "n Int8: 5", []string{
			"0 transform element 1 of the list", "1 transform element 0 of the list",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Compile([]byte(source), Options{})
			if err != nil {
				t.Fatal(err)
			}
			var reasons []Reason
			q := request(skipErrors, c.change)
			q.OnSkip = func(r Reason) { reasons = append(reasons, r) }
			r, err := NewRunner(p, q, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Release()
			for line := range strings.Lines(records) {
				if err := r.ScanLine([]byte(strings.TrimSpace(line))); err != nil {
					t.Fatal(err)
				}
			}
			out, err := r.Finish()
			if err != nil {
				t.Fatal(err)
			}
			if got := dump(out); !strings.Contains(got, c.rows) {
				t.Errorf("rows:\n%s\nwant %s", got, c.rows)
			}
			if len(reasons) != len(c.skips) || out.Skipped != len(c.skips) || out.Records != 3 {
				t.Fatalf("%d of %d records skipped: %v; want %d", out.Skipped, out.Records, reasons, len(c.skips))
			}
			for i, r := range reasons {
				text := string('0'+byte(r.Index)) + " " + r.Kind.String() + " " + r.Error
				if !strings.HasPrefix(text, c.skips[i]) {
					t.Errorf("skip %d: %s, want %s", i, text, c.skips[i])
				}
			}
		})
	}
}
