package catalog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
)

// Limits on the pipelines of a cluster.
const (
	// MaxPipelineBytes is the maximum length of a pipeline's text.
	MaxPipelineBytes = 1 << 20
	// MaxPipelines is the maximum number of names.
	MaxPipelines = 10_000
	// MaxPipelineVersions is the maximum number of versions of one name.
	MaxPipelineVersions = 1000
	// MaxAllVersions is the maximum number of versions of all names together, since every router
	// keeps a list of them.
	MaxAllVersions = 100_000
	// MaxAllPipelineBytes is the maximum size of all texts together, since a query of
	// svc_private.pipelines reads them all.
	MaxAllPipelineBytes = 32 << 20
)

// The buckets of pipelines, and their counters in the bucket meta; part of the format. A file of an
// earlier version lacks the buckets, which means the same as empty ones.
var (
	bucketPipelines = []byte("pipelines")
	bucketTexts     = []byte("pipeline_texts")

	keyLastVersion   = []byte("last_pipeline_version")
	keyPipelines     = []byte("pipelines")
	keyVersions      = []byte("pipeline_versions")
	keyPipelineBytes = []byte("pipeline_bytes")
)

// pipelineKey returns the key of a version. Versions are positive, so keys sort by name and
// then by age.
func pipelineKey(name string, version int64) []byte {
	return binary.BigEndian.AppendUint64(nameKey(name, ""), uint64(version))
}

// Pipelines are the versions of pipelines, and their texts.
type Pipelines struct{ *store }

// PipelineTotals are the totals of all pipelines.
type PipelineTotals struct {
	Pipelines, Versions, Bytes uint64
}

// Totals counts the pipelines.
func (t Pipelines) Totals() PipelineTotals {
	meta := t.tx.Bucket(bucketMeta)
	return PipelineTotals{
		Pipelines: number(meta.Get(keyPipelines)), Versions: number(meta.Get(keyVersions)),
		Bytes: number(meta.Get(keyPipelineBytes)),
	}
}

// NextVersion returns now, or the next later number that was never the version of a pipeline.
func (t Pipelines) NextVersion(now int64) (int64, error) {
	version := max(now, int64(number(t.tx.Bucket(bucketMeta).Get(keyLastVersion)))+1)
	return version, t.put(bucketMeta, keyLastVersion, u64(uint64(version)))
}

// ReserveVersion makes NextVersion skip the number.
func (t Pipelines) ReserveVersion(version int64) error {
	if last := int64(number(t.tx.Bucket(bucketMeta).Get(keyLastVersion))); version <= last {
		return nil
	}
	return t.put(bucketMeta, keyLastVersion, u64(uint64(version)))
}

// CountVersions counts the versions of a pipeline.
func (t Pipelines) CountVersions(name string) int {
	b := t.tx.Bucket(bucketPipelines)
	if b == nil {
		return 0
	}
	n, prefix := 0, nameKey(name, "")
	cur := b.Cursor()
	for k, _ := cur.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = cur.Next() {
		n++
	}
	return n
}

// Get returns a version of a pipeline, or nil.
func (t Pipelines) Get(name string, version int64) (*metapb.PipelineVersion, error) {
	if t.tx.Bucket(bucketPipelines) == nil {
		return nil, nil
	}
	p := &metapb.PipelineVersion{}
	found, err := t.get(bucketPipelines, pipelineKey(name, version), p)
	if !found {
		return nil, err
	}
	return p, err
}

// Newest returns the newest version of a pipeline, or nil.
func (t Pipelines) Newest(name string) (*metapb.PipelineVersion, error) {
	b := t.tx.Bucket(bucketPipelines)
	if b == nil {
		return nil, nil
	}
	prefix := nameKey(name, "")
	cur := b.Cursor()
	var v []byte
	k, _ := cur.Seek(pipelineKey(name, math.MaxInt64))
	if k == nil { // the cursor was beyond the last key
		k, v = cur.Last()
	} else {
		k, v = cur.Prev()
	}
	if !bytes.HasPrefix(k, prefix) {
		return nil, nil
	}
	p := &metapb.PipelineVersion{}
	if err := proto.Unmarshal(v, p); err != nil {
		return nil, fmt.Errorf("bucket %s, key %x: %w", bucketPipelines, k, err)
	}
	return p, nil
}

// Put stores a version that is new, with its text.
func (t Pipelines) Put(p *metapb.PipelineVersion, source []byte) error {
	key := pipelineKey(p.Name, p.Version)
	if t.CountVersions(p.Name) == 0 {
		if _, err := t.count(keyPipelines, 1); err != nil {
			return err
		}
	}
	if err := t.countVersion(1, int64(p.Size)); err != nil {
		return err
	}
	if err := t.putMessage(bucketPipelines, key, p); err != nil {
		return err
	}
	return t.put(bucketTexts, key, source)
}

// Delete removes a version that exists.
func (t Pipelines) Delete(p *metapb.PipelineVersion) error {
	key := pipelineKey(p.Name, p.Version)
	if err := t.delete(bucketPipelines, key); err != nil {
		return err
	}
	if err := t.delete(bucketTexts, key); err != nil {
		return err
	}
	if t.CountVersions(p.Name) == 0 {
		if _, err := t.count(keyPipelines, -1); err != nil {
			return err
		}
	}
	return t.countVersion(-1, -int64(p.Size))
}

func (t Pipelines) countVersion(versions, bytes int64) error {
	if _, err := t.count(keyVersions, versions); err != nil {
		return err
	}
	_, err := t.count(keyPipelineBytes, bytes)
	return err
}

// From returns at most limit versions in the order of name and age: of one name, or of all if name
// is "". It starts after the given version, or at the beginning if that is nil.
func (t Pipelines) From(name string, after *metapb.PipelineVersion, limit int) ([]*metapb.PipelineVersion, error) {
	b := t.tx.Bucket(bucketPipelines)
	if b == nil {
		return nil, nil
	}
	var prefix, from []byte
	if name != "" {
		prefix = nameKey(name, "")
	}
	from = prefix
	if after != nil {
		from = pipelineKey(after.Name, after.Version)
	}
	var out []*metapb.PipelineVersion
	cur := b.Cursor()
	for k, v := cur.Seek(from); k != nil && bytes.HasPrefix(k, prefix) && len(out) < limit; k, v = cur.Next() {
		if after != nil && bytes.Equal(k, from) {
			continue
		}
		p := &metapb.PipelineVersion{}
		if err := proto.Unmarshal(v, p); err != nil {
			return nil, fmt.Errorf("bucket %s, key %x: %w", bucketPipelines, k, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// Text returns a copy of a version's text, or nil if it does not exist.
func (t Pipelines) Text(name string, version int64) []byte {
	b := t.tx.Bucket(bucketTexts)
	if b == nil {
		return nil
	}
	v := b.Get(pipelineKey(name, version))
	if v == nil {
		return nil
	}
	return append([]byte{}, v...)
}
