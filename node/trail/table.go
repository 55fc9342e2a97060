package trail

import (
	"context"
	"errors"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

const (
	// batchRows and batchBytes limit the rows of one write.
	batchRows  = 500
	batchBytes = 1 << 20
	// writeTime limits one write to the table.
	writeTime = 20 * time.Second
	// maxRuns is how often rows are made again for a table that changes meanwhile.
	maxRuns = 3
)

// Writer writes rows to tables.
type Writer interface {
	Write(ctx context.Context, out *pipeline.Output) (write.Result, error)
}

// Catalog finds tables in the node's copy of the metadata.
type Catalog interface {
	Table(database, name string) (*schema.Table, bool)
}

// Table writes rows to svc_private.audit, which it creates.
type Table struct {
	Writer  Writer
	Catalog Catalog
}

// options are the options with which the table is created. Rows of one node with the same id and time replace each
// other.
func options() (map[string]string, error) {
	return schema.StoredOptions(map[string]string{
		schema.OptionTTL: schema.DefaultAuditTTL, schema.OptionAppendMode: "false",
		schema.OptionMergeMode: schema.MergeLastRow, schema.OptionComment: "Who changed what",
	}, true)
}

// Write writes rows. After an error, some of them may be in the table.
func (t Table) Write(ctx context.Context, rows []Row) error {
	opts, err := options()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	for run := 1; ; run++ {
		b := &column.Builder{}
		for _, c := range columns {
			b.Add(c)
		}
		for i := range rows {
			addRow(b, &rows[i])
		}
		b.Finish()
		existing, _ := t.Catalog.Table(schema.PrivateDatabase, schema.AuditTable)
		_, err := t.Writer.Write(ctx, &pipeline.Output{Records: len(rows), Tables: []*pipeline.TableRows{{
			Database: schema.PrivateDatabase, Table: schema.AuditTable, Options: opts, Existing: existing, Internal: true,
			Rows: b,
		}}})
		if err == nil || !errors.Is(err, write.ErrSchemaChanged) || run == maxRuns {
			return err
		}
	}
}

// addRow adds a row. Empty texts are null, except the node, which is a part of the key.
func addRow(b *column.Builder, r *Row) {
	at := b.Rows()
	for i, v := range valuesOf(r) {
		switch v := v.(type) {
		case int64:
			b.Cols()[i].SetInt(at, v)
		case string:
			if v != "" {
				b.Cols()[i].SetString(at, v)
			}
		}
	}
	b.EndRow()
}
