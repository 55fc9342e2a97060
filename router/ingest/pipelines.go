package ingest

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/router/pipeline"
	"cordwood/router/pipelines"
)

// ReservedPrefix begins the names of built-in pipelines.
const ReservedPrefix = "svc_"

// Pipelines finds stored pipelines by the texts that clients name them by.
type Pipelines struct {
	cache *pipelines.Cache[*pipeline.Pipeline]
}

// NewPipelines returns the stored pipelines of meta, which are compiled with opt.
func NewPipelines(meta pipelines.Meta, opt pipeline.Options, reg prometheus.Registerer) (*Pipelines, error) {
	cache, err := pipelines.New(pipelines.Config[*pipeline.Pipeline]{
		Meta:       meta,
		Compile:    func(source []byte) (*pipeline.Pipeline, error) { return pipeline.Compile(source, opt) },
		Size:       func(p *pipeline.Pipeline, source []byte) int64 { return int64(p.Size() + len(source)) },
		Registerer: reg,
	})
	if err != nil {
		return nil, err
	}
	return &Pipelines{cache}, nil
}

// Find returns a pipeline by the texts of its name and version; without a version the
// newest. It also returns which version that is. A nil *Pipelines has none.
func (p *Pipelines) Find(ctx context.Context, name, version string,
	hasVersion bool,
) (*pipeline.Pipeline, int64, error) {
	none := p == nil || strings.HasPrefix(name, ReservedPrefix)
	if !hasVersion {
		if none {
			return nil, 0, pipelines.NotFound(name, "latest")
		}
		return p.cache.Latest(ctx, name)
	}
	at, err := pipelines.ParseVersion(version)
	if err != nil {
		return nil, 0, err
	}
	if none {
		return nil, 0, pipelines.NotFound(name, pipelines.FormatVersion(at))
	}
	found, err := p.cache.Version(ctx, name, at)
	return found, at, err
}

// Lookup finds the pipelines that a dispatcher sends records to.
func (p *Pipelines) Lookup(ctx context.Context) pipeline.Lookup {
	return func(name, version string) (*pipeline.Pipeline, error) {
		found, _, err := p.Find(ctx, name, version, version != "")
		return found, err
	}
}

// Add notes a version that was just stored.
func (p *Pipelines) Add(name string, version int64, compiled *pipeline.Pipeline, source []byte) {
	p.cache.Add(name, version, compiled, source)
}

// Runner returns the runner of a pipeline; nil is svc_identity, whose own runner
// knows custom time indexes but no traces.
func Runner(p *pipeline.Pipeline, q *pipeline.Request, lookup pipeline.Lookup) (pipeline.Runner, error) {
	if p == nil && (q.Trace == nil || q.TimeIndex != nil) {
		return pipeline.NewIdentity(q)
	}
	return pipeline.NewRunner(p, q, lookup)
}
