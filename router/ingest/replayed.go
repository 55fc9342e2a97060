package ingest

import (
	"context"
	"errors"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// When rejects are sent again, a header has their ids. After their rows are stored, the same request writes a note
// for each stored record into svc_private.replayed. Later replays skip records with a note. The request may end
// between the two writes, so it must have a key. If it is sent again with this key, its rows are recognised, and the
// notes are written.

const (
	replayedTable = "replayed"

	// HeaderReplayed is the header with the ids of replayed rejects.
	HeaderReplayed = "X-Svc-Replayed"

	// replayUser replaces the user in keys, so that two users who replay the same records store them once. No user
	// name contains a line feed.
	replayUser = "\n" + replayedTable
)

var replayedColumns = []schema.Column{
	{Name: "replayed_at", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
	{Name: "id", Type: schema.String, Semantic: schema.Field},
	{Name: "table_schema", Type: schema.String, Semantic: schema.Field},
	{Name: "table_name", Type: schema.String, Semantic: schema.Field},
	{Name: "pipeline", Type: schema.String, Semantic: schema.Field},
}

// Replayed identifies the rejects that a batch replays.
type Replayed struct {
	// IDs are the ids of the records, in order. The batch must have a Key.
	IDs []string

	skipped map[int]bool
	// kept is set if skipped records are kept as new rejects, which replace the old ones.
	kept bool
}

// PermitReplay returns an error if the caller may not mark rejects as stored.
func PermitReplay(caller *access.Caller) error {
	return caller.Require(access.Need{
		Privilege: access.Delete, Action: "replay rejects",
		Object: access.Object{Kind: access.Table, Database: schema.PrivateDatabase, Name: rejectsTable},
	})
}

// watch configures the pipeline to report the records that it skips, and to skip all rows of such a record, because a
// record without a note is sent again as a whole. If the pipeline runs again, watch starts with no skipped records.
func (r *Replayed) watch(q *pipeline.Request, kept bool) {
	q.WholeRecords = true
	r.skipped, r.kept = map[int]bool{}, kept
	next := q.OnSkip
	q.OnSkip = func(reason pipeline.Reason) {
		r.skipped[reason.Index] = true
		if next != nil {
			next(reason)
		}
	}
}

// check returns an error if the number of ids is not the number of records.
func (r *Replayed) check(out *pipeline.Output) error {
	if out.Records != len(r.IDs) {
		return errs.New(errs.InvalidArguments, "the header %s lists %d records, and the body has %d: nothing is stored",
			HeaderReplayed, len(r.IDs), out.Records)
	}
	return nil
}

// stored returns the ids of the records that were not skipped, or that were kept as new rejects.
func (r *Replayed) stored() []string {
	if r.kept {
		return r.IDs
	}
	var out []string
	for i, id := range r.IDs {
		if !r.skipped[i] {
			out = append(out, id)
		}
	}
	return out
}

// noteReplayed writes a note for each record of a request whose rows are stored. After an error, the request must be
// sent again with its key.
func (s *Service) noteReplayed(ctx context.Context, b *Batch) error {
	ids := b.Replayed.stored()
	if len(ids) == 0 {
		return nil
	}
	options, err := schema.StoredOptions(map[string]string{
		schema.OptionTTL:     s.cfg.RejectsTTL,
		schema.OptionComment: "Rejected records that were stored when they were sent again",
	}, true)
	if err != nil {
		return errs.Wrap(errs.Internal, err, "options of %s.%s", schema.PrivateDatabase, replayedTable)
	}
	key := b.key
	key.Text += "\n" + replayedTable // no client's key contains a line feed
	for run := 1; ; run++ {
		rows := &column.Builder{}
		cols := make([]*column.Col, len(replayedColumns))
		for i, c := range replayedColumns {
			cols[i] = rows.Add(c)
		}
		now := s.cfg.Now().UnixNano()
		for row, id := range ids {
			cols[0].SetInt(row, now)
			for i, text := range []string{id, b.Database, b.Table, b.Pipeline} {
				cols[1+i].SetString(row, text)
			}
			rows.EndRow()
		}
		rows.Finish()
		t, _ := s.cfg.Catalog.Table(schema.PrivateDatabase, replayedTable)
		_, err := s.cfg.Writer.WriteKeyed(ctx, &pipeline.Output{Records: len(ids), Tables: []*pipeline.TableRows{{
			Database: schema.PrivateDatabase, Table: replayedTable, Options: options, Existing: t, Internal: true, Rows: rows,
		}}}, key)
		if err == nil || !errors.Is(err, write.ErrSchemaChanged) || run == maxPipelineRuns {
			return unnoted(err)
		}
	}
}

// unnoted converts an error that occurred after the rows were stored, so that the client sends the request again.
func unnoted(err error) error {
	if err == nil {
		return nil
	}
	return errs.Wrap(errs.ShardUnreachable, err, "the outcome is unknown: the records are stored, but their notes as  "+
		"replayed records are not; send the request again with its key").
		WithReason(errs.OutcomeUnknown)
}
