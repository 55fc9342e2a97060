package ingest

import (
	"bytes"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
	"cordwood/router/pipelines"
	"cordwood/router/vrl/value"
)

// Records that skip_error skips are kept in the table svc_private.rejects, if the request or the server asks for
// it: in their original form, with their destination and the reason. They are written together with the accepted
// records, in one write.

const (
	rejectsTable = "rejects"

	// maxRejectBytes limits the size of the rejects of one request, in bytes.
	maxRejectBytes = 128 << 20
	// rejectOverhead is the approximate memory of a row without its texts.
	rejectOverhead = 128
)

// FormatLoki and FormatOTLP are the formats of rejects that are requests of a protocol, in JSON, with one record
// each.
const (
	FormatLoki = "loki"
	FormatOTLP = "otlp"
)

// rejectColumns are the columns of the table. The formats of a record are json and text, as for bodies, and
// FormatLoki and FormatOTLP.
var rejectColumns = []schema.Column{
	{Name: "rejected_at", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
	{Name: "table_schema", Type: schema.String, Semantic: schema.Field},
	{Name: "table_name", Type: schema.String, Semantic: schema.Field},
	{Name: "pipeline", Type: schema.String, Semantic: schema.Field},
	{Name: "pipeline_version", Type: schema.String, Semantic: schema.Field},
	{Name: "custom_time_index", Type: schema.String, Semantic: schema.Field},
	{Name: "record_index", Type: schema.Int64, Semantic: schema.Field},
	{Name: "kind", Type: schema.String, Semantic: schema.Field},
	{Name: "error", Type: schema.String, Semantic: schema.Field},
	{Name: "format", Type: schema.String, Semantic: schema.Field},
	{Name: "record", Type: schema.String, Semantic: schema.Field},
}

// rejects is the Runner of a request whose skipped records are kept. It passes records to the pipeline and collects
// those that the pipeline skips.
type rejects struct {
	pipeline.Runner

	batch   *Batch
	version string // of the pipeline; "" for svc_identity
	format  string
	now     int64
	ttl     string
	table   *schema.Table // the current table; nil if it does not exist

	rows  column.Builder
	cols  []*column.Col
	bytes int
	texts int // bytes of records and errors
	// reserve reserves memory for rows and rejects. A part of it may be reserved already.
	reserve  func() error
	reserved int64

	refused []byte // text of a malformed record
	pending []pipeline.Reason
	err     error
}

func newRejects(b *Batch, now int64, ttl string, catalog Catalog) *rejects {
	r := &rejects{batch: b, now: now, ttl: ttl, format: b.Input.format()}
	if b.compiled != nil {
		r.version = pipelines.FormatVersion(b.version)
	}
	if t, ok := catalog.Table(schema.PrivateDatabase, rejectsTable); ok {
		r.table = t
	}
	return r
}

// onSkip is Request.OnSkip of the pipeline. The record's text is known when the pipeline returns.
func (r *rejects) onSkip(reason pipeline.Reason) { r.pending = append(r.pending, reason) }

// onRefuse is Options.OnRefuse of the reader of the body.
func (r *rejects) onRefuse(text []byte) { r.refused = text }

// done is called after the pipeline has handled a record, and adds a reject if the pipeline skipped it.
func (r *rejects) done(text []byte) error {
	for _, reason := range r.pending {
		r.add(reason, text)
	}
	r.pending = r.pending[:0]
	return r.err
}

func (r *rejects) ScanRecord(data []byte, pos int) (int, error) {
	next, err := r.Runner.ScanRecord(data, pos)
	if err != nil {
		return next, err
	}
	return next, r.done(bytes.TrimSpace(data[pos:next]))
}

func (r *rejects) ScanLine(line []byte) error {
	if err := r.Runner.ScanLine(line); err != nil {
		return err
	}
	return r.done(line)
}

func (r *rejects) Record(v value.Value, size int) error {
	if err := r.Runner.Record(v, size); err != nil {
		return err
	}
	if len(r.pending) == 0 {
		return nil
	}
	return r.done(value.AppendJSON(nil, v))
}

func (r *rejects) TextRecord(line []byte) error {
	if err := r.Runner.TextRecord(line); err != nil {
		return err
	}
	return r.done(line)
}

// Refuse handles a malformed record, whose text onRefuse has received.
func (r *rejects) Refuse(err error) {
	r.Runner.Refuse(err)
	_ = r.done(bytes.ToValidUTF8(bytes.TrimSpace(r.refused), []byte("\ufffd"))) // Finish returns this error too
}

// add adds a row for a skipped record. A record beyond a quota is not kept, because its sender sends it again.
func (r *rejects) add(reason pipeline.Reason, text []byte) {
	if reason.Kind == pipeline.SkipQuota {
		return
	}
	texts := len(text) + len(reason.Error)
	r.texts += texts
	r.bytes += rejectOverhead + texts
	if r.bytes > maxRejectBytes {
		r.err = errs.New(errs.InvalidArguments,
			"more than %d MiB of skipped records in one request, which is too much to keep; send fewer records per request, "+
				"or set on_reject=drop", maxRejectBytes>>20)
	}
	if r.err == nil {
		r.err = r.hold()
	}
	if r.err != nil {
		return
	}
	if r.cols == nil {
		for _, c := range rejectColumns {
			r.cols = append(r.cols, r.rows.Add(c))
		}
	}
	row := r.rows.Rows()
	r.cols[0].SetInt(row, r.now+int64(row))
	for i, text := range []string{r.batch.Database, r.batch.Table, r.batch.Pipeline, r.version, r.batch.TimeIndex} {
		if text != "" {
			r.cols[1+i].SetString(row, text)
		}
	}
	r.cols[6].SetInt(row, int64(reason.Index))
	r.cols[7].SetString(row, reason.Kind.String())
	r.cols[8].SetString(row, reason.Error)
	r.cols[9].SetString(row, r.format)
	r.cols[10].SetBytes(row, text)
	r.rows.EndRow()
}

// rejectStep is the step in which memory for rejects is reserved.
const rejectStep = 1 << 20

// hold reserves the memory for the rows. Their texts are in memory twice while they grow or are encoded.
func (r *rejects) hold() error {
	need := int64(r.bytes + r.texts)
	if r.reserve == nil || need <= r.reserved {
		return nil
	}
	r.reserved = need + rejectStep
	return r.reserve()
}

// Finish adds the table of rejected records to the output of the pipeline.
func (r *rejects) Finish() (*pipeline.Output, error) {
	out, err := r.Runner.Finish()
	if err != nil {
		return nil, err
	}
	return r.addTo(out)
}

// addTo adds the table of rejected records to out.
func (r *rejects) addTo(out *pipeline.Output) (*pipeline.Output, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.rows.Rows() > 0 {
		r.rows.Finish()
		options, err := schema.StoredOptions(map[string]string{
			schema.OptionTTL: r.ttl, schema.OptionComment: "Records that skip_error dropped",
		}, true)
		if err != nil {
			return nil, errs.Wrap(errs.Internal, err, "options of %s.%s", schema.PrivateDatabase, rejectsTable)
		}
		out.Tables = append(out.Tables, &pipeline.TableRows{
			Database: schema.PrivateDatabase, Table: rejectsTable, Options: options, Existing: r.table, Internal: true,
			Rows: &r.rows,
		})
	}
	return out, nil
}
