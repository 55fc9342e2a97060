package doctor

import (
	"cordwood/node"
	"cordwood/proto/words"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/object"
	"cordwood/shard/manifest"
)

// objects checks that object storage has the objects of a shard, with their sizes and checksums. Objects without a
// checksum that the service knows are read.
func (d *doctor) objects(dir string, st *manifest.State) {
	all := 0
	for i := range st.Sets {
		all += len(st.Sets[i].Objects)
	}
	c := d.cfg.Settings
	switch {
	case all == 0 || d.storageFailed:
		return
	case c == nil || c.Objects.URL == "":
		d.find(Attention, dir, "run this with the settings of the server, such as by --config",
			"%s of the shard are in object storage, and no location is set: they were not checked", words.Count(all, "object"))
		return
	}
	ctx := d.ctx
	b, err := c.Objects.Open()
	if err != nil {
		return // the check of the settings reports it
	}
	if dir, ok := b.(*bucket.Dir); ok {
		if err := node.CheckDirectory(d.path(node.StorageFile), dir); err != nil {
			d.storageFailed = true
			d.find(Attention, "", "", "the objects in object storage cannot be checked: %v", err)
			return
		}
	}
	if d.storage == nil {
		d.storage = bucket.NewGuard(b, bucket.GuardConfig{NoCircuit: true})
		if err := bucket.TryChecksums(ctx, b); err != nil && ctx.Err() == nil {
			d.find(Note, "", "", "object storage was not seen to compare checksums, so objects are read: %v", err)
		}
	}
	for i := range st.Sets {
		for k := range st.Sets[i].Objects {
			o := &st.Sets[i].Objects[k]
			err := object.Verify(ctx, d.storage, o, func(int64) error { return ctx.Err() })
			switch {
			case err == nil:
				d.report.Objects++
			case object.Lost(err):
				d.find(Damage, dir, "restore the object from a version or a copy of the bucket; without it, queries that need "+
					"its "+words.Count(o.Meta.Rows, "row")+" fail. If this node has been stopped for more than two days, the rows "+
					"may have expired: start it, and look for warnings in /ready after a scrub",
					"an object in object storage is missing or damaged: %v", err)
			default:
				d.storageFailed = true
				d.find(Attention, dir, "run 'cordwood object-storage check "+c.Objects.URL+"', and then this again",
					"the objects in object storage cannot be checked: %v", err)
				return
			}
		}
	}
}
