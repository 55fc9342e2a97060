package shard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"cordwood/shard/manifest"
)

// persisted is the content of a raft snapshot: see FORMAT.md. It has no rows.
type persisted struct {
	Version      int                `json:"version"`
	Shard        uint32             `json:"shard"`
	AppliedIndex uint64             `json:"applied_index"`
	AppliedTerm  uint64             `json:"applied_term"`
	Segments     []persistedSegment `json:"segments"`
}

type persistedSegment struct {
	ID      uint64 `json:"id"`
	Table   uint64 `json:"table"`
	Rows    int64  `json:"rows"`
	Bytes   int64  `json:"bytes"`
	FileCRC uint32 `json:"file_crc"`
}

const persistedVersion = 1

func writeSnapshot(w io.Writer, shard uint32, st *manifest.State) error {
	p := persisted{
		Version:      persistedVersion,
		Shard:        shard,
		AppliedIndex: st.AppliedIndex,
		AppliedTerm:  st.AppliedTerm,
		Segments:     []persistedSegment{},
	}
	for i := range st.Segments {
		m := &st.Segments[i]
		p.Segments = append(p.Segments, persistedSegment{
			ID:      m.ID,
			Table:   m.TableID,
			Rows:    m.Rows,
			Bytes:   m.Bytes,
			FileCRC: m.FileCRC,
		})
	}
	return json.NewEncoder(w).Encode(p)
}

func parseSnapshot(b []byte) (*persisted, error) { return readSnapshot(bytes.NewReader(b)) }

func readSnapshot(r io.Reader) (*persisted, error) {
	p := &persisted{}
	if err := json.NewDecoder(r).Decode(p); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if p.Version != persistedVersion {
		return nil, fmt.Errorf("snapshot: written by a newer version of this program: format version is %d, this one knows "+
			"%d; run the version that wrote it or a newer one", p.Version, persistedVersion)
	}
	return p, nil
}

// CheckSnapshot reports whether the content of a raft snapshot of a shard can be read.
func CheckSnapshot(r io.Reader) error {
	_, err := readSnapshot(r)
	return err
}
