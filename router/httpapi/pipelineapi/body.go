package pipelineapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"unicode/utf8"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
)

// maxPipelineBytes is the longest text of a pipeline.
const maxPipelineBytes = 1 << 20

// readPipeline reads an uploaded pipeline, which is the body itself or the first part of a form. The caller owns
// the bytes.
func (h *Handlers) readPipeline(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	contentType := params.Header(r.Header, "Content-Type")
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	form := media == "multipart/form-data"
	if !form && media != "" && media != "text/plain" && !strings.HasSuffix(media, "yaml") {
		advice := ""
		if media == "application/x-www-form-urlencoded" {
			advice = "; curl -d sends this type unless you add -H 'Content-Type: application/x-yaml'"
		}
		return nil, errs.New(errs.Unsupported,
			"invalid content type: %s, expected: application/x-yaml with the pipeline as body, or multipart/form-data with it "+
				"as the first part%s", params.Quote(contentType), advice).
			WithStatus(http.StatusUnsupportedMediaType)
	}
	body, err := h.Bodies.Receive(x, r, x.Start, x.Deadline)
	if err != nil {
		return nil, err
	}
	defer body.Release()
	source := body.Data
	if form {
		if source, err = firstPart(source, contentType); err != nil {
			return nil, err
		}
	}
	switch {
	case len(bytes.TrimSpace(source)) == 0:
		return nil, errs.New(errs.InvalidArguments,
			"pipeline is required in body: it is empty, and should be the YAML document")
	case len(source) > maxPipelineBytes:
		return nil, errs.New(errs.InvalidArguments, "the pipeline has more than %d bytes, which is the maximum",
			maxPipelineBytes)
	case !utf8.Valid(source):
		return nil, errs.New(errs.InvalidArguments, "the pipeline is not valid UTF-8")
	}
	return bytes.Clone(source), nil // the body's memory is reused
}

// firstPart returns the content of the first part of a form.
func firstPart(body []byte, contentType string) ([]byte, error) {
	_, attributes, err := mime.ParseMediaType(contentType)
	if err != nil || attributes["boundary"] == "" {
		return nil, errs.New(errs.InvalidArguments, "the Content-Type multipart/form-data has no boundary")
	}
	part, err := multipart.NewReader(bytes.NewReader(body), attributes["boundary"]).NextRawPart()
	if errors.Is(err, io.EOF) {
		return nil, nil // a form without parts counts as an empty body
	}
	if err == nil {
		var source []byte
		if source, err = io.ReadAll(io.LimitReader(part, maxPipelineBytes+1)); err == nil {
			return source, nil
		}
	}
	return nil, errs.New(errs.InvalidArguments, "Failed to read the multipart body: %s", err)
}
