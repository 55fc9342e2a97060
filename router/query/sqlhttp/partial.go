package sqlhttp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"cordwood/proto/words"
	"cordwood/router/query/format"
)

const (
	// headerPartial lists what is missing from a partial answer, in any format.
	headerPartial  = "x-svc-partial"
	headerWarnings = "x-svc-warnings"
)

// maxPartialHeader limits the length of that list, in bytes. A longer one ends with the number of the parts that it
// does not name.
const maxPartialHeader = 4096

// named replaces ids of nodes by their names in texts.
func (h *Handler) named(r *http.Request, texts []string) []string {
	if h.cfg.Named == nil || len(texts) == 0 {
		return texts
	}
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = h.cfg.Named(r, text)
	}
	return out
}

// namedIn does the same for the reasons why parts are missing.
func (h *Handler) namedIn(r *http.Request, list []words.Missing) []words.Missing {
	out := slices.Clone(list)
	for i := range out {
		out[i].Reason = h.named(r, []string{out[i].Reason})[0]
	}
	return out
}

// setPartialHeader sets the header that lists what is missing.
func setPartialHeader(w http.ResponseWriter, partial []words.Missing) {
	if len(partial) == 0 {
		return
	}
	ascii := slices.Clone(partial)
	for i := range ascii {
		ascii[i].Table, ascii[i].Reason = headerText(ascii[i].Table), headerText(ascii[i].Reason)
	}
	w.Header().Set(headerPartial, words.JoinMissing(ascii, maxPartialHeader))
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

// headerText returns text as one line of printable ASCII.
func headerText(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n':
			return ' '
		case c < ' ' || c > '~':
			return '?'
		}
		return c
	}, words.ASCII(text))
}

// The parts that are missing in an answer, as the JSON shows them.
type (
	missing struct {
		Shards   []missingShard   `json:"shards,omitempty"`
		Segments []missingSegment `json:"segments,omitempty"`
		Other    []string         `json:"other,omitempty"`
	}
	missingShard struct {
		Table  string `json:"table,omitempty"`
		Shard  uint32 `json:"shard"`
		Reason string `json:"reason"`
	}
	missingSegment struct {
		Table   string `json:"table,omitempty"`
		Segment string `json:"segment"`
		Reason  string `json:"reason"`
	}
)

// missingOf returns the missing parts, each once, even if a statement reads a table several times.
func missingOf(partial []words.Missing) (out missing) {
	for _, m := range partial {
		switch {
		case m.Shard != 0:
			out.Shards = addOnce(out.Shards, missingShard{m.Table, m.Shard, m.Reason})
		case m.Segment != "":
			out.Segments = addOnce(out.Segments, missingSegment{m.Table, m.Segment, m.Reason})
		default:
			out.Other = addOnce(out.Other, m.String())
		}
	}
	return out
}

func addOnce[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// appendPartial lists what is missing in the header and in the answer.
func appendPartial(w http.ResponseWriter, buf *format.Buffer, partial []words.Missing) error {
	if len(partial) == 0 {
		return nil
	}
	setPartialHeader(w, partial)
	list, err := json.Marshal(missingOf(partial))
	if err != nil {
		return err
	}
	return buf.Append(append([]byte(`,"partial":`), list...))
}
