package iceberg

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/shard/cold/bucket"
)

// Table is a table that was committed at least once.
type Table struct {
	Database, Name string
	// UUID is the id of the Iceberg table.
	UUID string
	// Location is the absolute location of the current metadata file.
	Location string
}

// Catalog reads the current state of the Iceberg tables of the cluster.
type Catalog struct {
	Meta Meta
	// ByID and ByName find tables.
	ByID   func(id uint64) (*schema.Table, bool)
	ByName func(database, name string) (*schema.Table, bool)
	// Bucket is nil on nodes without object storage. Root is the absolute location of its keys.
	Bucket bucket.Bucket
	Root   string
}

// ErrNoStorage is the error of nodes without object storage.
var ErrNoStorage = errors.New("this node has no object storage: set --object-storage-url on it, as on the other nodes")

// Tables lists the Iceberg tables by database and name, as of the leader of the metadata.
func (c *Catalog) Tables(ctx context.Context) ([]Table, error) {
	if c.Bucket == nil {
		return nil, ErrNoStorage
	}
	commits, err := c.Meta.ReadIceberg(ctx, 0)
	if err != nil {
		return nil, err
	}
	var list []Table
	for _, x := range commits {
		t, ok := c.ByID(x.TableId)
		if !ok || t.Options[schema.OptionIceberg] == "" {
			continue
		}
		list = append(list, c.table(t, x))
	}
	slices.SortFunc(list, func(a, b Table) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

func (c *Catalog) table(t *schema.Table, x *metapb.IcebergTable) Table {
	return Table{Database: t.Database, Name: t.Name, UUID: x.Uuid, Location: c.Root + "/" + x.Key}
}

// Table returns one table. ok is false if it is not shown as Iceberg, or was not committed yet.
func (c *Catalog) Table(ctx context.Context, database, name string) (t Table, ok bool, err error) {
	if c.Bucket == nil {
		return Table{}, false, ErrNoStorage
	}
	def, ok := c.ByName(database, name)
	if !ok || def.Options[schema.OptionIceberg] == "" {
		return Table{}, false, nil
	}
	commits, err := c.Meta.ReadIceberg(ctx, def.ID)
	if err != nil || len(commits) == 0 {
		return Table{}, false, err
	}
	return c.table(def, commits[0]), true, nil
}

// Metadata returns the metadata file of a table.
func (c *Catalog) Metadata(ctx context.Context, t Table) ([]byte, error) {
	key, ok := strings.CutPrefix(t.Location, c.Root+"/")
	if c.Bucket == nil || !ok {
		return nil, ErrNoStorage
	}
	return bucket.ReadAll(ctx, c.Bucket, key, maxFile)
}
