package node

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// cacheRoomEvery is how often the size of the cache of object storage is compared with the free space.
	cacheRoomEvery = time.Second
	// leastCache is the size to which the cache shrinks at most: a query needs all that it reads at once.
	leastCache = 64 << 20
	// cacheStep is the smallest change of its size.
	cacheStep = 16 << 20
)

// limitCache makes the cache of object storage give way while the disk that it shares with the data folder is nearly
// full up to its reserve, and grow again when there is space.
func (n *node) limitCache(ctx context.Context) error {
	o := n.objects
	tick := time.NewTicker(cacheRoomEvery)
	defer tick.Stop()
	limit := o.cacheBytes
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !sameDisk(n.data.path, o.dir) {
			continue
		}
		want := cacheLimit(o.cache.Stats().Bytes, int64(n.disk.free.Load()), int64(n.disk.keep()), o.cacheBytes)
		if want == limit || max(want-limit, limit-want) < cacheStep && want != o.cacheBytes {
			continue
		}
		if want < limit {
			n.log.Debug("the cache of object storage shrinks, because the disk has little space", "bytes", want)
		}
		o.cache.SetLimit(want)
		limit = want
	}
}

// cacheLimit returns the size that the cache may have on a disk with some free space, so that twice the reserve stays
// free: no rows are refused as long as the cache can give way.
func cacheLimit(used, free, reserve, configured int64) int64 {
	return min(max(used+free-2*reserve, min(leastCache, configured)), configured)
}

// sameDisk reports whether two folders are on one file system. A folder that does not exist yet counts as its parent.
func sameDisk(a, b string) bool {
	device := func(path string) (uint64, bool) {
		info, err := os.Stat(path)
		if err != nil {
			info, err = os.Stat(filepath.Dir(path))
		}
		if err != nil {
			return 0, false
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return 0, false
		}
		return st.Dev, true
	}
	x, ok := device(a)
	y, known := device(b)
	return ok && known && x == y
}
