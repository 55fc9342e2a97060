package ingest

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"cordwood/router/access"
	"cordwood/router/ingest/native"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// Protocol is what a request came by, as metrics name it.
type Protocol string

// The protocols.
const (
	Native        Protocol = "native"
	Elasticsearch Protocol = "elasticsearch"
	Loki          Protocol = "loki"
	OTLP          Protocol = "otlp"
	OTLPGRPC      Protocol = "otlp_grpc"
	Splunk        Protocol = "splunk"
	Syslog        Protocol = "syslog"
	Journald      Protocol = "journald"
	Forward       Protocol = "forward"
	GELF          Protocol = "gelf"
	Datadog       Protocol = "datadog"
	Firehose      Protocol = "firehose"
	Heroku        Protocol = "heroku"
)

// IdentityPipeline is the built-in pipeline; the others are stored.
const IdentityPipeline = pipeline.IdentityName

// What becomes of records that are skipped.
const (
	DropRejects  = "drop"
	StoreRejects = "store"
)

// Request is what a sender wants stored. It belongs to one call of Store.
type Request struct {
	Protocol Protocol
	// Caller is who sends it. Required. It is asked with the names of all tables before rows
	// are written.
	Caller *access.Caller
	// Deadline is when the request's time is up; zero: never. The context of Store has it too.
	Deadline time.Time
	// Memory holds the body's share of the memory for bodies, and gets the share of its rows; nil: the
	// rows are not counted. It is the caller's to release.
	Memory Memory
	// Wait has the request wait for 10 s where it would be refused because much is under way. It
	// is for protocols whose clients lose what is refused.
	Wait bool
	// Batches are what is to be stored, one for each table, in the order in which the request
	// mentions the tables. Each is stored, or refused, by itself.
	Batches []*Batch
}

// Memory is a share of the memory for bodies and rows. *body.Body is one.
type Memory interface {
	// Reserve holds n bytes for rows, in all, and waits for them; TryReserve does not wait.
	Reserve(ctx context.Context, n int64) error
	TryReserve(n int64) bool
}

// Batch is the records of a request for one table.
type Batch struct {
	// Database and Table say where the records go. A pipeline may add to the table's name.
	Database, Table string
	// Pipeline names what the records go through: svc_identity or a stored one, and if HasVersion
	// that version. With an Input of columns it is empty.
	Pipeline   string
	Version    string
	HasVersion bool
	// TimeIndex is the text of custom_time_index; "" with HasTimeIndex false: none.
	TimeIndex    string
	HasTimeIndex bool
	// SkipError leaves records out that fail; otherwise one that fails fails the batch.
	SkipError bool
	// IgnoreErrors reads malformed bodies as far as it goes, and lets the time of arrival stand in
	// for a custom time index.
	IgnoreErrors bool
	// OnReject says what becomes of skipped records: DropRejects, StoreRejects, or "" for what the
	// server does.
	OnReject string
	// MaxNestedLevels bounds how deep svc_identity flattens; 0: the default.
	MaxNestedLevels int
	// Tags are fields that become tags, if svc_identity makes columns of them and they are texts.
	Tags map[string]bool
	// JSON are fields that svc_identity keeps as JSON, in one column, if they are objects.
	JSON []string
	// Hints are table options as the client gave them, for a table that does not exist yet.
	Hints map[string]string
	// Key names the batch, so that it may come again and is stored once. The user is part of it.
	// "": none.
	Key string
	// KeyBody is a hash of the content of the batch, for a Key; 0: the hash of a Body is used, and
	// none for other inputs. The same Key with another hash is refused.
	KeyBody uint64
	// Input has the records. Required.
	Input Input
	// Bytes is the length of the records in the request, decompressed, for metrics.
	Bytes int64
	// Each asks for Outcome.Refused.
	Each bool
	// Replayed says which rejects the records are; nil: none.
	Replayed *Replayed

	// newColumns counts the columns that it adds to tables, with the columns of other batches; nil: there are
	// no other batches.
	newColumns *pipeline.NewColumns

	checked   bool
	refreshed bool // the view was looked at again for its sake
	timeIndex *pipeline.TimeIndex
	compiled  *pipeline.Pipeline // nil: svc_identity
	version   int64              // of compiled
	key       write.Key
}

// Outcome is what became of a batch.
type Outcome struct {
	// Err is why nothing of the batch is stored, or why that is unknown; nil: the records that were
	// not refused are stored. It is an *errs.Error, or wraps one: of code ShardBusy or another of
	// status 429 or 503 if the same batch may succeed later.
	Err error
	// Written reports the rows.
	Written write.Result
	// Records is how many there were, refused ones included.
	Records int
	// Skipped is how many records were refused, and SkippedBy at which step.
	Skipped   int
	SkippedBy pipeline.SkipCounts
	// Reasons reports the first of them, and Refused, if Batch.Each asks for it, of all, in
	// order. A record that became several rows may be refused in part, or more than once.
	Reasons, Refused []pipeline.Reason
	// Kept says that refused records are in svc_private.rejects.
	Kept bool
	// Dropped is how many records a filter or a program of the pipeline dropped.
	Dropped int
	// Expired is how many rows are older than the ttl of their table.
	Expired int
	// Warnings tell what was stored otherwise than it came.
	Warnings []string
	// WriteTime is how long storing took.
	WriteTime time.Duration
}

// paramsHash returns a hash of what decides, beside the body, which rows it becomes and where they go, as the
// client asked for it. OnReject is not part of it: it is about records that become none.
func (b *Batch) paramsHash() uint64 {
	out := make([]byte, 0, 256)
	for _, text := range []string{b.Database, b.Table, b.Pipeline, b.Version, b.TimeIndex} {
		out = append(binary.AppendUvarint(out, uint64(len(text))), text...)
	}
	for _, yes := range []bool{b.HasVersion, b.HasTimeIndex, b.SkipError, b.IgnoreErrors} {
		out = strconv.AppendBool(out, yes)
	}
	out = binary.AppendUvarint(append(out, byte(b.kind())), uint64(b.MaxNestedLevels)) //nolint:gosec // it is not negative
	for _, option := range slices.Sorted(maps.Keys(b.Hints)) {
		for _, text := range []string{option, b.Hints[option]} {
			out = append(binary.AppendUvarint(out, uint64(len(text))), text...)
		}
	}
	return xxhash.Sum64(out)
}

// kind returns the format of a body; 0: the records are none.
func (b *Batch) kind() native.Kind {
	if body, ok := b.Input.(Body); ok {
		return body.Kind
	}
	return 0
}

// FirstReasons joins the first reasons for skipped records into one line.
func FirstReasons(reasons []pipeline.Reason) string {
	const most = 3
	var parts []string
	for _, r := range reasons[:min(len(reasons), most)] {
		parts = append(parts, fmt.Sprintf("record %d: %s", r.Index, r.Error))
	}
	return strings.Join(parts, "; ")
}
