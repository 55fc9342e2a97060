package pipelineapi

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"cordwood/router/httpapi/exchange"
	"cordwood/router/pipeline/document"
)

// faultyPipeline is the error for a pipeline that does not compile. Its answer has the positions of the errors in
// the text.
type faultyPipeline struct {
	err    error
	source []byte
}

func (e *faultyPipeline) Error() string { return e.err.Error() }
func (e *faultyPipeline) Unwrap() error { return e.err }

// AppendDetail appends the member faults:
//
//	"faults":[{"line":3,"column":9,"end_line":3,"end_column":17,"path":"processors[0].date","message":"…","excerpt":"…"}]
//
// Lines and columns start at 1 and count characters. The end is the position after the last character. If the
// position is not known, the fault covers the whole line.
func (e *faultyPipeline) AppendDetail(out []byte) []byte {
	all := (*document.Error)(nil)
	if !errors.As(e.err, &all) {
		return out
	}
	lines := strings.Split(string(e.source), "\n")
	out = append(out, `,"faults":[`...)
	for i, f := range all.Faults {
		if i > 0 {
			out = append(out, ',')
		}
		s := wholeSpan(f.Span, lines)
		for _, n := range []struct {
			key   string
			value int
		}{{`{"line":`, s.Line}, {`,"column":`, s.Column}, {`,"end_line":`, s.EndLine}, {`,"end_column":`, s.EndColumn}} {
			out = strconv.AppendInt(append(out, n.key...), int64(n.value), 10)
		}
		out = exchange.AppendJSONString(append(out, `,"path":`...), f.Path)
		out = exchange.AppendJSONString(append(out, `,"message":`...), f.Message)
		if f.Excerpt != "" {
			out = exchange.AppendJSONString(append(out, `,"excerpt":`...), f.Excerpt)
		}
		out = append(out, '}')
	}
	return append(out, ']')
}

// wholeSpan completes a span that is only partly known.
func wholeSpan(s document.Span, lines []string) document.Span {
	s.Line = min(max(s.Line, 1), len(lines))
	text := strings.TrimRight(lines[s.Line-1], "\r")
	if s.Column == 0 {
		s.Column = 1 + len(text) - len(strings.TrimLeft(text, " "))
	}
	if s.EndLine == 0 || s.EndColumn == 0 || s.EndLine > len(lines) {
		s.EndLine, s.EndColumn = s.Line, 1+utf8.RuneCountInString(text)
	}
	if s.EndLine == s.Line {
		s.EndColumn = max(s.EndColumn, s.Column)
	}
	return s
}
