package pipeline

import (
	"fmt"
	"strings"
	"testing"
)

// TestLongDefaults sends short records to a table whose default is a long text. The texts count where rows are divided
// into parts, and when memory is reserved.
func TestLongDefaults(t *testing.T) {
	t.Parallel()
	table := having("svc_timestamp TimestampNanosecond ti, a Int64, d String default " + strings.Repeat("x", 5000))
	reserved := int64(0)
	r := newIdentity()
	q := request(table, func(q *Request) {
		q.Catalog.(tables)["t"].Columns[2].NotNull = true
		q.Reserve = func(size int64) error {
			reserved = size
			return nil
		}
	})
	if err := r.start(q); err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		if err := r.ScanLine([]byte(`{"a":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	if reserved < partBytes/2 { // sealed parts need less than the texts
		t.Errorf("%d bytes are reserved before the end", reserved)
	}
	out, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	rows := out.Tables[0]
	if n := rows.Rows.Rows(); len(rows.Parts) < 2 || n > 2*partBytes/5000 || rows.Count() != 5000 {
		t.Errorf("%d parts, %d rows after them, %d in all", len(rows.Parts), n, rows.Count())
	}
}

// TestUnusedWarmColumns sends many small records after a record with many columns. The columns, which the runner keeps,
// do not count.
func TestUnusedWarmColumns(t *testing.T) {
	t.Parallel()
	columns, record := "svc_timestamp TimestampNanosecond ti", `{"k0":1`
	for k := range 1000 {
		columns += fmt.Sprintf(", k%d Int64", k)
		record += fmt.Sprintf(`,"k%d":1`, k)
	}
	table := having(columns)
	r := newIdentity()
	if _, err := runOn(r, request(table), []string{record + "}"}); err != nil {
		t.Fatal(err)
	}
	if !r.renew() {
		t.Fatal("the runner cannot be used again")
	}
	reserved := int64(0)
	q := request(table, func(q *Request) {
		q.Reserve = func(size int64) error {
			reserved = size
			return nil
		}
	})
	if err := r.start(q); err != nil {
		t.Fatal(err)
	}
	r.minCells = 100_000
	const rows = 10_000
	for range rows {
		if err := r.ScanLine([]byte(`{"k1":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if r.home == nil || len(out.Tables[0].Rows.Cols()) != 2 {
		t.Errorf("%d columns, a warm home %t", len(out.Tables[0].Rows.Cols()), r.home != nil)
	}
	if reserved > rows*100*8 {
		t.Errorf("%d bytes are reserved for %d rows of two columns", reserved, rows)
	}
}

// TestExactMemoryIsNotKept checks that a record of many keys does not leave memory that counts for later requests.
func TestExactMemoryIsNotKept(t *testing.T) {
	t.Parallel()
	record := `{"k0":1`
	for k := range 20_000 {
		record += fmt.Sprintf(`,"k%d":1`, k%10_000) // keys that come twice take the exact path
	}
	r := newIdentity()
	_, _ = runOn(r, request(), []string{record + "}"}) // it has too many columns
	r.renew()
	if n := r.exact.size(); n > keepExact {
		t.Errorf("%d bytes are kept", n)
	}
}

// TestSparseRowsAreNotSealed sends many short records, and then one with all columns of the table. Nearly all cells are
// empty: the rows stay for package write to divide, or are refused, and nothing panics. The runner is new, or has kept
// the columns of an earlier request.
func TestSparseRowsAreNotSealed(t *testing.T) {
	t.Parallel()
	columns, record := "svc_timestamp TimestampNanosecond ti, a Int64", `{"a":1`
	for k := range 1022 {
		columns += fmt.Sprintf(", c%d Int64", k)
		record += fmt.Sprintf(`,"c%d":1`, k)
	}
	record += "}"
	table := having(columns)
	for _, warm := range []bool{false, true} {
		for _, rows := range []int{32_400, 60_000} {
			r := newIdentity()
			if warm {
				if _, err := runOn(r, request(table), []string{record}); err != nil || !r.renew() {
					t.Fatal(err)
				}
			}
			if err := r.start(request(table)); err != nil {
				t.Fatal(err)
			}
			var err error
			for i := 0; i < rows+1000 && err == nil; i++ {
				line := `{"a":1}`
				if i == rows {
					line = record
				}
				err = r.ScanLine([]byte(line))
			}
			if err == nil {
				_, err = r.Finish()
			}
			if rows == 60_000 && (err == nil || !strings.Contains(err.Error(), "nearly all of them empty")) {
				t.Errorf("a warm runner %t, %d rows: %v", warm, rows, err)
			}
		}
	}
}
