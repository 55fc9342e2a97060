package registry

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// fileVersion is the version of the file of addresses. A newer version is ignored: the addresses are learned again.
const fileVersion = 1

// kept is the content of the file. It only helps to find the others sooner, or without seeds. It may be lost or out
// of date at any time.
type kept struct {
	Version int        `json:"version"`
	Nodes   []keptNode `json:"nodes"`
}

type keptNode struct {
	ID    string   `json:"id"`
	Addr  string   `json:"addr"`
	Roles []string `json:"roles,omitempty"`
}

// Kept returns the last addresses of nodes, by id, from the file of a node that does not run. It is empty if the file
// does not exist or cannot be read.
func Kept(file string) map[string]string {
	out := map[string]string{}
	var k kept
	if data, err := os.ReadFile(file); err != nil || json.Unmarshal(data, &k) != nil || k.Version != fileVersion {
		return out
	}
	for _, n := range k.Nodes {
		out[n.ID] = n.Addr
	}
	return out
}

func (r *Registry) load() {
	if r.cfg.File == "" {
		return
	}
	data, err := os.ReadFile(r.cfg.File)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var k kept
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	if err != nil || k.Version != fileVersion {
		r.cfg.Logger.Warn("the stored addresses of other nodes cannot be used", "file", r.cfg.File,
			"version", k.Version, "error", err)
		return
	}
	for _, n := range k.Nodes {
		if n.ID != r.cfg.NodeID {
			e := r.entry(n.ID)
			r.put(e, n.Addr)
			e.roles, e.heard = n.Roles, r.cfg.Now()
		}
	}
}

// save stores the addresses, except addresses of removed nodes and of nodes known only from calls.
// It does not sync: the file may be lost.
func (r *Registry) save() {
	if r.cfg.File == "" {
		return
	}
	k := kept{Version: fileVersion}
	for _, n := range r.known(func(id string, e *entry) bool { return e.callerHost == "" && !r.removed[id] }) {
		k.Nodes = append(k.Nodes, keptNode{n.Id, n.RpcAddr, n.Roles})
	}
	data, err := json.Marshal(k)
	if err != nil {
		return
	}
	r.saving.Lock()
	defer r.saving.Unlock()
	if err = os.WriteFile(r.cfg.File+".tmp", append(data, '\n'), 0o640); err == nil {
		err = os.Rename(r.cfg.File+".tmp", r.cfg.File)
	}
	if err != nil {
		r.cfg.Logger.Warn("cannot store the addresses of other nodes", "file", r.cfg.File, "error", err)
	}
}
