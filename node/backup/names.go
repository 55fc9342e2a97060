package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"cordwood/proto/backuppb"
	"cordwood/proto/lazyregexp"
	"cordwood/proto/shardpb"
)

// The names of objects. They are part of the format.
const (
	infoName       = "cordwood-backups.json"
	manifestPrefix = "backups/"
	manifestSuffix = ".manifest"
	metadataPrefix = "metadata/"
	metadataSuffix = ".records"
	segmentPrefix  = "segments/"
	segmentSuffix  = ".parquet"
	lockPrefix     = "locks/"
	lockSuffix     = ".json"
	tempPrefix     = "tmp/"
)

var backupID = lazyregexp.New(`^[0-9]{8}T[0-9]{9}Z-[a-z0-9]{6}$`)

func manifestName(id string) string { return manifestPrefix + id + manifestSuffix }

func parseManifestName(name string) (id string, ok bool) {
	id, ok = strings.CutPrefix(name, manifestPrefix)
	if ok {
		id, ok = strings.CutSuffix(id, manifestSuffix)
	}
	return id, ok && backupID.MatchString(id)
}

// ManifestOf returns the id of the backup to which a manifest belongs. ok is false if the object is not a manifest.
func ManifestOf(object string) (id string, ok bool) { return parseManifestName(object) }

func metadataName(sum []byte) string {
	return metadataPrefix + hex.EncodeToString(sum) + metadataSuffix
}

var metadataNames = lazyregexp.New(`^` + metadataPrefix + `[0-9a-f]{64}` + regexp.QuoteMeta(metadataSuffix) + `$`)

// segmentKey identifies the file of a segment. It is unique within a cluster.
type segmentKey struct {
	cluster     string
	shard       uint32
	incarnation uint32
	id          uint64
	bytes       int64
	crc         uint32
}

func keyOf(cluster string, s *backuppb.Shard, p *shardpb.PinnedSegment) segmentKey {
	return segmentKey{cluster, s.Id, s.Incarnation, p.Id, p.Bytes, p.FileCrc}
}

// shardPrefix returns the prefix of the names of a shard's segments.
func shardPrefix(cluster string, shard, incarnation uint32) string {
	return fmt.Sprintf("%s%s/%d-%d/", segmentPrefix, cluster, shard, incarnation)
}

func segmentName(k segmentKey, sum []byte) string {
	return fmt.Sprintf("%s%016d-%d-%08x-%x%s", shardPrefix(k.cluster, k.shard, k.incarnation), k.id, k.bytes, k.crc,
		sum, segmentSuffix)
}

var segmentNames = lazyregexp.New(`^` + segmentPrefix +
	`([^/]+)/([0-9]+)-([0-9]+)/([0-9]{16,20})-([0-9]+)-([0-9a-f]{8})-([0-9a-f]{64})` + regexp.QuoteMeta(segmentSuffix) +
	`$`)

func parseSegmentName(name string) (k segmentKey, sum []byte, ok bool) {
	m := segmentNames.FindStringSubmatch(name)
	if m == nil {
		return k, nil, false
	}
	var bad error
	number := func(s string, base, bits int) uint64 {
		n, err := strconv.ParseUint(s, base, bits)
		if err != nil {
			bad = err
		}
		return n
	}
	k = segmentKey{
		cluster: m[1], shard: uint32(number(m[2], 10, 32)), incarnation: uint32(number(m[3], 10, 32)),
		id: number(m[4], 10, 64), bytes: int64(number(m[5], 10, 63)), crc: uint32(number(m[6], 16, 32)),
	}
	sum, err := hex.DecodeString(m[7])
	return k, sum, bad == nil && err == nil && segmentName(k, sum) == name
}

// checkLength is the length of the check at the end of a repository's id.
const checkLength = 6

// check returns a digest of the content of a repository's file. It is the end of the id, so that a change of any byte
// is noticed.
func (i info) check() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s\n%s", i.Format, i.Version, i.ID, i.Created))
	return strings.ToUpper(hex.EncodeToString(sum[:checkLength/2]))
}

// sound reports whether the check at the end of the id matches.
func (i info) sound() bool {
	given := i
	given.ID = i.ID[:len(i.ID)-checkLength]
	return i.ID[len(i.ID)-checkLength:] == given.check()
}
