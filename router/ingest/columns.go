package ingest

import (
	"cmp"
	"context"

	"cordwood/proto/words"
	"cordwood/router/pipeline"
)

// Columns is an Input that puts values into columns without a pipeline, so Batch.Pipeline is empty. It is for
// protocols whose records have fixed fields.
type Columns struct {
	// Layout has the columns that every record may have. Direct.Column creates further columns.
	Layout *pipeline.Layout
	// Fill puts all records into columns, one after another, and returns the first error of End or Drop. For a record
	// that it cannot decode, it calls Drop.
	Fill func(to *pipeline.Direct) error
	// Text returns the current record of Fill as a complete request of the protocol in JSON. It is called for records
	// that are refused and kept among the rejects; nil means that only the reason is kept.
	Text func() []byte
	// Format is the name of the format of Text, for the rejects.
	Format string
}

// columnRun is one run over Columns.
type columnRun struct {
	*pipeline.Direct
	j    *job
	from *Columns
}

func (i Columns) open(_ context.Context, j *job) (run, error) {
	q := &j.request
	if j.kept != nil {
		q.OnSkip = both(q.OnSkip, func(r pipeline.Reason) {
			var text []byte
			if i.Text != nil && j.kept.err == nil {
				text = i.Text()
			}
			j.kept.add(r, text)
		})
		q.Stop = func() error { return j.kept.err }
	}
	if j.b.Replayed != nil {
		j.b.Replayed.watch(q, j.kept != nil)
	}
	d, err := pipeline.NewDirect(q, i.Layout)
	if err != nil {
		return nil, err
	}
	return &columnRun{d, j, &i}, nil
}

func (i Columns) format() string { return cmp.Or(i.Format, "json") }

func (r *columnRun) fill() error { return r.from.Fill(r.Direct) }

// Finish ends the input, and adds the rejects.
func (r *columnRun) Finish() (*pipeline.Output, error) {
	out, err := r.Direct.Finish()
	if err != nil {
		return nil, err
	}
	if n := r.Repaired(); n > 0 {
		out.Warnings = append(out.Warnings,
			words.Say(n, "text is not valid UTF-8: U+FFFD was stored for each invalid part",
				"texts are not valid UTF-8: U+FFFD was stored for each invalid part"))
	}
	if r.j.kept == nil {
		return out, nil
	}
	return r.j.kept.addTo(out)
}
