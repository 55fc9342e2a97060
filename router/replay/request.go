// Package replay sends rejected records again. These are records that skip_error skipped and that are kept in
// svc_private.rejects. The package reads them by SQL and sends each in a separate request. The key of the request is
// derived from the record, so a record is stored once, even if several users send it several times. Ingestion records
// in svc_private.replayed which records it has stored.
//
// The package knows neither HTTP nor users: a Backend runs statements and stores records with the rights of the
// client. A Job serves one request, holds one chunk of records in memory, and ends with its context.
package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
)

// Request says which records are sent, and to which destination. Its zero value sends all records to their original
// destinations.
type Request struct {
	// Pipeline, DB, Table and Kind select records; an empty field selects all. But records of the kind permission, whose
	// senders may not store them, are sent only if Kind or IDs select them: the replay stores them with the rights of
	// its own client. Since and Until are times in a format that ParseTime accepts.
	Pipeline string `json:"pipeline,omitempty"`
	DB       string `json:"db,omitempty"`
	Table    string `json:"table,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Since    string `json:"since,omitempty"`
	Until    string `json:"until,omitempty"`
	// IDs selects records by id; nil selects all.
	IDs []string `json:"ids,omitempty"`
	// ToPipeline, ToDB and ToTable replace the original pipeline, database and table of a record.
	ToPipeline string `json:"to_pipeline,omitempty"`
	ToDB       string `json:"to_db,omitempty"`
	ToTable    string `json:"to_table,omitempty"`
	// Limit is the maximum number of records to send; 0 means all. The oldest are sent first.
	Limit int `json:"limit,omitempty"`
	// DryRun stores nothing.
	DryRun bool `json:"dry_run,omitempty"`
	// Again also sends records that an earlier request stored.
	Again bool `json:"again,omitempty"`
	// OnReject decides what happens to records that fail again: "drop" discards them, because they are kept already,
	// and "store" keeps them once more. Empty means drop.
	OnReject string `json:"on_reject,omitempty"`
}

// MaxIDs is the maximum number of ids in a request.
const MaxIDs = 1000

// Kinds lists the values of the column kind of svc_private.rejects.
func Kinds() []string {
	var names []string
	for _, kind := range pipeline.SkipKinds() {
		names = append(names, kind.String())
	}
	return names
}

// Check returns an error if the request is invalid.
func (r *Request) Check() error {
	switch {
	case r.Kind != "" && !slices.Contains(Kinds(), r.Kind):
		return errs.New(errs.InvalidArguments, "kind %.40s: use %s", r.Kind, strings.Join(Kinds(), ", "))
	case r.OnReject != "" && r.OnReject != "drop" && r.OnReject != "store":
		return errs.New(errs.InvalidArguments, "on_reject %.40s: use drop or store", r.OnReject)
	case r.Limit < 0:
		return errs.New(errs.InvalidArguments, "limit %d: want 0 or more", r.Limit)
	case len(r.IDs) > MaxIDs:
		return errs.New(errs.InvalidArguments, "there are %d ids: at most %d are possible", len(r.IDs), MaxIDs)
	}
	if r.ToTable != "" {
		if err := schema.CheckTableName(r.ToTable); err != nil {
			return err
		}
	}
	_, err := r.Where()
	return err
}

// Where returns the SQL condition for the records of the request, not counting its ids.
func (r *Request) Where() (string, error) {
	conditions := []string{"true"}
	for _, c := range []struct{ column, value string }{
		{"pipeline", r.Pipeline}, {"table_schema", r.DB}, {"table_name", r.Table}, {"kind", r.Kind},
	} {
		if c.value != "" {
			conditions = append(conditions, c.column+" = "+rights.QuoteText(c.value))
		}
	}
	for _, c := range []struct{ name, op, value string }{{"since", ">=", r.Since}, {"until", "<", r.Until}} {
		if c.value == "" {
			continue
		}
		at, err := ParseTime(c.value)
		if err != nil {
			return "", errs.New(errs.InvalidArguments, "%s: %s", c.name, err)
		}
		conditions = append(conditions,
			fmt.Sprintf("rejected_at %s TIMESTAMP_NS '%s'", c.op, at.Format("2006-01-02 15:04:05.000000000")))
	}
	return strings.Join(conditions, " AND "), nil
}

// ParseTime parses a time in RFC 3339 with a space or a T. A time without a zone is in UTC.
func ParseTime(text string) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04",
		"2006-01-02",
	} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.64q is not a time: write it as 2024-07-04 08:31:00", text)
}

// Progress is the progress of a replay.
type Progress struct {
	// Done is how many records were processed, of Of in total.
	Done int64 `json:"done"`
	Of   int64 `json:"of"`
	// Stored is the number of records that were stored, or would be in a dry run, and Rows the number of their rows.
	// Failed is the number that failed again. Before is the number that an earlier request stored. Untried is the
	// number that a dry run cannot try, because they are requests of another protocol. Forbidden is the number that was
	// left out, because their senders may not store them.
	Stored    int64 `json:"stored"`
	Rows      int64 `json:"rows"`
	Failed    int64 `json:"failed"`
	Before    int64 `json:"before"`
	Untried   int64 `json:"untried,omitempty"`
	Forbidden int64 `json:"forbidden,omitempty"`
	// Reasons are the first distinct reasons of failed records, with a count for each.
	Reasons []Reason `json:"reasons"`
}

// Reason is a reason why records failed.
type Reason struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

// End is the last line of the answer.
type End struct {
	Progress

	End bool `json:"end"`
	// Until is the time of the last record that was processed; nil if there was none.
	Until *time.Time `json:"until"`
	// Error says why the replay ended early, and Code is the error's code.
	Error string    `json:"error,omitempty"`
	Code  errs.Code `json:"code,omitempty"`
}

// errNoPipeline is the reason why a record cannot be sent.
var errNoPipeline = errors.New("the record did not come through a pipeline: set to_pipeline")

// decode reads a row that a Backend returned.
func decode(line []byte, to any) error {
	if err := json.Unmarshal(line, to); err != nil {
		return fmt.Errorf("read a kept record: %w", err)
	}
	return nil
}
