package pipelineapi

import (
	"context"
	"net/http"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/pipelines"
)

// A request can store a pipeline on the condition that a certain version is still the newest. So it does not
// overwrite a version that another user has stored in the meantime. The condition is If-Match with the ETag of the
// version, or If-None-Match: * if the pipeline must not exist.

// quoteVersion returns the ETag of a version. It contains no space.
func quoteVersion(version int64) string {
	return `"` + strings.Replace(pipelines.FormatVersion(version), " ", "T", 1) + `Z"`
}

// basedOn reads the condition of a request. It returns nil if there is none.
func basedOn(r *http.Request) (*int64, error) {
	match, none := params.Header(r.Header, "If-Match"), params.Header(r.Header, "If-None-Match")
	version := int64(0)
	switch {
	case match == "" && none == "":
		return nil, nil
	case match != "" && none != "":
		return nil, errs.New(errs.InvalidArguments, "use either If-Match or If-None-Match")
	case none == "*":
		return &version, nil
	case none != "":
		return nil, errs.New(errs.InvalidArguments, "If-None-Match: %s: only * is possible, for a pipeline that does not "+
			"exist yet", params.Quote(none))
	}
	text, quoted := strings.CutSuffix(strings.TrimPrefix(match, `"`), `"`)
	if !quoted {
		return nil, errs.New(errs.InvalidArguments, "If-Match: %s: expected the version in quotes, as in the header ETag",
			params.Quote(match))
	}
	version, err := pipelines.ParseVersion(text)
	if err != nil {
		return nil, err
	}
	return &version, nil
}

// newerVersion returns the error for a condition that is not met: status 412, with the newest version, if there is
// one.
func (h *Handlers) newerVersion(ctx context.Context, name string, err error) error {
	if h.Fresh != nil { // an error is ignored: an answer with an older version is better than none
		_ = h.Fresh(ctx)
	}
	newest, _ := h.Store.Pipeline(name)
	return &staleVersion{errs.From(err).WithStatus(http.StatusPreconditionFailed), newest}
}

// staleVersion is the error if the pipeline has changed in the meantime.
type staleVersion struct {
	err    *errs.Error
	newest *metapb.PipelineVersion // nil if there is none
}

func (e *staleVersion) Error() string { return e.err.Error() }
func (e *staleVersion) Unwrap() error { return e.err }

// AppendDetail appends the member newest.
func (e *staleVersion) AppendDetail(out []byte) []byte {
	if e.newest == nil {
		return out
	}
	out = appendVersion(append(out, `,"newest":`...), e.newest.Name, e.newest.Version)
	return append(appendAuthor(out, e.newest), '}')
}

// appendAuthor appends the author and the note of a version, if they are known.
func appendAuthor(out []byte, p *metapb.PipelineVersion) []byte {
	if p.By != "" {
		out = exchange.AppendJSONString(append(out, `,"by":`...), p.By)
	}
	if p.Note != "" {
		out = exchange.AppendJSONString(append(out, `,"note":`...), p.Note)
	}
	return out
}
