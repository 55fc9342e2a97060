package object

import (
	"cmp"
	"context"
	"slices"

	"cordwood/shard/cold"
	"cordwood/shard/cold/cache"
)

// FetchEnds fetches the ends of objects into the cache before a query asks for them, those of the newest rows first,
// and returns how many it asked for. They take a bounded part of the cache.
func (r *Reader) FetchEnds(ctx context.Context, objects []*cold.Object) (int, error) {
	slices.SortFunc(objects, func(a, b *cold.Object) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(b.Cut, a.Cut))
	})
	list := make([]cache.Object, len(objects))
	for i, o := range objects {
		list[i] = of(o)
	}
	return r.cfg.Cache.FetchEnds(ctx, list)
}
