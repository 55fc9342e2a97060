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

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/ingest/native"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// Protocol is the protocol of a request, in the labels of metrics.
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

// IdentityPipeline is the built-in pipeline. All others are stored.
const IdentityPipeline = pipeline.IdentityName

// The values of Batch.OnReject.
const (
	DropRejects  = "drop"
	StoreRejects = "store"
)

// Request has the records that a sender wants to store. It belongs to one call of Store.
type Request struct {
	Protocol Protocol
	// Caller is the sender. Required. Its rights on all tables are checked before rows are written.
	Caller *access.Caller
	// Deadline is the deadline of the request; zero if there is none. The context of Store has it too.
	Deadline time.Time
	// Memory is the body's share of the memory for bodies, to which the rows are added; nil means that the rows are
	// not counted. The caller must release it.
	Memory Memory
	// Wait makes the request wait for up to 10 s if it would be refused because the server is busy. It is for
	// protocols whose clients drop refused data.
	Wait bool
	// Batches has a batch for each table, in the order in which the request mentions the tables. Each batch is stored
	// or refused separately.
	Batches []*Batch

	charges charges
}

// Memory is a share of the memory for bodies and rows. *body.Body implements it.
type Memory interface {
	// Reserve sets the memory for rows to n bytes, and waits for it if necessary. TryReserve does not wait.
	Reserve(ctx context.Context, n int64) error
	TryReserve(n int64) bool
}

// Batch has the records of a request for one table.
type Batch struct {
	// Database and Table are the destination of the records. A pipeline may add a suffix to the table's name.
	Database, Table string
	// Pipeline is the name of the pipeline: svc_identity or a stored one. If HasVersion is set, Version selects its
	// version. With an Input of columns it is empty.
	Pipeline   string
	Version    string
	HasVersion bool
	// TimeIndex is the text of custom_time_index, if HasTimeIndex is set.
	TimeIndex    string
	HasTimeIndex bool
	// SkipError skips records that fail. Otherwise a record that fails makes the batch fail.
	SkipError bool
	// IgnoreErrors reads malformed bodies up to the first fault, and uses the time of arrival if a custom time index
	// is missing.
	IgnoreErrors bool
	// OnReject decides what happens to skipped records: DropRejects, StoreRejects, or "" for the server's default.
	OnReject string
	// MaxNestedLevels limits the depth to which svc_identity flattens objects; 0 means the default.
	MaxNestedLevels int
	// Tags are fields that become tags, if svc_identity converts them to columns and they contain texts.
	Tags map[string]bool
	// JSON are fields that svc_identity stores as JSON in one column, if they are objects.
	JSON []string
	// Hints are the client's table options for a table that does not exist yet.
	Hints map[string]string
	// Key identifies the batch, so that it is stored once if it is sent again. The user is part of it. It
	// is empty if the batch has none.
	Key string
	// KeyBody is a hash of the content of the batch, for a Key. If it is 0, the hash of a Body is used, and none for
	// other inputs. The same Key with another hash is refused.
	KeyBody uint64
	// Input is the source of the records. Required.
	Input Input
	// Bytes is the decompressed length of the records in the request, for metrics.
	Bytes int64
	// Each requests Outcome.Refused.
	Each bool
	// Replayed identifies the rejects that are replayed; nil if there is none.
	Replayed *Replayed

	// newColumns counts the columns that the batch and other batches add to tables, nil if there are no other
	// batches.
	newColumns *pipeline.NewColumns

	full      *errs.Quota // the quota of tables that refused a table of this batch
	checked   bool
	refreshed bool // whether the view was refreshed for this batch
	timeIndex *pipeline.TimeIndex
	compiled  *pipeline.Pipeline // nil means svc_identity
	version   int64              // the version of compiled
	key       write.Key
}

// Outcome is the result of a batch.
type Outcome struct {
	// Err is the reason why nothing of the batch is stored, or why the outcome is unknown. If it is nil, all records
	// that were not refused are stored. It is or wraps an *errs.Error. If the same batch may succeed later, its code
	// is ShardBusy or its status 429 or 503.
	Err error
	// Written describes the stored rows.
	Written write.Result
	// Records is the number of records, including refused ones.
	Records int
	// Skipped is the number of refused records, and SkippedBy counts them by step.
	Skipped   int
	SkippedBy pipeline.SkipCounts
	// Reasons has the first reasons. If Batch.Each is set, Refused has the reasons of all refused records in order. If
	// a record became several rows, some of them may be refused, and it may have several reasons.
	Reasons, Refused []pipeline.Reason
	// Kept is set if refused records are kept in svc_private.rejects.
	Kept bool
	// Dropped is the number of records that a filter or a program of the pipeline dropped.
	Dropped int
	// Expired is the number of rows older than the ttl of their table.
	Expired int
	// Warnings describe values that were changed when stored.
	Warnings []string
	// WriteTime is the duration of the write.
	WriteTime time.Duration
}

// setKey sets the key of a batch that has one.
func (s *Service) setKey(q *Request, b *Batch) {
	if b.Key == "" {
		return
	}
	s.metrics.of(q.Protocol).keyed.Inc()
	b.key = write.Key{Text: b.Key, User: q.Caller.User, Body: b.KeyBody}
	if body, ok := b.Input.(Body); ok && b.KeyBody == 0 {
		b.key.Body = max(xxhash.Sum64(body.Data), 1)
	}
	if b.Replayed != nil {
		// A replayed reject is recognised even if it goes through another pipeline.
		b.key.User = replayUser
	} else if b.key.Body != 0 {
		b.key.Params = b.paramsHash()
	}
}

// paramsHash returns a hash of the client's parameters that, besides the body, decide which rows are created and in
// which tables they are stored. OnReject is not included, because it concerns records that become no rows.
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

// kind returns the format of a body, or 0 if the input is not a body.
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
