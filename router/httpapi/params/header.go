package params

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// Header returns the value of the first named header that is not blank, without surrounding space, or "". The names
// are in order of preference, and in the canonical form of net/http, such as X-Svc-Auth.
func Header(h http.Header, names ...string) string {
	for _, name := range names {
		if values := h[name]; len(values) > 0 {
			if v := strings.TrimSpace(values[0]); v != "" {
				return v
			}
		}
	}
	return ""
}

// Database returns the database that a request names in a header or in its query string, or fallback.
func Database(h http.Header, query Values, fallback string) string {
	name := Header(h, "X-Svc-Db-Name")
	if name == "" {
		name = query.Get("db")
	}
	if name = strings.TrimPrefix(name, "svc-"); name == "" {
		name = fallback
	}
	return name
}

// PipelineName returns the pipeline that a request names in a header or in its query string, or empty if there is
// none.
func PipelineName(h http.Header, query Values) string {
	if name := Header(h, "X-Svc-Pipeline-Name", "X-Svc-Log-Pipeline-Name"); name != "" {
		return name
	}
	return query.Get("pipeline_name")
}

// maxKey limits the length of a request's key, in bytes.
const maxKey = 255

// Key returns the value of the header Idempotency-Key, which identifies a request that may be sent again, or empty if
// there is none.
func Key(h http.Header) (string, error) {
	values := h["Idempotency-Key"]
	if len(values) == 0 {
		return "", nil
	}
	key := strings.TrimSpace(values[0])
	printable := func(c rune) bool { return c >= ' ' && c <= '~' }
	if len(values) > 1 || key == "" || len(key) > maxKey ||
		strings.ContainsFunc(key, func(c rune) bool { return !printable(c) }) {
		return "", errs.New(errs.InvalidArguments,
			"the header Idempotency-Key must be given once, with 1 to %d printable ASCII characters; "+
				"for example a random UUID for each request", maxKey)
	}
	return key, nil
}

// DefaultNestedLevels is the default depth to which nested objects become columns.
const DefaultNestedLevels = 10

// MostNestedLevels is the largest effective max_nested_levels, because JSON with deeper nesting counts as
// malformed.
const MostNestedLevels = 128

// PipelineParams has the values of the header x-svc-pipeline-params.
type PipelineParams struct {
	// MaxNestedLevels is the depth to which nested objects become columns, at least 1.
	MaxNestedLevels int
	// SkipError replaces the query parameter skip_error if HasSkipError is set.
	SkipError    bool
	HasSkipError bool
	// Warnings list the parts of the header that have no effect.
	Warnings []string
}

var pipelineParamNames = []string{"max_nested_levels", "skip_error", "flatten_json_object"}

// ParsePipelineParams parses the header x-svc-pipeline-params: pairs of key and value, joined by '&', without
// escapes. If a key is repeated, the last value counts. Unknown keys and invalid values only cause a warning.
func ParsePipelineParams(header string) PipelineParams {
	p := PipelineParams{MaxNestedLevels: DefaultNestedLevels}
	var without ignored
	var levels bool
	for header != "" {
		part, rest, _ := strings.Cut(header, "&")
		header = rest
		key, value, found := strings.Cut(part, "=")
		switch {
		case !found:
			without.addPart(part)
		case key == "max_nested_levels":
			if levels {
				without.addRepeated(key, "last")
			}
			levels = true
			n, err := strconv.ParseUint(value, 10, 64)
			if errors.Is(err, strconv.ErrRange) {
				n, err = MostNestedLevels, nil
			}
			if err != nil || n < 1 {
				n = DefaultNestedLevels
				without.add(fmt.Sprintf("max_nested_levels=%s is not a positive integer; %d was used", quoted(value), n))
			}
			p.MaxNestedLevels = int(min(n, MostNestedLevels))
		case key == "skip_error":
			if p.HasSkipError {
				without.addRepeated(key, "last")
			}
			p.SkipError, p.HasSkipError = truthy(value), true
		case key == "flatten_json_object": // always done
		default:
			without.addName(key, pipelineParamNames)
		}
	}
	p.Warnings = without.warnings("x-svc-pipeline-params")
	return p
}

// truthy reports whether a text means yes.
func truthy(s string) bool {
	switch strings.ToLower(s) {
	case "true", "1", "yes", "on", "t":
		return true
	}
	return false
}

// singleHints are the hints with separate headers, which are deprecated.
var singleHints = [...]string{
	"auto_create_table", "ttl", "append_mode", "merge_mode", "on_type_conflict", "physical_table", "skip_wal",
	"read_preference",
}

// ParseHints returns the table options in a request's headers, by the name of the option. They are in x-svc-hints, a
// list of k=v, or, without that header, in the headers x-svc-hint-<option>. hints is nil if there are none. warnings
// lists parts without effect.
func ParseHints(h http.Header) (hints map[string]string, warnings []string) {
	list := ""
	if values := h["X-Svc-Hints"]; len(values) > 0 {
		list = strings.Join(values, ",")
	}
	if strings.TrimSpace(list) == "" {
		return singleHintHeaders(h)
	}
	var without ignored
	for list != "" {
		part, rest, _ := strings.Cut(list, ",")
		list = rest
		key, value, found := strings.Cut(part, "=")
		if key = strings.TrimSpace(key); !found || key == "" {
			without.addPart(part)
			continue
		}
		option, known := schema.HintName(key)
		if !known {
			without.addName(key, schema.HintNames())
			continue
		}
		if hints == nil {
			hints = make(map[string]string)
		}
		if _, twice := hints[option]; twice {
			without.addRepeated(option, "last")
		}
		hints[option] = strings.TrimSpace(value)
	}
	return hints, append(without.warnings("x-svc-hints"), zeroTTL(hints)...)
}

// zeroTTL returns a warning if the ttl is zero, which removes no rows.
func zeroTTL(hints map[string]string) []string {
	if value := hints[schema.OptionTTL]; value != "" && schema.ZeroTTL(value) {
		return []string{"the hint ttl is " + value + ": a table that is created with it keeps its rows forever"}
	}
	return nil
}

// singleHint is the prefix of the single headers, in the canonical form of net/http.
const singleHint = "X-Svc-Hint-"

func singleHintHeaders(h http.Header) (hints map[string]string, warnings []string) {
	var without ignored
	for name, values := range h {
		name, ok := strings.CutPrefix(name, singleHint)
		if !ok || len(values) == 0 {
			continue
		}
		name = strings.ToLower(name)
		if !slices.Contains(singleHints[:], name) {
			without.addName(name, singleHints[:])
			continue
		}
		v := strings.TrimSpace(values[0])
		switch _, known := schema.HintName(name); {
		case v == "":
			continue
		case !known:
			without.addName(name, nil)
			continue
		}
		if hints == nil {
			hints = make(map[string]string)
		}
		if len(values) > 1 {
			without.addRepeated(name, "first")
		}
		hints[name] = v
	}
	return hints, append(without.warnings("x-svc-hint-…"), zeroTTL(hints)...)
}
