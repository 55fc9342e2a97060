package ingest

import (
	"context"
	"errors"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/access"
	"cordwood/router/pipeline"
	"cordwood/router/pipelines"
)

// ReservedPrefix is the prefix of the names of built-in pipelines.
const ReservedPrefix = "svc_"

// Pipelines finds stored pipelines by the names that clients send.
type Pipelines struct {
	cache *pipelines.Cache[*pipeline.Pipeline]
	fresh *freshView // if it is nil, pipelines that the view lacks do not exist
}

// StoredPipelines is the part of the metadata client for pipelines.
type StoredPipelines interface {
	pipelines.Meta
	// Pipelines returns all versions, sorted by name and age.
	Pipelines() []*metapb.PipelineVersion
}

// NewPipelines returns the pipelines of meta. They are compiled with opt.
func NewPipelines(meta StoredPipelines, opt pipeline.Options, reg prometheus.Registerer) (*Pipelines, error) {
	cache, err := pipelines.New(pipelines.Config[*pipeline.Pipeline]{
		Meta:       meta,
		Compile:    func(source []byte) (*pipeline.Pipeline, error) { return pipeline.Compile(source, opt) },
		Size:       func(p *pipeline.Pipeline, source []byte) int64 { return int64(p.Size() + len(source)) },
		Known:      func(ctx context.Context) []string { return knownPipelines(ctx, meta) },
		Registerer: reg,
	})
	if err != nil {
		return nil, err
	}
	return &Pipelines{cache: cache}, nil
}

// knownPipelines returns the names that an error may suggest. Only users who may read pipelines see stored ones.
func knownPipelines(ctx context.Context, meta StoredPipelines) []string {
	known, caller := []string{pipeline.IdentityName}, access.From(ctx)
	for _, p := range meta.Pipelines() {
		if known[len(known)-1] != p.Name && caller.May(MayRead(p.Name)) {
			known = append(known, p.Name)
		}
	}
	return known
}

// MayRead returns the privilege that is needed for reading a pipeline.
func MayRead(name string) access.Need {
	return access.Need{
		Privilege: access.PipelineRead, Action: "read pipeline", Object: access.Object{Kind: access.Pipeline, Name: name},
	}
}

// hidden returns the error of Find for a pipeline that does not exist.
func (p *Pipelines) hidden(ctx context.Context, name, version string, hasVersion bool) error {
	if !hasVersion {
		return p.NotFound(ctx, name, "latest")
	}
	at, err := pipelines.ParseVersion(version)
	if err != nil {
		return err
	}
	return p.NotFound(ctx, name, pipelines.FormatVersion(at))
}

// ReadLookup is like Lookup, but the sender must be allowed to read the pipelines.
func (p *Pipelines) ReadLookup(ctx context.Context) pipeline.Lookup {
	find, caller := p.Lookup(ctx), access.From(ctx)
	return func(name, version string) (*pipeline.Pipeline, error) {
		if !caller.May(MayRead(name)) {
			return nil, p.hidden(ctx, name, version, version != "")
		}
		return find(name, version)
	}
}

// FindReadable is like Find, but the sender must be allowed to read the pipeline.
func (p *Pipelines) FindReadable(ctx context.Context, name, version string,
	hasVersion bool,
) (*pipeline.Pipeline, int64, error) {
	if !access.From(ctx).May(MayRead(name)) {
		return nil, 0, p.hidden(ctx, name, version, hasVersion)
	}
	return p.Find(ctx, name, version, hasVersion)
}

// NotFound returns the error for a pipeline that does not exist. A nil *Pipelines has no pipelines.
func (p *Pipelines) NotFound(ctx context.Context, name, version string) error {
	if p == nil {
		return pipelines.NotFound(name, version, []string{pipeline.IdentityName})
	}
	return p.cache.NotFound(ctx, name, version)
}

// Find returns a pipeline by name and version. Without a version, it returns the newest one, even if another router
// has just stored it. It also returns the version. A nil *Pipelines has no pipelines.
func (p *Pipelines) Find(ctx context.Context, name, version string,
	hasVersion bool,
) (*pipeline.Pipeline, int64, error) {
	found, at, err := p.find(ctx, name, version, hasVersion)
	if p == nil || p.fresh == nil || !errors.Is(err, pipelines.ErrNotFound) || p.fresh.wait(ctx) != nil {
		return found, at, err
	}
	return p.find(ctx, name, version, hasVersion)
}

// find is like Find, but uses the current view only.
func (p *Pipelines) find(ctx context.Context, name, version string,
	hasVersion bool,
) (*pipeline.Pipeline, int64, error) {
	none := p == nil || strings.HasPrefix(name, ReservedPrefix)
	if !hasVersion {
		if none {
			return nil, 0, p.NotFound(ctx, name, "latest")
		}
		return p.cache.Latest(ctx, name)
	}
	at, err := pipelines.ParseVersion(version)
	if err != nil {
		return nil, 0, err
	}
	if none {
		return nil, 0, p.NotFound(ctx, name, pipelines.FormatVersion(at))
	}
	found, err := p.cache.Version(ctx, name, at)
	return found, at, err
}

// Lookup returns a function that finds the pipelines to which a dispatcher sends records.
func (p *Pipelines) Lookup(ctx context.Context) pipeline.Lookup {
	return func(name, version string) (*pipeline.Pipeline, error) {
		found, _, err := p.Find(ctx, name, version, version != "")
		return found, err
	}
}

// Add adds a version that was just stored.
func (p *Pipelines) Add(name string, version int64, compiled *pipeline.Pipeline, source []byte) {
	p.cache.Add(name, version, compiled, source)
}

// Runner returns the runner of a pipeline. nil means svc_identity, whose runner supports custom time indexes but no
// traces.
func Runner(p *pipeline.Pipeline, q *pipeline.Request, lookup pipeline.Lookup) (pipeline.Runner, error) {
	if p == nil && (q.Trace == nil || q.TimeIndex != nil) {
		return pipeline.NewIdentity(q)
	}
	return pipeline.NewRunner(p, q, lookup)
}

// findPipeline finds the compiled pipeline of a batch, which the caller must be allowed to use.
func (s *Service) findPipeline(ctx context.Context, caller *access.Caller, b *Batch) (err error) {
	if _, direct := b.Input.(Columns); direct || b.Pipeline == IdentityPipeline {
		if only := caller.Fixed.Pipeline; caller.IngestOnly && only != "" && only != IdentityPipeline {
			return errs.New(errs.PermissionDenied, "%s may store records only by the pipeline %s", caller.User, only)
		}
		return nil
	}
	if err := s.permitPipeline(ctx, caller, b.Pipeline, b.Version, b.HasVersion); err != nil {
		return err
	}
	b.compiled, b.version, err = s.cfg.Pipelines.Find(ctx, b.Pipeline, b.Version, b.HasVersion)
	return err
}

// permitPipeline returns an error if the sender may not use a pipeline.
func (s *Service) permitPipeline(ctx context.Context, caller *access.Caller, name, version string,
	hasVersion bool,
) error {
	if g := caller.Grants; g != nil && g.OnPipeline(name) == 0 {
		return s.cfg.Pipelines.hidden(ctx, name, version, hasVersion)
	}
	return caller.Require(access.Need{
		Privilege: access.PipelineUse, Action: "use pipeline", Object: access.Object{Kind: access.Pipeline, Name: name},
	})
}

// lookup returns a function that finds the pipelines to which a dispatcher sends the sender's records.
func (s *Service) lookup(ctx context.Context, caller *access.Caller) pipeline.Lookup {
	find := s.cfg.Pipelines.Lookup(ctx)
	return func(name, version string) (*pipeline.Pipeline, error) {
		if err := s.permitPipeline(ctx, caller, name, version, version != ""); err != nil {
			return nil, err
		}
		return find(name, version)
	}
}
