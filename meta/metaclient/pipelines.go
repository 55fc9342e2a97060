package metaclient

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// pipelineTimeout is how long PipelineText waits for a member of the group to receive a version
// that the view has.
const pipelineTimeout = 2 * time.Second

// Pipeline returns the newest version of the pipeline of that name.
func (c *Client) Pipeline(name string) (*metapb.PipelineVersion, bool) {
	versions := c.view.pipelineVersions(name)
	if len(versions) == 0 {
		return nil, false
	}
	return versions[len(versions)-1], true
}

// PipelineVersion returns one version of a pipeline.
func (c *Client) PipelineVersion(name string, version int64) (*metapb.PipelineVersion, bool) {
	versions := c.view.pipelineVersions(name)
	i, ok := findVersion(versions, version)
	if !ok {
		return nil, false
	}
	return versions[i], true
}

// Pipelines returns all versions, in the order of name and age.
func (c *Client) Pipelines() []*metapb.PipelineVersion { return c.view.allPipelines() }

// PipelineText returns the text of a version in the view. It asks the metadata group, because the
// view has no texts. The error has code InvalidArguments if the version was deleted meanwhile.
func (c *Client) PipelineText(ctx context.Context, name string, version int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pipelineTimeout)
	defer cancel()
	for {
		var text []byte
		found := false
		err := c.readPipelines(ctx, &metapb.ReadPipelinesRequest{Name: name, Version: version},
			func(_ *metapb.PipelineVersion, source []byte) error {
				text, found = source, true
				return nil
			})
		if err != nil {
			return nil, errs.Wrap(errs.ShardNotReady, err, "read pipeline %s", name)
		}
		if found {
			return text, nil
		}
		if _, ok := c.PipelineVersion(name, version); !ok {
			return nil, errs.New(errs.InvalidArguments, "read pipeline %s: the version was deleted", name)
		}
		// The member that answered is behind the one that the view follows.
		select {
		case <-ctx.Done():
			return nil, errs.New(errs.ShardNotReady,
				"read pipeline %s: the metadata group does not have its text yet; try again", name)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// EachPipelineText calls f with every version of every pipeline and its text, in the order of name
// and age, until f fails. Texts are received one by one.
func (c *Client) EachPipelineText(ctx context.Context, f func(p *metapb.PipelineVersion, source []byte) error) error {
	return c.readPipelines(ctx, &metapb.ReadPipelinesRequest{}, f)
}

// readPipelines asks one member after another until one has started to answer.
func (c *Client) readPipelines(
	ctx context.Context, req *metapb.ReadPipelinesRequest, f func(*metapb.PipelineVersion, []byte) error,
) (err error) {
	ids := c.members.list()
	err = errs.New(errs.ShardNotReady, "read pipelines: no member of the metadata group is known yet")
	for _, id := range ids {
		begun := false
		if begun, err = c.readPipelinesOf(ctx, id, len(ids) > 1, req, f); err == nil || begun || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// readPipelinesOf asks one member. begun means that f was called.
func (c *Client) readPipelinesOf(
	ctx context.Context, id string, bounded bool, req *metapb.ReadPipelinesRequest,
	f func(*metapb.PipelineVersion, []byte) error,
) (begun bool, err error) {
	m, err := c.members.client(id)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if bounded { // an answer that has started may take longer
		slow := time.AfterFunc(c.cfg.TryTimeout, cancel)
		defer slow.Stop()
		inner := f
		f = func(p *metapb.PipelineVersion, source []byte) error {
			slow.Stop()
			return inner(p, source)
		}
	}
	stream, err := m.ReadPipelines(ctx, req, grpc.MaxCallRecvMsgSize(maxMessage))
	if err != nil {
		return false, errs.FromGRPC(err)
	}
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return begun, nil
		}
		if err != nil {
			return begun, errs.FromGRPC(err)
		}
		begun = true
		if err := f(resp.Pipeline, resp.Source); err != nil {
			return begun, err
		}
	}
}

func findVersion(versions []*metapb.PipelineVersion, version int64) (int, bool) {
	return slices.BinarySearchFunc(versions, version, func(p *metapb.PipelineVersion, v int64) int {
		return cmp.Compare(p.Version, v)
	})
}

// putPipeline adds a version. Lists are replaced and never changed, because callers may have them.
func (s *state) putPipeline(p *metapb.PipelineVersion) {
	versions := s.pipelines[p.Name]
	at, had := findVersion(versions, p.Version)
	if had {
		return
	}
	next := make([]*metapb.PipelineVersion, 0, len(versions)+1)
	next = append(append(append(next, versions[:at]...), p), versions[at:]...)
	s.pipelines[p.Name] = next
}

func (s *state) dropPipeline(p *metapb.PipelineVersion) {
	versions := s.pipelines[p.Name]
	at, had := findVersion(versions, p.Version)
	switch {
	case !had:
	case len(versions) == 1:
		delete(s.pipelines, p.Name)
	default:
		s.pipelines[p.Name] = slices.Concat(versions[:at], versions[at+1:])
	}
}

func (v *view) pipelineVersions(name string) []*metapb.PipelineVersion {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.state.pipelines[name]
}

func (v *view) allPipelines() []*metapb.PipelineVersion {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var out []*metapb.PipelineVersion
	for _, name := range slices.Sorted(maps.Keys(v.state.pipelines)) {
		out = append(out, v.state.pipelines[name]...)
	}
	return out
}
