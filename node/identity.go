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
	"sync"
	"syscall"

	"github.com/oklog/ulid/v2"

	"cordwood/node/secret"
	"cordwood/shard/vfs"
)

// formatVersion is the version of the data folder's layout. A newer version is refused. Version 2 added the checksum
// of the identity, and version 3 the promise of founders.
const (
	formatVersion   = 3
	checksumVersion = 2
)

// identity is the content of the file IDENTITY: the node and the cluster to which this folder belongs. The node and
// the cluster are set once and never change.
type identity struct {
	Format    int    `json:"format"`
	NodeID    string `json:"node_id"`
	ClusterID string `json:"cluster_id,omitempty"`
	// Shards lists the shards that were created in this folder. If one of them has no files, they were lost, and the
	// node must not create it as a new shard.
	Shards []uint32 `json:"shards,omitempty"`
	// Founders are the first voters of the metadata group, which created the cluster. It is empty if the node joined
	// later. Since version 3.
	Founders []string `json:"founders,omitempty"`
	// Promised is the cluster that the node joins if it is founded; PromisedFounders are its
	// founders.
	Promised         string   `json:"promised,omitempty"`
	PromisedFounders []string `json:"promised_founders,omitempty"`
	// Meta means that a member of the metadata group was created in this folder. If its files are missing, they were
	// lost.
	Meta bool `json:"meta,omitempty"`
	// Checksum is the CRC-32C of the other fields, in this program's encoding, in hexadecimal.
	Checksum string `json:"crc32c,omitempty"`
}

// sum returns the correct checksum of id.
func (id identity) sum() string {
	id.Checksum = ""
	b, err := json.Marshal(id)
	if err != nil {
		panic("node: encode the identity: " + err.Error())
	}
	return fmt.Sprintf("%08x", crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// hadMeta reports whether a member of the metadata group was created in the folder. Before version 3, every node of a
// cluster had one.
func (id identity) hadMeta() bool { return id.Meta || id.Format < 3 && id.ClusterID != "" }

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
		return id, fmt.Errorf("data folder %s was written by a newer version of this program: it has format %d, and "+
			"this one understands up to %d: start a newer cordwood", path, head.Format, formatVersion)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&id); err != nil {
		return id, fmt.Errorf("read identity %s: %w: restore the file from a backup of the folder", name, err)
	}
	if id.NodeID == "" || id.Format < 1 {
		return id, fmt.Errorf("identity %s contains no node id: restore the file from a backup of the folder", name)
	}
	if (id.Format >= checksumVersion || id.Checksum != "") && id.Checksum != id.sum() {
		return id, fmt.Errorf("identity %s is damaged: its checksum is %q, want %q: restore the file from a backup "+
			"of the folder", name, id.Checksum, id.sum())
	}
	return id, nil
}

// dataDir is the locked data folder of a running node. Its methods are safe for concurrent use.
type dataDir struct {
	path   string
	lock   *os.File
	nodeID string

	mu sync.Mutex // guards id
	id identity
}

// openDataDir creates the folder if it does not exist, locks it against a second process, and reads or creates its
// identity. When it returns, the identity is on disk.
func openDataDir(path string) (*dataDir, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("create data folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "LOCK"), os.O_CREATE|os.O_RDWR, 0o640)
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	d := &dataDir{path: path, lock: lock}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil,
			errors.Join(fmt.Errorf("lock data folder %s: another cordwood uses it; stop that one or choose another "+
				"--data-dir", path), d.close())
	}
	if err := d.loadIdentity(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// announce writes the server's address for users on this machine into the file LOCK.
func (d *dataDir) announce(url string) error {
	if err := d.lock.Truncate(0); err != nil {
		return fmt.Errorf("write the server's address to the lock of the data folder: %w", err)
	}
	if _, err := d.lock.WriteAt([]byte(url+"\n"), 0); err != nil {
		return fmt.Errorf("write the server's address to the lock of the data folder: %w", err)
	}
	return nil
}

func (d *dataDir) loadIdentity() error {
	name := filepath.Join(d.path, "IDENTITY")
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if err := refuseForeign(d.path); err != nil {
			return err
		}
		id := identity{NodeID: ulid.Make().String()}
		d.nodeID = id.NodeID
		return d.save(id)
	}
	id, err := readIdentity(d.path)
	id.Meta = id.hadMeta()
	d.id, d.nodeID = id, id.NodeID
	return err
}

// mayPrecede lists the files that a data folder may contain before it has an identity. The operator
// may have put the cluster's secret there for a node that is to join.
var mayPrecede = []string{"LOCK", "lost+found", "IDENTITY.tmp", secret.FileName}

// refuseForeign returns an error if the folder contains other files. If the first start was interrupted while it
// wrote the identity, a partial identity remains, which no other node has seen.
func refuseForeign(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("read data folder: %w", err)
	}
	for _, e := range entries {
		if name := e.Name(); !slices.Contains(mayPrecede, name) {
			return fmt.Errorf("data folder %s has no IDENTITY but holds %q: choose an empty folder as --data-dir, or "+
				"restore the file IDENTITY. If 'cordwood recover' was interrupted, remove the folder and run it again", path,
				e.Name())
		}
	}
	return nil
}

// save puts the identity on disk: temporary file, sync, rename, sync of the folder. Only then does
// it replace the identity in memory.
func (d *dataDir) save(id identity) error {
	id.Format = formatVersion
	id.Checksum = id.sum()
	data, err := json.Marshal(id)
	if err != nil {
		return err
	}
	name := filepath.Join(d.path, "IDENTITY")
	if err := vfs.Publish(vfs.OS, name, append(data, '\n')); err != nil {
		return fmt.Errorf("write identity %s: %w", name, err)
	}
	d.id = id
	return nil
}

// clone returns a copy that may be changed and saved.
func (id identity) clone() identity {
	id.Shards, id.Founders, id.PromisedFounders = slices.Clone(id.Shards), slices.Clone(id.Founders),
		slices.Clone(id.PromisedFounders)
	return id
}

// Cluster returns the cluster that the folder belongs to, and its founders.
func (d *dataDir) Cluster() (id string, founders []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.id.ClusterID, d.id.Founders
}

// SetCluster records the cluster. Later it returns an error for any other cluster. It deletes the promise.
func (d *dataDir) SetCluster(cluster string, founders []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch d.id.ClusterID {
	case cluster:
		return nil
	case "":
		id := d.id.clone()
		id.ClusterID, id.Founders, id.Promised, id.PromisedFounders = cluster, founders, "", nil
		return d.save(id)
	}
	return fmt.Errorf("data folder %s belongs to cluster %s, not to %s: it holds files of two clusters; restore it "+
		"from a backup", d.path, d.id.ClusterID, cluster)
}

// Promise returns the cluster that the node promised to join, and its founders.
func (d *dataDir) Promise() (id string, founders []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.id.Promised, d.id.PromisedFounders
}

// SetPromise records a promise, or deletes it if the id is empty.
func (d *dataDir) SetPromise(cluster string, founders []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := d.id.clone()
	id.Promised, id.PromisedFounders = cluster, founders
	return d.save(id)
}

// hasMeta reports whether a member of the metadata group was created in this folder.
func (d *dataDir) hasMeta() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.id.Meta
}

// setMeta records that the folder has a member of the metadata group.
func (d *dataDir) setMeta() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.id.Meta {
		return nil
	}
	id := d.id.clone()
	id.Meta = true
	return d.save(id)
}

// hasShard reports whether the shard was created in this folder.
func (d *dataDir) hasShard(id uint32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.id.Shards, id)
}

// addShards records on disk that the shards were created in this folder.
func (d *dataDir) addShards(shards []uint32) error {
	return d.changeShards(func(list []uint32) []uint32 {
		for _, s := range shards {
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
		slices.Sort(list)
		return list
	})
}

// dropShard records on disk that the shard is no longer in this folder.
func (d *dataDir) dropShard(shard uint32) error {
	return d.changeShards(func(list []uint32) []uint32 {
		return slices.DeleteFunc(list, func(s uint32) bool { return s == shard })
	})
}

func (d *dataDir) changeShards(change func([]uint32) []uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := d.id.clone()
	id.Shards = change(id.Shards)
	if len(id.Shards) == len(d.id.Shards) {
		return nil
	}
	return d.save(id)
}

func (d *dataDir) close() error { return d.lock.Close() }
