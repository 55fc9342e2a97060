package catalog

import "cordwood/proto/metapb"

// Part of the format.
var (
	keyClusterVersion = []byte("cluster_version")
	keySettings       = []byte("settings")
)

// ClusterVersion returns the highest version whose commands and formats may be used, or 0 until the cluster is
// bootstrapped.
func (t *Tx) ClusterVersion() uint32 {
	v := number(t.tx.Bucket(bucketMeta).Get(keyClusterVersion))
	if v == 0 && t.ClusterID() != "" {
		return 1 // created before there were versions
	}
	return uint32(v)
}

// SetClusterVersion sets what ClusterVersion returns.
func (t *Tx) SetClusterVersion(v uint32) error {
	return t.put(bucketMeta, keyClusterVersion, u64(uint64(v)))
}

// Settings returns the settings of the cluster. It never returns nil.
func (t *Tx) Settings() (*metapb.Settings, error) {
	s := &metapb.Settings{}
	_, err := t.get(bucketMeta, keySettings, s)
	return s, err
}

// SetSettings replaces the settings.
func (t *Tx) SetSettings(s *metapb.Settings) error { return t.putMessage(bucketMeta, keySettings, s) }
