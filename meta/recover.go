package meta

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
	"cordwood/shard/replica"
	"cordwood/shard/replica/raftlog"
)

// Recover makes the member in a folder the only one of its group; see replica.Recover. The member
// must not be running.
//
// The copy may lack the newest commands, which assigned ids that nodes still use. So the first
// command of the new group raises all counters by a large step. raised is false if the cluster's
// version does not have this command.
func Recover(dir, nodeID string, now time.Time) (raised bool, err error) {
	version, err := storedVersion(filepath.Join(dir, StateFile))
	if err != nil {
		return false, err
	}
	cfg := replica.RecoverConfig{Dir: dir, Log: raftlog.Bolt, NodeID: nodeID}
	if raised = version >= metapb.ProtocolMarks; raised {
		data, err := proto.Marshal(&metapb.Command{
			TimeUnixNano: now.UnixNano(),
			Op:           &metapb.Command_RaiseCounters{RaiseCounters: &metapb.RaiseCounters{Recovered: true}},
		})
		if err != nil {
			return false, err
		}
		cfg.Commands = [][]byte{data}
	}
	_, err = replica.Recover(cfg)
	return raised, err
}

// storedVersion returns the version of the cluster in a state's file. It returns 0 if there is no
// file; the member then restores it from its log.
func storedVersion(file string) (version uint32, err error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	cat, err := catalog.OpenReadOnly(file)
	if err != nil {
		return 0, err
	}
	err = cat.View(func(tx *catalog.Tx) error { version = tx.ClusterVersion(); return nil })
	return version, errors.Join(err, cat.Close())
}
