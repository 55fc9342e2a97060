package pgwire

import (
	"errors"
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
		"CREATE TABLE a (n BIGINT, at TIMESTAMP WITH TIME ZONE, host TEXT)": 1,
		"CREATE TABLE b (at TIMESTAMPTZ, other TIMESTAMP(3) TIME INDEX)":    1,
		"CREATE TABLE c (at TIMESTAMP, other TIMESTAMP WITHOUT TIME ZONE)":  -1,
		"CREATE TABLE d (n BIGINT, host TEXT)":                              -1,
		"CREATE TABLE e (at TIMESTAMP, b TEXT, TIME INDEX (at))":            -1,
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
