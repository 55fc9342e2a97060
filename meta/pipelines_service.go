package meta

import (
	"unicode/utf8"

	"google.golang.org/grpc"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
	"cordwood/proto/metapb"
)

// This file prepares commands about pipelines. The router compiles a text before it proposes it; here it is not
// checked whether the text is a valid pipeline.

// pipelineName matches valid names of pipelines. The router has the same rule.
var pipelineName = lazyregexp.New(`^[A-Za-z0-9_.:-]{1,128}$`)

func preparePutPipeline(p *metapb.PutPipeline) error {
	switch {
	case !pipelineName.MatchString(p.Name):
		return errs.New(errs.InvalidArguments,
			"Invalid pipeline name: %.130q; 1 to 128 letters, digits and _ . : - are allowed", p.Name)
	case len(p.Source) == 0:
		return errs.New(errs.InvalidArguments, "Put pipeline %s: the text is empty", p.Name)
	case len(p.Source) > catalog.MaxPipelineBytes:
		return errs.New(errs.InvalidArguments, "Put pipeline %s: the text has %d bytes, at most %d are allowed", p.Name,
			len(p.Source), catalog.MaxPipelineBytes)
	case !utf8.Valid(p.Source):
		return errs.New(errs.InvalidArguments, "Put pipeline %s: the text is not valid UTF-8", p.Name)
	}
	if n := utf8.RuneCountInString(p.Note); n > MaxPipelineNote {
		return errs.New(errs.InvalidArguments, "Put pipeline %s: the note has %d characters, at most %d are allowed",
			p.Name, n, MaxPipelineNote)
	}
	if !utf8.ValidString(p.Note) {
		return errs.New(errs.InvalidArguments, "Put pipeline %s: the note is not valid UTF-8", p.Name)
	}
	if err := checkText("user of a pipeline", p.By, false); err != nil {
		return err
	}
	return checkText("content type", p.ContentType, true)
}

// MaxPipelineNote is the maximum length of the note of a version, in characters.
const MaxPipelineNote = 200

// prepareRestorePipeline also refuses a version so far in the future that no later one could be
// stored.
func prepareRestorePipeline(r *metapb.RestorePipeline) error {
	p := r.Pipeline
	if p == nil {
		return errs.New(errs.InvalidArguments, "Restore a pipeline: no version is given")
	}
	if p.Version <= 0 || p.Version > maxRestoredVersion {
		return errs.New(errs.InvalidArguments, "Restore pipeline %.130q: %d is not a version", p.Name, p.Version)
	}
	p.Size = uint32(len(r.Source))
	return preparePutPipeline(&metapb.PutPipeline{
		Name: p.Name, ContentType: p.ContentType, Source: r.Source, Note: p.Note, By: p.By,
	})
}

// maxRestoredVersion is the end of the year 2199 in Unix nanoseconds.
const maxRestoredVersion = 7_258_118_400_000_000_000

func prepareDeletePipeline(d *metapb.DeletePipeline) error {
	return checkText("pipeline name", d.Name, true)
}

// ReadPipelines sends pipelines with their texts. Each is read in its own transaction, so that a
// slow receiver holds no transaction open. A pipeline that is deleted meanwhile is left out.
func (m *Meta) ReadPipelines(
	req *metapb.ReadPipelinesRequest, stream grpc.ServerStreamingServer[metapb.ReadPipelinesResponse],
) error {
	return errs.ToGRPC(m.readPipelines(req, stream))
}

func (m *Meta) readPipelines(
	req *metapb.ReadPipelinesRequest, stream grpc.ServerStreamingServer[metapb.ReadPipelinesResponse],
) error {
	if req.GetVersion() != 0 {
		return m.sendPipeline(req.Name, req.Version, stream)
	}
	var last *metapb.PipelineVersion
	for {
		var list []*metapb.PipelineVersion
		err := m.catalog.View(func(tx *catalog.Tx) (err error) {
			list, err = tx.Pipelines.From(req.GetName(), last, 100)
			return err
		})
		if err != nil {
			return errs.Wrap(errs.Internal, err, "read pipelines")
		}
		if len(list) == 0 {
			return nil
		}
		for _, p := range list {
			if err := m.sendPipeline(p.Name, p.Version, stream); err != nil {
				return err
			}
			last = p
		}
	}
}

func (m *Meta) sendPipeline(
	name string, version int64, stream grpc.ServerStreamingServer[metapb.ReadPipelinesResponse],
) error {
	resp := &metapb.ReadPipelinesResponse{}
	err := m.catalog.View(func(tx *catalog.Tx) (err error) {
		resp.Pipeline, err = tx.Pipelines.Get(name, version)
		resp.Source = tx.Pipelines.Text(name, version)
		return err
	})
	if err != nil {
		return errs.Wrap(errs.Internal, err, "read pipeline %s", name)
	}
	if resp.Pipeline == nil {
		return nil
	}
	return stream.Send(resp)
}
