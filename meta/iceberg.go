package meta

import (
	"strings"

	"google.golang.org/grpc"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// This file has the commands and calls about tables that are shown as Apache Iceberg. The state names the current
// metadata file of each, so that of several nodes that commit at the same time one succeeds.

// maxIcebergKey is the maximum length of a key of a metadata file.
const maxIcebergKey = 1024

func prepareCommitIceberg(c *metapb.CommitIceberg) error {
	x := c.GetTable()
	switch {
	case x.GetTableId() == 0:
		return errs.New(errs.InvalidArguments, "Commit of an Iceberg table: no table is given")
	case c.Forget:
		return nil
	case x.Uuid == "" || x.Key == "" || len(x.Key) > maxIcebergKey || strings.HasPrefix(x.Key, "/"):
		return errs.New(errs.InvalidArguments, "Commit of Iceberg table %d: want an id and the key of a file, got %.80q and "+
			"%.80q", x.TableId, x.Uuid, x.Key)
	}
	return checkText("id of an Iceberg table", x.Uuid, true)
}

// applyCommitIceberg stores a commit if the table has no other one since.
func applyCommitIceberg(tx *catalog.Tx, cmd *metapb.CommitIceberg) (*metapb.Result, error) {
	id := cmd.Table.TableId
	had, err := tx.Iceberg.Get(id)
	if err != nil {
		return nil, err
	}
	if had.GetVersion() != cmd.IfVersion {
		return nil, errs.New(errs.IllegalState, "Iceberg table %d has the commit %d, and not %d: another node has committed",
			id, had.GetVersion(), cmd.IfVersion)
	}
	if cmd.Forget {
		if had == nil {
			return &metapb.Result{}, nil
		}
		return &metapb.Result{}, tx.Iceberg.Delete(id)
	}
	t, err := tx.Tables.ByID(id)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, errs.New(errs.TableNotFound, "Iceberg table %d: the table does not exist", id)
	}
	return &metapb.Result{}, tx.Iceberg.Put(&metapb.IcebergTable{
		TableId: id, Version: cmd.IfVersion + 1, Uuid: cmd.Table.Uuid, Key: cmd.Table.Key,
	})
}

// icebergPiece is the number of tables that one transaction reads.
const icebergPiece = 256

// ReadIceberg sends the last commits of Iceberg tables. Only the leader answers.
func (m *Meta) ReadIceberg(
	req *metapb.ReadIcebergRequest, stream grpc.ServerStreamingServer[metapb.IcebergTable],
) error {
	if _, err := m.ReadIndex(stream.Context(), &metapb.ReadIndexRequest{}); err != nil {
		return err
	}
	for after, more := uint64(0), true; more; {
		var piece []*metapb.IcebergTable
		err := m.catalog.View(func(tx *catalog.Tx) (err error) {
			if req.TableId == 0 {
				piece, err = tx.Iceberg.From(after, icebergPiece)
				return err
			}
			x, err := tx.Iceberg.Get(req.TableId)
			if x != nil {
				piece = append(piece, x)
			}
			return err
		})
		if err != nil {
			return errs.ToGRPC(errs.Wrap(errs.Internal, err, "read the commits of Iceberg tables"))
		}
		for _, x := range piece {
			if err := stream.Send(x); err != nil {
				return err
			}
			after = x.TableId
		}
		more = len(piece) == icebergPiece
	}
	return nil
}
