package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Offline is a data folder that no server uses, for tools that look into it.
type Offline struct {
	Path string
	// NodeID and ClusterID say whose it is, Shards which were created in it.
	NodeID, ClusterID string
	Shards            []uint32
	// Meta means that a member of the metadata group was created in it.
	Meta bool

	lock *os.File
}

// ErrInUse means that a server uses the folder.
var ErrInUse = errors.New("it is used by a running cordwood: stop it first")

// OpenOffline locks a data folder against servers and reads its identity; nothing in it is changed.
// A folder that a server uses is ErrInUse. If only the identity is at fault, the folder is returned
// with the error.
func OpenOffline(path string) (*Offline, error) {
	lock, err := os.OpenFile(filepath.Join(path, "LOCK"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		// Never started, or copied without it: the folder itself can be locked too.
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

// maxAddress bounds the bytes of an address of a server.
const maxAddress = 1 << 10

// ServerOf returns where users on this machine reach the server that uses a data folder. If no server uses it, the
// address is that of the last one. It is empty if it is not known.
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

// RetireMeta sets the node's member of the metadata group aside, whose group was given up,
// and returns the folder's new name. The node has none when it is started again, until
// the group makes it a member.
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
	// Without this it would found the group of then once more.
	id.Meta, id.Founders = false, nil
	d := &dataDir{path: o.Path}
	return aside, d.save(id)
}
