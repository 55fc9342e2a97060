package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gorilla/mux"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
	"cordwood/router/pipeline"
	"cordwood/router/pipelines"
)

// The management of stored pipelines: upload, read, list, delete.

// Pipelines is the part of the metadata client that keeps pipelines.
type Pipelines interface {
	ingest.StoredPipelines
	// Propose puts a command through the metadata log; what it changed is in the local
	// view before it returns.
	Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error)
}

const (
	// pipelineType is the content type that stored pipelines have.
	pipelineType = "yaml"
)

// pipelineName is what a pipeline may be called.
var pipelineName = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,128}$`)

// newPipelines returns the stored pipelines; nil without a store.
func newPipelines(cfg Config) (*ingest.Pipelines, error) {
	if cfg.Pipelines == nil {
		return nil, nil
	}
	return ingest.NewPipelines(cfg.Pipelines, cfg.PipelineOptions, cfg.Registerer)
}

// manage makes a handler of a function that returns the members of the answer, without
// braces and time.
func (s *Server) manage(f func(x *exchange.Exchange, r *http.Request) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchange.Of(r)
		members, err := f(x, r)
		if err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		millis := strconv.FormatInt(x.Millis(), 10)
		w.Header().Set(exchange.HeaderFormat, "svcdb_manage")
		w.Header().Set(exchange.HeaderExecutionTime, millis)
		if x.Tag != "" {
			w.Header().Set("ETag", x.Tag)
		}
		exchange.WriteJSON(w, http.StatusOK, fmt.Appendf(nil, `{%s,"execution_time_ms":%s}`, members, millis))
	}
}

// pathName returns the name in the path.
func pathName(r *http.Request) (string, error) {
	name, err := url.PathUnescape(mux.Vars(r)["name"])
	if err != nil || name == "" {
		return "", errs.New(errs.InvalidArguments, "the path has no pipeline name: write /v1/pipelines/NAME")
	}
	return name, nil
}

// changeableName is pathName for a request that changes the pipeline.
func changeableName(r *http.Request) (string, error) {
	name, err := pathName(r)
	switch {
	case err != nil:
		return "", err
	case strings.HasPrefix(name, ingest.ReservedPrefix):
		return "", errs.New(errs.InvalidArguments, "pipeline_name cannot start with %s", ingest.ReservedPrefix)
	case !pipelineName.MatchString(name):
		return "", errs.New(errs.InvalidArguments,
			"Invalid pipeline name: %s; 1 to 128 letters, digits and _ . : - are allowed", cutText(name))
	}
	return name, nil
}

// meansDryRun reports whether a request that would store a pipeline was rather meant to be a dry run.
func meansDryRun(name string, r *http.Request) bool {
	media, _, _ := strings.Cut(params.Header(r.Header, "Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json") &&
		strings.EqualFold(strings.NewReplacer("-", "", "_", "").Replace(name), "dryrun")
}

// cutText shortens a client's text for a message.
func cutText(text string) string {
	if len(text) > 64 {
		text = strings.ToValidUTF8(text[:64], "") + "…"
	}
	return strconv.Quote(text)
}

// manageQuery reads a query string in which each of the names may appear once.
func manageQuery(r *http.Request, names ...string) (params.Values, error) {
	query, err := params.Parse(r.URL.RawQuery)
	if err != nil {
		return params.Values{}, err
	}
	return query, query.Once(names...)
}

// putPipeline stores a pipeline as the newest version of its name, if it compiles.
func (s *Server) putPipeline(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	name, err := changeableName(r)
	if err != nil {
		return nil, err
	}
	if meansDryRun(name, r) {
		return nil, errs.New(errs.InvalidArguments, "a dry run is POST /v1/pipelines/_dryrun; POST %s stores a pipeline "+
			"of the name %s, and takes its YAML as application/x-yaml", r.URL.Path, name)
	}
	query, err := manageQuery(r, "note")
	if err != nil {
		return nil, err
	}
	basedOn, err := s.basedOn(r)
	if err != nil {
		return nil, err
	}
	source, err := s.readPipeline(x, r)
	if err != nil {
		return nil, err
	}
	compiled, err := s.compile(source)
	if err != nil {
		return nil, err
	}
	result, err := s.cfg.Pipelines.Propose(r.Context(), &metapb.Command{
		TimeUnixNano: s.cfg.Now().UnixNano(),
		Op: &metapb.Command_PutPipeline{PutPipeline: &metapb.PutPipeline{
			Name: name, ContentType: pipelineType, Source: source, Note: query.Get("note"), By: storedBy(x), BasedOn: basedOn,
		}},
	})
	if err != nil && basedOn != nil && errs.CodeOf(err) == errs.IllegalState {
		return nil, s.newerVersion(r.Context(), name, err)
	}
	if err != nil {
		return nil, err
	}
	version := result.GetPipeline().GetVersion()
	x.Tag = quoteVersion(version)
	s.pipelines.Add(name, version, compiled, source)
	x.Message = "version " + pipelines.FormatVersion(version)
	out := append(appendVersion([]byte(`"pipelines":[`), name, version), "}]"...)
	return s.appendPipelineWarnings(out, name, compiled), nil
}

// compile compiles a text that a client sent. The error has code InvalidArguments.
func (s *Server) compile(source []byte) (*pipeline.Pipeline, error) {
	if len(source) > maxPipelineBytes {
		return nil, errs.New(errs.InvalidArguments, "Failed to build pipeline: it has %d bytes, at most %d are allowed",
			len(source), maxPipelineBytes)
	}
	p, err := pipeline.Compile(source, s.cfg.PipelineOptions)
	if err != nil && errs.CodeOf(err) == errs.Unknown {
		err = errs.New(errs.InvalidArguments, "%s", err)
	}
	if err != nil {
		return nil, &faultyPipeline{err, source}
	}
	return p, nil
}

// appendPipelineWarnings appends the member warnings, if there are any: the warnings of the document,
// and the pipelines named by the dispatcher that do not exist. They may still be uploaded.
func (s *Server) appendPipelineWarnings(out []byte, name string, p *pipeline.Pipeline) []byte {
	warnings := slices.Clone(p.Warnings())
	for _, target := range p.Targets() {
		if _, ok := s.cfg.Pipelines.Pipeline(target); ok || target == ingest.IdentityPipeline || target == name {
			continue
		}
		warnings = append(warnings, "the dispatcher sends records to the pipeline "+target+
			", which does not exist; requests with such records fail until it does")
	}
	if len(warnings) == 0 {
		return out
	}
	return appendNames(append(out, `,"warnings":`...), warnings)
}

// appendVersion appends an object with name and version, without its closing brace.
func appendVersion(out []byte, name string, version int64) []byte {
	out = exchange.AppendJSONString(append(out, `{"name":`...), name)
	out = append(out, `,"version":"`...)
	out = append(out, pipelines.FormatVersion(version)...)
	return append(out, '"')
}

// getPipeline answers with a version's text, byte for byte.
func (s *Server) getPipeline(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	name, err := pathName(r)
	if err != nil {
		return nil, err
	}
	query, err := manageQuery(r, "version")
	if err != nil {
		return nil, err
	}
	found, err := s.findVersion(r.Context(), name, query)
	if err != nil {
		return nil, err
	}
	text, err := s.cfg.Pipelines.PipelineText(r.Context(), name, found.Version)
	if err != nil {
		return nil, err
	}
	x.Tag = quoteVersion(found.Version)
	out := appendVersion([]byte(`"pipelines":[`), name, found.Version)
	out = exchange.AppendJSONString(append(appendAuthor(out, found), `,"pipeline":`...), string(text))
	return append(out, "}]"...), nil
}

// findVersion finds the version that the query names, or the newest.
func (s *Server) findVersion(ctx context.Context, name string, query params.Values) (*metapb.PipelineVersion, error) {
	text, has := query.Lookup("version")
	if !has {
		if p, ok := s.cfg.Pipelines.Pipeline(name); ok {
			return p, nil
		}
		return nil, s.pipelines.NotFound(ctx, name, "latest")
	}
	version, err := pipelines.ParseVersion(text)
	if err != nil {
		return nil, err
	}
	if p, ok := s.cfg.Pipelines.PipelineVersion(name, version); ok {
		return p, nil
	}
	return nil, s.pipelines.NotFound(ctx, name, pipelines.FormatVersion(version))
}

// deletePipeline removes one version. Removing none is not an error.
func (s *Server) deletePipeline(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	name, err := changeableName(r)
	if err != nil {
		return nil, err
	}
	query, err := manageQuery(r, "version")
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
	result, err := s.cfg.Pipelines.Propose(r.Context(), &metapb.Command{
		TimeUnixNano: s.cfg.Now().UnixNano(),
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

// listPipelines lists the pipelines, each with its newest version and all versions, the
// newest first. The query parameter name asks for one only.
func (s *Server) listPipelines(_ *exchange.Exchange, r *http.Request) ([]byte, error) {
	query, err := manageQuery(r, "name")
	if err != nil {
		return nil, err
	}
	only := query.Get("name")
	all := s.cfg.Pipelines.Pipelines()
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
		if only != "" && versions[0].Name != only {
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
