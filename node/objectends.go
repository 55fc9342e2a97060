package node

import (
	"context"
	"time"

	"cordwood/shard/cold"
)

// endsEvery is how often a node looks for objects whose ends it does not have. For longer than that, a new object has
// the rows of local files.
const endsEvery = time.Minute

// fetchEnds fetches the ends of the objects of this node's shards into its cache, so that a query of rows in object
// storage begins with the columns that it reads. While the service does not answer, it tries again later.
func (n *node) fetchEnds(ctx context.Context) error {
	if n.objects == nil || n.objects.reader == nil {
		return nil
	}
	for {
		var list []*cold.Object
		for _, s := range n.host.All() {
			list = append(list, s.Store().Status.Objects()...)
		}
		if !n.objects.guard.State().Open {
			fetched, err := n.objects.reader.FetchEnds(ctx, list)
			if fetched > 0 && ctx.Err() == nil {
				n.log.Debug("fetched the ends of objects in object storage", "objects", fetched, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(endsEvery):
		}
	}
}
