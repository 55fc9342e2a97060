package params

import (
	"net/http"
	"slices"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
)

// The known parameters of requests. This is the only list of them. The server refuses unknown parameters before it
// calls a handler, and tests compare the lists with the description of the API.
var (
	Ingest = []string{
		"db", "table", "pipeline_name", "version", "skip_error", "ignore_errors", "custom_time_index", "on_reject",
		"source", "msg_field",
	}
	DryRun = []string{
		"db", "table", "pipeline_name", "version", "pipeline_version", "skip_error", "ignore_errors",
		"custom_time_index", "trace", "trace_records",
	}
	// SQL are the parameters of /v1/sql, in the query string or in a form.
	SQL = []string{
		"db", "sql", "limit", "format", "allow_partial", "consistency", "max_staleness", "timeout", "filename", "integers",
		"nulls", "formulas",
	}
	LogQuery = []string{
		"db", "query", "limit", "format", "allow_partial", "consistency", "max_staleness", "timeout", "filename", "integers",
		"nulls", "formulas",
	}
	Tail = []string{
		"db", "table", "search", "message_column", "level_column", "where", "since", "shape", "integers", "max_value_bytes",
	}
	ListPipelines   = []string{"db", "name"}
	PutPipeline     = []string{"db", "note"}
	PipelineVersion = []string{"db", "version"}
	ListSaved       = []string{"kind"}
	ListAccess      = []string{"like", "limit", "offset"}
	AccessState     = []string{"dry_run", "drop"}
	ListGrants      = []string{"for"}
	ListAudit       = []string{
		"principal", "action", "outcome", "address", "database", "object", "since", "until", "limit", "after",
	}
	PutSaved    = []string{"shared"}
	PipelineDDL = []string{"db", "table", "version"}
)

// maxListed limits the number of unknown names that an error lists.
const maxListed = 5

// CheckNames returns an error if a raw query string has unknown parameters.
func CheckNames(raw string, known []string) error {
	var unknown []string
	for raw != "" {
		part, rest, _ := strings.Cut(raw, "&")
		raw = rest
		name, _, _ := strings.Cut(part, "=")
		if part == "" || slices.Contains(known, name) {
			continue
		}
		unknown = addUnknown(unknown, Unescape(name), known)
	}
	return unknownNames(unknown, known)
}

// Check returns an error if there are unknown parameters.
func (v Values) Check(known []string) error {
	var unknown []string
	for i := range v.pairs {
		unknown = addUnknown(unknown, v.pairs[i].name, known)
	}
	return unknownNames(unknown, known)
}

func addUnknown(unknown []string, name string, known []string) []string {
	if len(unknown) < maxListed && !slices.Contains(known, name) && !slices.Contains(unknown, name) {
		unknown = append(unknown, name)
	}
	return unknown
}

func unknownNames(unknown, known []string) error {
	if len(unknown) == 0 {
		return nil
	}
	var texts []string
	for _, name := range unknown {
		like := nearest.DidYouMean(", ", name, known)
		if ours := otherNames[strings.ToLower(name)]; slices.Contains(known, ours) {
			like = ", did you mean " + quoted(ours) + "?"
		}
		texts = append(texts, quoted(name)+like)
	}
	what, takes := "unknown parameter ", "this path takes no parameters"
	if len(unknown) > 1 {
		what = "unknown parameters "
	}
	if len(known) > 0 {
		takes = "this path takes " + strings.Join(known, ", ")
	}
	return errs.New(errs.InvalidArguments, "%s%s; %s", what, strings.Join(texts, "; "), takes)
}

// otherNames maps the names of other systems to our parameters.
var otherNames = map[string]string{
	"q": "sql", "query": "sql", "statement": "sql", "stmt": "sql", "database": "db", "schema": "db", "index": "table",
	"pipeline": "pipeline_name", "output": "format", "timestamp": "custom_time_index", "max": "limit",
}

// ourHeaders are cordwood's request headers that begin with x-svc-. ParseHints checks the headers of hints, which
// have another prefix.
var ourHeaders = []string{
	"x-svc-auth", "x-svc-db-name", "x-svc-hints", "x-svc-log-pipeline-name", "x-svc-page", "x-svc-pipeline-name",
	"x-svc-pipeline-params", "x-svc-replayed", "x-svc-timeout", "x-svc-timezone",
}

// UnknownHeaders returns warnings for headers that begin with x-svc- but have no effect.
func UnknownHeaders(h http.Header) []string {
	const ours = "X-Svc-"
	var without ignored
	for name := range h {
		if !strings.HasPrefix(name, ours) || strings.HasPrefix(name, singleHint) {
			continue
		}
		if name = strings.ToLower(name); !slices.Contains(ourHeaders, name) {
			without.add("header " + quoted(name) + " is not known, and has no effect" +
				nearest.DidYouMean("; ", name, ourHeaders))
		}
	}
	return without.headers()
}
