package answers

import (
	"errors"
	"fmt"
	"testing"

	"cordwood/proto/schema"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// TestChangedMeanwhile changes a column after the records of a request became rows and before these rows are written.
func TestChangedMeanwhile(t *testing.T) {
	c := newCluster(t, 1, 1<<20)
	for i, tt := range []struct{ typ, record, change, want string }{
		{"BIGINT", `{"ts":2,"n":2}`, "MODIFY COLUMN n DOUBLE", "1; 2"},
		{"INT", `{"ts":2,"n":2}`, "MODIFY COLUMN n BIGINT", "1; 2"},
		{"INT", `{"ts":2,"n":2}`, "MODIFY COLUMN n DOUBLE", "1; 2"},
		{"INT", `{"ts":2,"n":2.5}`, "MODIFY COLUMN n BIGINT", "1; 2.5"},
		{"INT UNSIGNED", `{"ts":2,"n":2}`, "MODIFY COLUMN n BIGINT UNSIGNED", "1; 2"},
		{"FLOAT", `{"ts":2,"n":2.5}`, "MODIFY COLUMN n DOUBLE", "1; 2.5"},
		{"FLOAT", `{"ts":2,"n":0.1}`, "MODIFY COLUMN n DOUBLE", "1; 0.1"},
		{"BIGINT", `{"ts":2,"n":2}`, "MODIFY COLUMN n SET SKIPPING INDEX", "1; 2"},
		// The name then belongs to a new column.
		{"BIGINT", `{"ts":2,"n":2}`, "RENAME COLUMN n TO m", "NULL; 2"},
		{"BIGINT", `{"ts":2,"n":2.5}`, "RENAME COLUMN n TO m", "NULL; 2.5"},
		{"BIGINT", `{"ts":2,"n":2}`, "DROP COLUMN n", "NULL; 2"},
	} {
		name := fmt.Sprint("m", i)
		c.must("CREATE TABLE " + name + " (ts TIMESTAMP TIME INDEX, n " + tt.typ + ") WITH ('append_mode'='true')")
		c.must("INSERT INTO " + name + " VALUES (1, 1)")
		changed := false
		change := func() {
			if !changed {
				c.must("ALTER TABLE " + name + " " + tt.change)
			}
			changed = true
		}
		if err := c.sendLine(name, tt.record, change); err != nil {
			// The caller then runs the pipeline again, with the table's present columns.
			if !errors.Is(err, write.ErrSchemaChanged) {
				t.Errorf("%s, %s: %v does not report that a retry may succeed", tt.typ, tt.change, err)
			}
			if err := c.sendLine(name, tt.record, change); err != nil {
				t.Errorf("%s, %s, again: %v", tt.typ, tt.change, err)
			}
		}
		if got := c.said("SELECT n FROM " + name + " ORDER BY ts"); got != tt.want {
			t.Errorf("%s, %s: rows %s, want %s", tt.typ, tt.change, got, tt.want)
		}
	}
}

// sendLine ingests a record. It calls between after the record has become a row and before the row is written.
func (c *cluster) sendLine(table, record string, between func()) error {
	c.t.Helper()
	run, err := pipeline.NewIdentity(&pipeline.Request{
		Database: schema.DefaultDatabase, Table: table, Catalog: c.meta, AutoCreate: true,
		TimeIndex: &pipeline.TimeIndex{Field: "ts", Unit: schema.TimestampMillisecond},
	})
	if err != nil {
		return err
	}
	defer run.Release()
	if err := run.ScanLine([]byte(record)); err != nil {
		return err
	}
	out, err := run.Finish()
	if err != nil {
		return err
	}
	between()
	_, err = c.writer.Write(c.ctx, out)
	return err
}
