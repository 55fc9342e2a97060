package node

import (
	"log/slog"
	"sync"

	"cordwood/meta/metaclient"
)

// uncheckedUsers is the warning of a router without --auth in a cluster that has users.
const uncheckedUsers = "the cluster has users, but this node does not check them, so everybody who reaches its ports " +
	"may do everything: start it, and every other node with the role router, with --auth=on"

// unchecked notes whether the metadata have users, on a node that does not check them. It is safe for concurrent use.
type unchecked struct {
	log *slog.Logger

	mu    sync.Mutex // guards names
	names map[string]bool
}

// apply notes changes of the users. It logs the warning when the first one appears.
func (u *unchecked) apply(c metaclient.AccessChanges) {
	u.mu.Lock()
	defer u.mu.Unlock()
	none := len(u.names) == 0
	if u.names == nil || c.Whole {
		u.names = map[string]bool{}
	}
	for _, name := range c.Dropped {
		delete(u.names, name)
	}
	for _, p := range c.Principals {
		if !p.Role { // nobody signs in as a role
			u.names[p.Name] = true
		}
	}
	if none && len(u.names) > 0 {
		u.log.Warn(uncheckedUsers)
	}
}

// warnings lists the warning if the metadata have users.
func (u *unchecked) warnings() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.names) == 0 {
		return nil
	}
	return []string{uncheckedUsers}
}
