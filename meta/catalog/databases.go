package catalog

import (
	"bytes"

	"cordwood/proto/schemapb"
)

// Database returns the database, or nil.
func (t *Tx) Database(name string) (*schemapb.Database, error) {
	d := &schemapb.Database{}
	found, err := t.get(bucketDatabases, []byte(name), d)
	if !found {
		return nil, err
	}
	return d, err
}

// Databases lists the databases by name.
func (t *Tx) Databases() ([]*schemapb.Database, error) {
	return list(t.tx.Bucket(bucketDatabases), func() *schemapb.Database { return &schemapb.Database{} })
}

// CreateDatabase stores a database that does not exist.
func (t *Tx) CreateDatabase(d *schemapb.Database) error {
	if _, err := t.count(keyDatabases, 1); err != nil {
		return err
	}
	return t.putMessage(bucketDatabases, []byte(d.Name), d)
}

// PutDatabase stores a database that exists, changed.
func (t *Tx) PutDatabase(d *schemapb.Database) error {
	return t.putMessage(bucketDatabases, []byte(d.Name), d)
}

// DropDatabase removes a database that exists and has no tables.
func (t *Tx) DropDatabase(name string) error {
	if _, err := t.count(keyDatabases, -1); err != nil {
		return err
	}
	return t.delete(bucketDatabases, []byte(name))
}

// TableIDs lists the ids of a database's tables in the order of their names, at
// most limit of them; 0 means all.
func (t *Tx) TableIDs(database string, limit int) []uint64 {
	var ids []uint64
	prefix := databasePrefix(database)
	cur := t.tx.Bucket(bucketNames).Cursor()
	for k, v := cur.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		ids = append(ids, number(v))
		if limit > 0 && len(ids) == limit {
			break
		}
	}
	return ids
}
