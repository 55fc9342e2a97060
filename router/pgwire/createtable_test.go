package pgwire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/query/statement"
)

// TestTimeIndexIsChosen checks that the only column with times becomes the time index, and that nothing is chosen if
// the statement names one or if there are several.
func TestTimeIndexIsChosen(t *testing.T) {
	f := start(t)
	c := f.connect(t, "")
	for sql, want := range map[string]int{
		"CREATE TABLE a (n BIGINT, at TIMESTAMP WITH TIME ZONE, host TEXT)":        1,
		"CREATE TABLE b (at TIMESTAMPTZ, other TIMESTAMP(3) TIME INDEX)":           1,
		"CREATE TABLE c (at TIMESTAMP, other TIMESTAMP WITHOUT TIME ZONE)":         -1,
		"CREATE TABLE f (a TIMESTAMPTZ, b TIMESTAMPTZ, n INT, PRIMARY KEY (b, n))": 1,
		"CREATE TABLE g (a TIMESTAMPTZ, b TIMESTAMPTZ, PRIMARY KEY (a, b))":        -1,
		"CREATE TABLE d (n BIGINT, host TEXT)":                                     -1,
		"CREATE TABLE e (at TIMESTAMP, b TEXT, TIME INDEX (at))":                   -1,
	} {
		if _, _, err := exec(t, c, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		f.service.mu.Lock()
		st := f.service.requests[len(f.service.requests)-1].Statements[0].(*statement.CreateTable)
		f.service.mu.Unlock()
		got := -1
		for i, col := range st.Columns {
			if col.TimeIndex {
				got = i
			}
		}
		if got != want {
			t.Errorf("%s: the time index is column %d, want %d", sql, got, want)
		}
	}
}

// TestDefinitions checks that types and keys have PostgreSQL's meaning.
func TestDefinitions(t *testing.T) {
	f := start(t)
	c := f.connect(t, "")
	for sql, want := range map[string]string{
		"CREATE TABLE a (a int8, b INT2, c int4, d float8, e float4, f character(3), g name, ts timestamp, " +
			`CONSTRAINT "PK_1" PRIMARY KEY (ts, g))`: "BIGINT SMALLINT INT DOUBLE FLOAT TEXT TEXT TIMESTAMP(6) [g]",
		"CREATE TABLE b (ts TIMESTAMP(3) PRIMARY KEY, h TEXT, PRIMARY KEY (h))": "TIMESTAMP(3) TEXT [h]",
		"CREATE TABLE c (ts TIMESTAMPTZ, h TEXT, u timestamp, TIME INDEX (ts), PRIMARY KEY (h, ts))": "TIMESTAMPTZ TEXT " +
			"TIMESTAMP(6) [h]",
		"CREATE TABLE e (ts timestamp, a float, b FLOAT(24), c float(25), d real)": "TIMESTAMP(6) DOUBLE FLOAT(24) " +
			"float(25) real []",
		"ALTER TABLE a ADD COLUMN x int8":               "BIGINT",
		"ALTER TABLE a ALTER COLUMN x TYPE float8":      "DOUBLE",
		"CREATE TABLE d (ts TIMESTAMP_S, h VARCHAR(9))": "TIMESTAMP_S VARCHAR(9) []",
	} {
		if _, _, err := exec(t, c, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		f.service.mu.Lock()
		last := f.service.requests[len(f.service.requests)-1].Statements[0]
		f.service.mu.Unlock()
		got := ""
		switch st := last.(type) {
		case *statement.CreateTable:
			for _, col := range st.Columns {
				if col.PrimaryKey {
					t.Errorf("%s: column %s is a tag", sql, col.Name)
				}
				got += col.Type + " "
			}
			got += fmt.Sprint(st.PrimaryKey)
		case *statement.AlterTable:
			if st.Add != nil {
				got = st.Add.Type
			} else {
				got = st.Modify.Type
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}

// TestStateOfDefinitions checks that the words of an error about a table's definition do not decide its SQLSTATE.
func TestStateOfDefinitions(t *testing.T) {
	cfg := &start(t).cfg
	s := newSession(cfg, "ann", false, func(string) bool { return true })
	s.startIn("public", "public")
	tr := &translator{session: s, runner: &runner{cfg: cfg, session: s, link: &link{}}}
	err := errs.New(errs.InvalidArguments, "CREATE TABLE d: a table needs a time index; add TIME INDEX (column) for one "+
		"of its TIMESTAMP columns")
	for sql, want := range map[string]string{"CREATE TABLE d (n BIGINT)": "42P16", "SELECT 1": "22008"} {
		var got *Error
		if !errors.As(tr.placed(err, newCommand(sql), sql), &got) || got.State != want {
			t.Errorf("%s: %+v, want %s", sql, got, want)
		}
	}
}

// TestUnstorableTypes checks that types which columns cannot have are refused with what to use instead, whatever their
// case and length.
func TestUnstorableTypes(t *testing.T) {
	for typ, want := range map[string]string{
		"serial": "use BIGINT", "BigSerial": "use BIGINT", "numeric(10,2)": "use DOUBLE PRECISION", "DECIMAL": "use DOUBLE",
		"date": "use TIMESTAMP(0)", "time WITH TIME ZONE": "use TEXT", "interval": "use BIGINT", "cidr": "use TEXT",
		"bigint": "", "timestamptz": "", "mood": "", "double PRECISION": "", "timestamp(3)": "", "bytea": "",
	} {
		err := checkTypes(statement.ColumnDef{Name: "a", Type: "int"}, statement.ColumnDef{Name: "b", Type: typ})
		told := (*Error)(nil)
		errors.As(err, &told)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", typ, err)
		case want != "" && (told == nil || told.State != "0A000" || !strings.HasPrefix(told.Hint, want)):
			t.Errorf("%s: %+v, want %s", typ, told, want)
		}
	}
}
