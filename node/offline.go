package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/oklog/ulid/v2"
)

// Offline is a data folder that no server uses and that a tool has opened.
type Offline struct {
	Path string
	// NodeID and ClusterID identify the owner of the folder. Shards lists the shards that were created in it.
	NodeID, ClusterID string
	Shards            []uint32
	// Meta means that a member of the metadata group was created in it.
	Meta bool

	lock *os.File
}

// ErrInUse means that a server uses the folder.
var ErrInUse = errors.New("it is used by a running cordwood: stop it first")

// OpenOffline locks a data folder against servers and reads its identity. It changes nothing in the folder. It
// returns ErrInUse if a server uses the folder. If only the identity is damaged, it returns the folder together with
// the error.
func OpenOffline(path string) (*Offline, error) {
	lock, err := os.OpenFile(filepath.Join(path, "LOCK"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		// The folder was never used, or was copied without the file LOCK. Lock the folder itself instead.
		lock, err = os.Open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("open data folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("data folder %s: %w", path, ErrInUse), lock.Close())
	}
	o := &Offline{Path: path, lock: lock}
	id, err := readIdentity(path)
	o.NodeID, o.ClusterID, o.Shards, o.Meta = id.NodeID, id.ClusterID, id.Shards, id.hadMeta()
	return o, err
}

// maxAddress is the maximum length of a server's address, in bytes.
const maxAddress = 1 << 10

// ServerOf returns the address, for users, of the server that uses a data folder, or of the last server that used it.
// It is empty if unknown.
func ServerOf(path string) string {
	f, err := os.Open(filepath.Join(path, "LOCK"))
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxAddress))
	u, perr := url.Parse(strings.TrimSpace(string(b)))
	if err != nil || perr != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Close unlocks the folder.
func (o *Offline) Close() error { return o.lock.Close() }

// RetireMeta renames the folder of the node's member of the metadata group, after the group was given up, and returns
// the new name. When the node starts again, it has no member until the group adds one.
func (o *Offline) RetireMeta(now time.Time) (aside string, err error) {
	id, err := readIdentity(o.Path)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(o.Path, "meta")
	aside = dir + ".retired-" + now.UTC().Format("20060102-150405")
	if err := os.Rename(dir, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	// Otherwise the node would found the old group again.
	id.Meta, id.Founders = false, nil
	d := &dataDir{path: o.Path}
	return aside, d.save(id)
}

// CreateOffline makes the data folder of a new node that belongs to a cluster, and locks it. The folder must be empty
// or not exist, except for a file with the secret of the cluster. Finish completes it.
func CreateOffline(path, cluster string) (*Offline, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("create data folder: %w", err)
	}
	if err := refuseForeign(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(path, "IDENTITY")); err == nil {
		return nil, fmt.Errorf("data folder %s is in use by a node: choose an empty folder", path)
	}
	lock, err := os.OpenFile(filepath.Join(path, "LOCK"), os.O_CREATE|os.O_RDWR, 0o640)
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("data folder %s: %w", path, ErrInUse), lock.Close())
	}
	return &Offline{Path: path, NodeID: ulid.Make().String(), ClusterID: cluster, lock: lock}, nil
}

// Finish writes the identity of a folder that CreateOffline made: from then on it is the folder of a node, which has
// the metadata and the given shards.
func (o *Offline) Finish(shards []uint32) error {
	o.Shards, o.Meta = slices.Sorted(slices.Values(shards)), true
	d := &dataDir{path: o.Path}
	return d.save(identity{
		NodeID: o.NodeID, ClusterID: o.ClusterID, Founders: []string{o.NodeID}, Shards: o.Shards, Meta: true,
	})
}
