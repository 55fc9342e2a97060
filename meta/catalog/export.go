package catalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"go.etcd.io/bbolt"
)

// Export is the state as pairs, for a cluster that is made anew from it. Nodes and the results of proposals are not in
// it, because they are of no use there.
type Export struct {
	// Plain has all but what Access has. FORMAT.md has the form of both.
	Plain []byte
	// Access has users, roles, grants and tokens, and the records of changes that are not yet in svc_private.audit.
	Access []byte
	// Index and Term are those of the last command.
	Index, Term uint64
}

// These are not exported, or are in Export.Access.
var (
	unexported     = [][]byte{bucketNodes, bucketRemoved, bucketProposals, bucketOrder}
	unexportedKeys = [][]byte{keyFormat, keyDigest, keyProposals}
	accessBuckets  = [][]byte{bucketPrincipals, bucketTokens, bucketTokenUses, bucketAudit, bucketAuditHeads}
	accessKeys     = [][]byte{
		keyUsers, keyRoles, keyGrants, keyTokens, keyTokenBytes, keyAudit, keyAuditBytes, keyAuditLost,
	}
)

// Export returns the frozen state as pairs.
func (f *Frozen) Export() (*Export, error) {
	e := &Export{}
	has := func(list [][]byte, name []byte) bool {
		return slices.ContainsFunc(list, func(b []byte) bool { return string(b) == string(name) })
	}
	err := f.tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		if has(unexported, name) {
			return nil
		}
		return b.ForEach(func(k, v []byte) error {
			meta := string(name) == string(bucketMeta)
			switch {
			case meta && has(unexportedKeys, k):
			case has(accessBuckets, name), meta && has(accessKeys, k):
				e.Access = appendPair(e.Access, name, k, v)
			default:
				e.Plain = appendPair(e.Plain, name, k, v)
			}
			return nil
		})
	})
	e.Index, e.Term = newTx(f.tx, &f.c.counts).Applied()
	if err != nil {
		return nil, fmt.Errorf("catalog %s: export: %w", f.c.path, err)
	}
	return e, nil
}

func appendPair(dst, bucket, key, value []byte) []byte {
	for _, b := range [][]byte{bucket, key, value} {
		dst = append(binary.AppendUvarint(dst, uint64(len(b))), b...)
	}
	return dst
}

// Import creates the file at path with the pairs of an export, and opens it. The file must not exist.
func Import(path string, e *Export) (_ *Catalog, err error) {
	if _, err := os.Stat(path); err == nil {
		return nil, fmt.Errorf("catalog %s: import: the file exists", path)
	}
	c, err := Open(path)
	if err != nil {
		return nil, err
	}
	err = c.Update(func(tx *Tx) error {
		if err := tx.putPairs(e.Plain, false); err != nil {
			return err
		}
		return tx.putPairs(e.Access, true)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("catalog %s: import: %w", path, err), c.Close())
	}
	return c, nil
}

var errPairs = errors.New("the exported pairs are damaged")

// putPairs stores exported pairs. Pairs about access are accepted only if access is set, and no others then.
func (t *store) putPairs(b []byte, access bool) error {
	known := slices.Concat(allBuckets, laterBuckets, clusterBuckets)
	for len(b) > 0 {
		var parts [3][]byte
		for i := range parts {
			n, size := binary.Uvarint(b)
			if size <= 0 || n > uint64(len(b)-size) {
				return errPairs
			}
			parts[i], b = b[size:size+int(n)], b[size+int(n):]
		}
		at := slices.IndexFunc(known, func(name []byte) bool { return string(name) == string(parts[0]) })
		if at < 0 {
			return fmt.Errorf("bucket %q is not known: %w", parts[0], ErrUnsupported)
		}
		is := func(name []byte) bool { return string(name) == string(parts[0]) }
		isKey := func(name []byte) bool { return is(bucketMeta) && string(name) == string(parts[1]) }
		ofAccess := slices.ContainsFunc(accessBuckets, is) || slices.ContainsFunc(accessKeys, isKey)
		if access != ofAccess || len(parts[1]) == 0 {
			return errPairs
		}
		if err := t.put(known[at], parts[1], parts[2]); err != nil {
			return err
		}
	}
	return nil
}
