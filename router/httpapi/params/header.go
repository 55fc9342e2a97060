package params

import (
	"net/http"
	"strconv"
	"strings"

	"cordwood/proto/errs"
)

// Header returns the first of the named headers that has a value once trimmed, or "".
// The names are given in order of preference, and found at least cost if they are in
// canonical form: X-Svc-Auth.
func Header(h http.Header, names ...string) string {
	for _, name := range names {
		if v := strings.TrimSpace(h.Get(name)); v != "" {
			return v
		}
	}
	return ""
}

// maxKey bounds the text of a request's key, in bytes.
const maxKey = 255

// Key reads the header Idempotency-Key, by which a client calls a request that it may send
// again; empty: there is none.
func Key(h http.Header) (string, error) {
	values := h.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key := strings.TrimSpace(values[0])
	printable := func(c rune) bool { return c >= ' ' && c <= '~' }
	if len(values) > 1 || key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return !printable(c) }) {
		return "", errs.New(errs.InvalidArguments,
			"the header Idempotency-Key must be given once, with 1 to %d printable ASCII characters; a random UUID for each request will do", maxKey)
	}
	return key, nil
}

// DefaultNestedLevels is the depth to which nested objects become columns.
const DefaultNestedLevels = 10

// PipelineParams is what the header x-svc-pipeline-params says.
type PipelineParams struct {
	// MaxNestedLevels is the depth to which nested objects become columns, at least 1.
	MaxNestedLevels int
	// SkipError replaces the query parameter of that name if HasSkipError is set.
	SkipError    bool
	HasSkipError bool
}

// ParsePipelineParams reads the header x-svc-pipeline-params: pairs of key and value,
// joined by '&', without escapes. The last of equal keys wins; what it does not know or
// cannot read it ignores.
func ParsePipelineParams(header string) PipelineParams {
	p := PipelineParams{MaxNestedLevels: DefaultNestedLevels}
	for header != "" {
		part, rest, _ := strings.Cut(header, "&")
		header = rest
		key, value, found := strings.Cut(part, "=")
		if !found {
			continue
		}
		switch key {
		case "max_nested_levels":
			p.MaxNestedLevels = DefaultNestedLevels
			if n, err := strconv.ParseInt(value, 10, 32); err == nil && n > 0 {
				p.MaxNestedLevels = int(n)
			}
		case "skip_error":
			p.SkipError, p.HasSkipError = truthy(value), true
		}
	}
	return p
}

// truthy tells whether a text means yes.
func truthy(s string) bool {
	switch strings.ToLower(s) {
	case "true", "1", "yes", "on", "t":
		return true
	}
	return false
}

// maxHints bounds the hints of one request.
const maxHints = 100

// singleHints are the hints that have a header of their own, which is deprecated.
var singleHints = [...]string{
	"auto_create_table", "ttl", "append_mode", "merge_mode", "physical_table", "skip_wal", "read_preference",
}

// ParseHints returns the table options that a request's headers ask for, by the
// option's name: those of x-svc-hints, a list of k=v, or if there is none those of the
// single headers x-svc-hint-<option>. Parts that are not k=v are ignored. The result is
// nil if there are none.
func ParseHints(h http.Header) map[string]string {
	list := ""
	if values := h["X-Svc-Hints"]; len(values) > 0 {
		list = strings.Join(values, ",")
	}
	if strings.TrimSpace(list) == "" {
		return singleHintHeaders(h)
	}
	var hints map[string]string
	for list != "" && len(hints) < maxHints {
		part, rest, _ := strings.Cut(list, ",")
		list = rest
		key, value, found := strings.Cut(part, "=")
		if key = strings.TrimSpace(key); !found || key == "" {
			continue
		}
		if hints == nil {
			hints = make(map[string]string)
		}
		hints[key] = strings.TrimSpace(value)
	}
	return hints
}

// singleHint begins the names of the single headers, as net/http keeps them.
const singleHint = "X-Svc-Hint-"

func singleHintHeaders(h http.Header) map[string]string {
	some := false
	for name := range h {
		some = some || strings.HasPrefix(name, singleHint)
	}
	if !some {
		return nil
	}
	var hints map[string]string
	for _, name := range singleHints {
		v := Header(h, singleHint+name)
		if v == "" {
			continue
		}
		if hints == nil {
			hints = make(map[string]string)
		}
		hints[name] = v
	}
	return hints
}
