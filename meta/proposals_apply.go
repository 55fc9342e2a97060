package meta

import (
	"fmt"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
)

// This file handles repeated proposals.
//
// The proposer of a command may not learn its outcome, because the leader or the connection was
// lost. It then proposes the command again with the same id. If the command was executed before, it
// is answered and not executed again. A refusal is not remembered: it had no effect, and the
// command may be possible now.

// answeredBefore returns the result of a command that was executed before, or nil.
func answeredBefore(tx *catalog.Tx, cmd *metapb.Command) (*metapb.Result, error) {
	if len(cmd.Id) == 0 {
		return nil, nil
	}
	r, err := tx.Proposals.Get(cmd.Id)
	if r == nil || err != nil {
		return nil, err
	}
	for i, stub := range r.Tables {
		t, err := tx.Tables.ByID(stub.Id)
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

// remember stores the result for repeated proposals of the same command, or of its parts.
func remember(tx *catalog.Tx, cmd *metapb.Command, index uint64, r *metapb.Result) error {
	if len(cmd.Id) > 0 {
		return rememberPart(tx, cmd.Id, index, 0, r)
	}
	at := 0
	for i, part := range cmd.GetEnsureSchema().GetParts() {
		n := int(part.Tables)
		if at+n > len(r.Tables) {
			return fmt.Errorf("part %d of the command has %d tables, %d are left", i, n, len(r.Tables)-at)
		}
		if err := rememberPart(tx, part.Id, index, uint32(i), &metapb.Result{Tables: r.Tables[at : at+n]}); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// rememberPart stores one result. Tables are stored as their ids, because they may be large; a
// repeated proposal gets their present definitions.
func rememberPart(tx *catalog.Tx, id []byte, index uint64, part uint32, r *metapb.Result) error {
	kept := &metapb.Result{
		SessionId: r.SessionId, ClusterId: r.ClusterId, DroppedTables: r.DroppedTables,
		Pipeline: r.Pipeline, Shard: r.Shard, Operation: r.Operation, Audited: r.Audited,
	}
	for _, t := range r.Tables {
		kept.Tables = append(kept.Tables, &schemapb.Table{Id: t.Id})
	}
	return tx.Proposals.Put(id, index, part, kept)
}
