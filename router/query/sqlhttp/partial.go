package sqlhttp

import (
	"encoding/json"
	"net/http"
	"strings"

	"cordwood/proto/words"
	"cordwood/router/query/format"
)

const (
	// headerPartial lists what is missing from a partial answer, in any format.
	headerPartial  = "x-svc-partial"
	headerWarnings = "x-svc-warnings"
)

// maxPartialHeader limits the length of that list, in bytes.
const maxPartialHeader = 4096

// named replaces ids of nodes by their names in the list of missing parts.
func (h *Handler) named(r *http.Request, partial []string) []string {
	if h.cfg.Named == nil {
		return partial
	}
	out := make([]string, len(partial))
	for i, text := range partial {
		out[i] = h.cfg.Named(r, text)
	}
	return out
}

// setPartialHeader sets the header that lists what is missing.
func setPartialHeader(w http.ResponseWriter, partial []string) {
	if len(partial) == 0 {
		return
	}
	text := strings.Join(partial, "; ")
	if len(text) > maxPartialHeader {
		text = text[:maxPartialHeader] + "…"
	}
	w.Header().Set(headerPartial, headerText(text))
}

// maxWarnings limits the number of warnings of an answer: each INSERT of a text may have some.
const maxWarnings = 20

// setWarningHeaders sets headers with warnings, in any format. The statements succeeded nevertheless.
func setWarningHeaders(w http.ResponseWriter, warnings []string) {
	h := w.Header()
	for _, text := range warnings {
		switch sent := len(h.Values(headerWarnings)); {
		case sent < maxWarnings:
			h.Add(headerWarnings, headerText(text))
		case sent == maxWarnings:
			h.Add(headerWarnings, "there are more warnings, which are not shown: run the statements one by one to see them")
		default:
			return
		}
	}
}

// headerText returns text as printable ASCII.
func headerText(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, words.ASCII(text))
}

// appendPartial lists what is missing in the header and in the answer.
func appendPartial(w http.ResponseWriter, buf *format.Buffer, partial []string) error {
	if len(partial) == 0 {
		return nil
	}
	setPartialHeader(w, partial)
	var missing struct {
		Segments []string `json:"segments,omitempty"`
		Shards   []string `json:"shards,omitempty"`
	}
	for _, text := range partial {
		if strings.Contains(text, ": segment ") {
			missing.Segments = append(missing.Segments, text)
		} else {
			missing.Shards = append(missing.Shards, text)
		}
	}
	list, err := json.Marshal(missing)
	if err != nil {
		return err
	}
	return buf.Append(append([]byte(`,"partial":`), list...))
}
