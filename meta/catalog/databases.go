package catalog

import (
	"cordwood/proto/schemapb"
)

// Databases are the databases of the cluster.
type Databases struct{ *store }

// Get returns the database, or nil.
func (t Databases) Get(name string) (*schemapb.Database, error) {
	d := &schemapb.Database{}
	found, err := t.get(bucketDatabases, []byte(name), d)
	if !found {
		return nil, err
	}
	return d, err
}

// All lists the databases by name.
func (t Databases) All() ([]*schemapb.Database, error) {
	return list(t.tx.Bucket(bucketDatabases), func() *schemapb.Database { return &schemapb.Database{} })
}

// Create stores a database that does not exist.
func (t Databases) Create(d *schemapb.Database) error {
	if _, err := t.count(keyDatabases, 1); err != nil {
		return err
	}
	return t.putMessage(bucketDatabases, []byte(d.Name), d)
}

// Put stores a changed database, which must exist.
func (t Databases) Put(d *schemapb.Database) error {
	return t.putMessage(bucketDatabases, []byte(d.Name), d)
}

// Drop removes a database, which must exist and have no tables.
func (t Databases) Drop(name string) error {
	if _, err := t.count(keyDatabases, -1); err != nil {
		return err
	}
	return t.delete(bucketDatabases, []byte(name))
}

// Count returns the number of databases.
func (t Databases) Count() uint64 { return number(t.tx.Bucket(bucketMeta).Get(keyDatabases)) }
