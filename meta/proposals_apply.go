package meta

import (
	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
)

// After the log: proposals that come twice.
//
// Who proposes a command may not learn what became of it: the leader was lost, or the
// connection. It proposes the command again with the same id, and a command that was
// executed is then answered and not executed. A refusal is not remembered: it had no
// effect, and the command may be possible now.

// executed returns the result of a command that was executed before, or nil.
func executed(tx *catalog.Tx, cmd *metapb.Command) (*metapb.Result, error) {
	if len(cmd.Id) == 0 {
		return nil, nil
	}
	r, err := tx.Proposal(cmd.Id)
	if r == nil || err != nil {
		return nil, err
	}
	for i, stub := range r.Tables {
		t, err := tx.TableByID(stub.Id)
		if err != nil {
			return nil, err
		}
		if t == nil {
			return nil, errs.New(errs.TableUnavailable, "Table %d was dropped meanwhile; try again", stub.Id)
		}
		r.Tables[i] = t
	}
	return r, nil
}

// remember keeps the result for proposals of the same command to come. Tables are kept as
// their ids: they may be large, and are answered as they are then.
func remember(tx *catalog.Tx, cmd *metapb.Command, index uint64, r *metapb.Result) error {
	if len(cmd.Id) == 0 {
		return nil
	}
	kept := &metapb.Result{
		SessionId: r.SessionId, ClusterId: r.ClusterId, DroppedTables: r.DroppedTables,
		Pipeline: r.Pipeline, Shard: r.Shard, Operation: r.Operation,
	}
	for _, t := range r.Tables {
		kept.Tables = append(kept.Tables, &schemapb.Table{Id: t.Id})
	}
	return tx.PutProposal(cmd.Id, index, kept)
}
