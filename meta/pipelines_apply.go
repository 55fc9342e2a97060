package meta

import (
	"bytes"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// This file applies commands about pipelines.

// applyPutPipeline stores a text as the newest version of its name.
func applyPutPipeline(tx *catalog.Tx, cmd *metapb.PutPipeline, now int64, c *change) (*metapb.Result, error) {
	if err := checkBasedOn(tx, cmd); err != nil {
		return nil, err
	}
	if err := checkPipelineRoom(tx, cmd); err != nil {
		return nil, err
	}
	version, err := tx.Pipelines.NextVersion(now)
	if err != nil {
		return nil, err
	}
	p := &metapb.PipelineVersion{
		Name: cmd.Name, Version: version, ContentType: cmd.ContentType, Size: uint32(len(cmd.Source)),
		Note: cmd.Note, By: cmd.By,
	}
	if err := tx.Pipelines.Put(p, cmd.Source); err != nil {
		return nil, err
	}
	c.Pipelines = []*metapb.PipelineVersion{p}
	return &metapb.Result{Pipeline: p}, nil
}

// checkBasedOn refuses a version whose author did not see the newest one.
func checkBasedOn(tx *catalog.Tx, cmd *metapb.PutPipeline) error {
	if cmd.BasedOn == nil {
		return nil
	}
	newest, err := tx.Pipelines.Newest(cmd.Name)
	switch {
	case err != nil || newest.GetVersion() == cmd.GetBasedOn():
		return err
	case newest == nil:
		return errs.New(errs.IllegalState, "Pipeline %s no longer has any version; store it without the version that it "+
			"was made from", cmd.Name)
	case cmd.GetBasedOn() == 0:
		return errs.New(errs.IllegalState, "Pipeline %s exists already; read its newest version first", cmd.Name)
	}
	return errs.New(errs.IllegalState, "Pipeline %s has a newer version, which was stored meanwhile; compare it with "+
		"yours, and store yours in its place", cmd.Name)
}

// applyRestorePipeline stores a version with its original number. A version that exists with the
// same text changes nothing.
func applyRestorePipeline(tx *catalog.Tx, cmd *metapb.RestorePipeline, c *change) (*metapb.Result, error) {
	p := cmd.Pipeline
	had, err := tx.Pipelines.Get(p.Name, p.Version)
	if err != nil {
		return nil, err
	}
	if had != nil {
		if !bytes.Equal(tx.Pipelines.Text(p.Name, p.Version), cmd.Source) {
			return nil, errs.New(errs.InvalidArguments, "Pipeline %s has a version %d already, with another text",
				p.Name, p.Version)
		}
		return &metapb.Result{Pipeline: had}, nil
	}
	if err := checkPipelineRoom(tx, &metapb.PutPipeline{Name: p.Name, Source: cmd.Source}); err != nil {
		return nil, err
	}
	if err := tx.Pipelines.ReserveVersion(p.Version); err != nil {
		return nil, err
	}
	if err := tx.Pipelines.Put(p, cmd.Source); err != nil {
		return nil, err
	}
	c.Pipelines = []*metapb.PipelineVersion{p}
	return &metapb.Result{Pipeline: p}, nil
}

// checkPipelineRoom refuses a version that would exceed the limits.
func checkPipelineRoom(tx *catalog.Tx, cmd *metapb.PutPipeline) error {
	refuse := func(format string, args ...any) error {
		return errs.New(errs.InvalidArguments, "Pipeline %s cannot be stored: "+format, append([]any{cmd.Name}, args...)...)
	}
	totals, versions := tx.Pipelines.Totals(), tx.Pipelines.CountVersions(cmd.Name)
	switch {
	case versions == 0 && totals.Pipelines >= catalog.MaxPipelines:
		return refuse("there are %d pipelines, the maximum; delete some", totals.Pipelines)
	case versions >= catalog.MaxPipelineVersions:
		return refuse("it has %d versions, the maximum; delete old ones", versions)
	case totals.Versions >= catalog.MaxAllVersions:
		return refuse("all pipelines together have %d versions, the maximum; delete old ones", totals.Versions)
	case totals.Bytes+uint64(len(cmd.Source)) > catalog.MaxAllPipelineBytes:
		return refuse("all versions of all pipelines would have %d bytes, at most %d are allowed; delete old ones",
			totals.Bytes+uint64(len(cmd.Source)), catalog.MaxAllPipelineBytes)
	}
	return nil
}

// applyDeletePipeline removes a version. If it does not exist, the result contains none.
func applyDeletePipeline(tx *catalog.Tx, cmd *metapb.DeletePipeline, c *change) (*metapb.Result, error) {
	p, err := tx.Pipelines.Get(cmd.Name, cmd.Version)
	if err != nil || p == nil {
		return &metapb.Result{}, err
	}
	if err := tx.Pipelines.Delete(p); err != nil {
		return nil, err
	}
	c.DroppedPipelines = []*metapb.PipelineVersion{p}
	return &metapb.Result{Pipeline: p}, nil
}
