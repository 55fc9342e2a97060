// Package pipelineapi has the handlers of stored pipelines: they store, return, list and delete pipelines, return the
// statement that creates a pipeline's table, and describe pipelines and VRL for editors.
//
// Handlers may be used concurrently.
package pipelineapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/router/body"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
	"cordwood/router/pipeline"
	"cordwood/router/pipelines"
)

// Store is the part of the metadata client for pipelines.
type Store interface {
	ingest.StoredPipelines
	// Propose sends a command through the metadata log. When it returns, its changes are in the local view.
	Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error)
}

// pipelineType is the content type of stored pipelines.
const pipelineType = "yaml"

// pipelineName matches valid names of pipelines.
var pipelineName = lazyregexp.New(`^[A-Za-z0-9_.:-]{1,128}$`)

// Handlers answer the paths of stored pipelines. All fields are required, except Fresh.
type Handlers struct {
	// Store has the pipelines, and Compiled compiles them.
	Store    Store
	Compiled *ingest.Pipelines
	// Options are the options for compiling pipelines.
	Options pipeline.Options
	// Catalog has the existing tables.
	Catalog Catalog
	// Fresh waits until Store has everything that was acknowledged before the call; nil means that it does not wait.
	Fresh func(ctx context.Context) error
	// Bodies reads uploaded pipelines.
	Bodies *body.Reader
	// Now is the clock.
	Now func() time.Time
}

// Catalog finds tables.
type Catalog interface {
	Table(database, name string) (*schema.Table, bool)
}

// pathName returns the name of the pipeline in the path.
func pathName(r *http.Request) (string, error) {
	name, err := url.PathUnescape(mux.Vars(r)["name"])
	if err != nil || name == "" {
		return "", errs.New(errs.InvalidArguments, "the path has no pipeline name: write /v1/pipelines/NAME")
	}
	return name, nil
}

// changeableName is like pathName, for a request that changes the pipeline.
func changeableName(r *http.Request) (string, error) {
	name, err := pathName(r)
	switch {
	case err != nil:
		return "", err
	case strings.HasPrefix(name, ingest.ReservedPrefix):
		return "", errs.New(errs.InvalidArguments, "pipeline_name cannot start with %s", ingest.ReservedPrefix)
	case !pipelineName.MatchString(name):
		return "", errs.New(errs.InvalidArguments,
			"Invalid pipeline name: %s; 1 to 128 letters, digits and _ . : - are allowed", params.Quote(name))
	}
	return name, nil
}

// meansDryRun reports whether a request to store a pipeline was probably meant as a dry run.
func meansDryRun(name string, r *http.Request) bool {
	media, _, _ := strings.Cut(params.Header(r.Header, "Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json") &&
		strings.EqualFold(strings.NewReplacer("-", "", "_", "").Replace(name), "dryrun")
}

// Put stores a pipeline as the newest version of its name, if it compiles.
func (h *Handlers) Put(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	name, err := changeableName(r)
	if err != nil {
		return nil, err
	}
	if meansDryRun(name, r) {
		return nil, errs.New(errs.InvalidArguments, "a dry run is POST /v1/pipelines/_dryrun; POST %s stores a pipeline "+
			"of the name %s, and takes its YAML as application/x-yaml", r.URL.Path, name)
	}
	query, err := params.ParseOnce(r.URL.RawQuery, "note")
	if err != nil {
		return nil, err
	}
	basedOn, err := basedOn(r)
	if err != nil {
		return nil, err
	}
	source, err := h.readPipeline(x, r)
	if err != nil {
		return nil, err
	}
	compiled, err := Compile(source, h.Options)
	if err != nil {
		return nil, err
	}
	result, err := h.Store.Propose(r.Context(), &metapb.Command{
		TimeUnixNano: h.Now().UnixNano(),
		Op: &metapb.Command_PutPipeline{PutPipeline: &metapb.PutPipeline{
			Name: name, ContentType: pipelineType, Source: source, Note: query.Get("note"), By: x.User(), BasedOn: basedOn,
		}},
	})
	if err != nil && basedOn != nil && errs.CodeOf(err) == errs.IllegalState {
		return nil, h.newerVersion(r.Context(), name, err)
	}
	if err != nil {
		return nil, err
	}
	version := result.GetPipeline().GetVersion()
	x.Tag = quoteVersion(version)
	h.Compiled.Add(name, version, compiled, source)
	x.Message = "version " + pipelines.FormatVersion(version)
	out := append(appendVersion([]byte(`"pipelines":[`), name, version), "}]"...)
	return h.appendWarnings(x, out, name, compiled), nil
}

// Compile compiles a text that a client sent. The error has code InvalidArguments.
func Compile(source []byte, options pipeline.Options) (*pipeline.Pipeline, error) {
	if len(source) > maxPipelineBytes {
		return nil, errs.New(errs.InvalidArguments, "Failed to build pipeline: it has %d bytes: at most %d are allowed",
			len(source), maxPipelineBytes)
	}
	p, err := pipeline.Compile(source, options)
	if err != nil && errs.CodeOf(err) == errs.Unknown {
		err = errs.New(errs.InvalidArguments, "%s", err)
	}
	if err != nil {
		return nil, &faultyPipeline{err, source}
	}
	return p, nil
}

// appendWarnings appends the member warnings, if there are any: the warnings of the compiler, and a warning for each
// pipeline that the dispatcher uses but that does not exist. It may be uploaded later.
func (h *Handlers) appendWarnings(x *exchange.Exchange, out []byte, name string, p *pipeline.Pipeline) []byte {
	warnings := slices.Clone(p.Warnings())
	for _, target := range p.Targets() {
		_, ok := h.Store.Pipeline(target)
		if ok && x.Caller.May(ingest.MayRead(target)) || target == ingest.IdentityPipeline || target == name {
			continue
		}
		warnings = append(warnings, "the dispatcher sends records to the pipeline "+target+
			", which does not exist; requests with such records fail until it does")
	}
	if len(warnings) == 0 {
		return out
	}
	return exchange.AppendJSONStrings(append(out, `,"warnings":`...), warnings)
}

// appendVersion appends an object with name and version, without its closing brace.
func appendVersion(out []byte, name string, version int64) []byte {
	out = exchange.AppendJSONString(append(out, `{"name":`...), name)
	out = append(out, `,"version":"`...)
	out = append(out, pipelines.FormatVersion(version)...)
	return append(out, '"')
}

// Get answers with a version's text, byte for byte.
func (h *Handlers) Get(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	name, err := pathName(r)
	if err != nil {
		return nil, err
	}
	query, err := params.ParseOnce(r.URL.RawQuery, "version")
	if err != nil {
		return nil, err
	}
	found, err := h.findVersion(r.Context(), name, query)
	if err != nil {
		return nil, err
	}
	text, err := h.Store.PipelineText(r.Context(), name, found.Version)
	if err != nil {
		return nil, err
	}
	x.Tag = quoteVersion(found.Version)
	out := appendVersion([]byte(`"pipelines":[`), name, found.Version)
	out = exchange.AppendJSONString(append(appendAuthor(out, found), `,"pipeline":`...), string(text))
	return append(out, "}]"...), nil
}

// findVersion returns the version in the query, or the newest version.
func (h *Handlers) findVersion(ctx context.Context, name string, query params.Values) (*metapb.PipelineVersion, error) {
	text, has := query.Lookup("version")
	if !has {
		if p, ok := h.Store.Pipeline(name); ok {
			return p, nil
		}
		return nil, h.Compiled.NotFound(ctx, name, "latest")
	}
	version, err := pipelines.ParseVersion(text)
	if err != nil {
		return nil, err
	}
	if p, ok := h.Store.PipelineVersion(name, version); ok {
		return p, nil
	}
	return nil, h.Compiled.NotFound(ctx, name, pipelines.FormatVersion(version))
}

// Delete removes one version. If it does not exist, this is not an error.
func (h *Handlers) Delete(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	name, err := changeableName(r)
	if err != nil {
		return nil, err
	}
	query, err := params.ParseOnce(r.URL.RawQuery, "version")
	if err != nil {
		return nil, err
	}
	text, has := query.Lookup("version")
	if !has || text == "" {
		return nil, errs.New(errs.InvalidArguments, "version is required")
	}
	version, err := pipelines.ParseVersion(text)
	if err != nil {
		return nil, err
	}
	x.Message = "version " + pipelines.FormatVersion(version)
	result, err := h.Store.Propose(r.Context(), &metapb.Command{
		TimeUnixNano: h.Now().UnixNano(),
		Op:           &metapb.Command_DeletePipeline{DeletePipeline: &metapb.DeletePipeline{Name: name, Version: version}},
	})
	if err != nil {
		return nil, err
	}
	if result.GetPipeline() == nil {
		x.Message += " did not exist"
		return []byte(`"pipelines":[]`), nil
	}
	return append(appendVersion([]byte(`"pipelines":[`), name, version), "}]"...), nil
}

// List lists the pipelines that the sender may read, each with its newest version and all versions, the newest first.
// The query parameter name selects one pipeline.
func (h *Handlers) List(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	query, err := params.ParseOnce(r.URL.RawQuery, "name")
	if err != nil {
		return nil, err
	}
	only := query.Get("name")
	all := h.Store.Pipelines()
	var out bytes.Buffer
	out.WriteString(`"pipelines":[`)
	first := true
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Name == all[0].Name {
			n++
		}
		versions := all[:n]
		all = all[n:]
		if only != "" && versions[0].Name != only || !x.Caller.May(ingest.MayRead(versions[0].Name)) {
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		newest := versions[n-1]
		out.Write(appendVersion(nil, newest.Name, newest.Version))
		out.Write(appendAuthor(nil, newest))
		fmt.Fprintf(&out, `,"content_type":%q,"size":%d,"versions":[`, newest.ContentType, newest.Size)
		for i := n - 1; i >= 0; i-- {
			fmt.Fprintf(&out, `{"version":"%s","size":%d`, pipelines.FormatVersion(versions[i].Version), versions[i].Size)
			out.Write(append(appendAuthor(nil, versions[i]), '}'))
			if i > 0 {
				out.WriteByte(',')
			}
		}
		out.WriteString("]}")
	}
	out.WriteByte(']')
	return out.Bytes(), nil
}
