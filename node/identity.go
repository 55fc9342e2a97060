package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/oklog/ulid/v2"
)

// formatVersion is the version of the data folder's layout. A newer one is refused.
// Since version 2 the identity has a checksum.
const (
	formatVersion   = 2
	checksumVersion = 2
)

// identity is the content of the file IDENTITY: who this folder belongs to. It is
// made once and never changes, except that the cluster id is added by the first start.
type identity struct {
	Format    int    `json:"format"`
	NodeID    string `json:"node_id"`
	ClusterID string `json:"cluster_id,omitempty"`
	// Shards lists the shards that were created here: one of them without its files
	// is a loss, not a beginning.
	Shards []uint32 `json:"shards,omitempty"`
	// Checksum is the CRC-32C of the rest, encoded as this program does, in hexadecimal.
	Checksum string `json:"crc32c,omitempty"`
}

// sum is the checksum that id should have.
func (id identity) sum() string {
	id.Checksum = ""
	b, err := json.Marshal(id)
	if err != nil {
		panic("node: an identity cannot be encoded: " + err.Error())
	}
	return fmt.Sprintf("%08x", crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// readIdentity reads the file IDENTITY of a data folder.
func readIdentity(path string) (id identity, err error) {
	name := filepath.Join(path, "IDENTITY")
	data, err := os.ReadFile(name)
	if err != nil {
		return id, fmt.Errorf("read identity: %w", err)
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return id, fmt.Errorf("read identity %s: %w: restore the file from a backup of the folder", name, err)
	}
	if head.Format > formatVersion {
		return id, fmt.Errorf("data folder %s was written by a newer version of this program: it has format %d, and this one understands up to %d: start a newer cordwood", path, head.Format, formatVersion)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&id); err != nil {
		return id, fmt.Errorf("read identity %s: %w: restore the file from a backup of the folder", name, err)
	}
	if id.NodeID == "" || id.Format < 1 {
		return id, fmt.Errorf("identity %s names no node: restore the file from a backup of the folder", name)
	}
	if (id.Format >= checksumVersion || id.Checksum != "") && id.Checksum != id.sum() {
		return id, fmt.Errorf("identity %s is damaged: its checksum is %q, want %q: restore the file from a backup of the folder", name, id.Checksum, id.sum())
	}
	return id, nil
}

// dataDir is the locked data folder of a running node.
type dataDir struct {
	path string
	lock *os.File
	id   identity
}

// openDataDir makes the folder if need be, locks it against a second process and
// reads or makes its identity, which is on disk when it returns.
func openDataDir(path string) (*dataDir, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "LOCK"), os.O_CREATE|os.O_RDWR, 0o640)
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	d := &dataDir{path: path, lock: lock}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock data folder %s: another cordwood uses it; stop that one or choose another --data-dir", path), d.close())
	}
	if err := d.loadIdentity(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *dataDir) loadIdentity() error {
	name := filepath.Join(d.path, "IDENTITY")
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if err := refuseForeign(d.path); err != nil {
			return err
		}
		d.id = identity{Format: formatVersion, NodeID: ulid.Make().String()}
		return d.saveIdentity()
	}
	id, err := readIdentity(d.path)
	d.id = id
	return err
}

// refuseForeign keeps a node from settling in a folder that holds something else.
func refuseForeign(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("read data folder: %w", err)
	}
	for _, e := range entries {
		if e.Name() != "LOCK" && e.Name() != "lost+found" {
			return fmt.Errorf("data folder %s has no IDENTITY but holds %q: choose an empty folder as --data-dir, or restore the file IDENTITY", path, e.Name())
		}
	}
	return nil
}

// saveIdentity puts the identity on disk: temporary file, sync, rename, sync of the folder.
func (d *dataDir) saveIdentity() error {
	d.id.Format = formatVersion
	d.id.Checksum = d.id.sum()
	data, err := json.Marshal(d.id)
	if err != nil {
		return err
	}
	name := filepath.Join(d.path, "IDENTITY")
	f, err := os.OpenFile(name+".tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("write identity: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err == nil {
		err = syncDir(d.path)
	}
	if err != nil {
		return fmt.Errorf("write identity %s: %w", name, err)
	}
	return nil
}

// setCluster notes the cluster at the first start and refuses another one later.
func (d *dataDir) setCluster(id string) error {
	switch d.id.ClusterID {
	case id:
		return nil
	case "":
		d.id.ClusterID = id
		return d.saveIdentity()
	}
	return fmt.Errorf("data folder %s belongs to cluster %s, but its metadata says %s: it holds files of two clusters; restore it from a backup", d.path, d.id.ClusterID, id)
}

// hasShard tells whether the shard was created in this folder.
func (d *dataDir) hasShard(id uint32) bool { return slices.Contains(d.id.Shards, id) }

// addShards notes on disk that the shards were created in this folder.
func (d *dataDir) addShards(ids []uint32) error {
	before := len(d.id.Shards)
	for _, id := range ids {
		if !d.hasShard(id) {
			d.id.Shards = append(d.id.Shards, id)
		}
	}
	if len(d.id.Shards) == before {
		return nil
	}
	return d.saveIdentity()
}

func (d *dataDir) close() error { return d.lock.Close() }

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
