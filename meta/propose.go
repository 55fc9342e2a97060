package meta

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// Propose checks a command, puts it through the log and returns its result. If a command is
// refused, here or by the state machine, it changes nothing, and the result contains the refusal.
// An error means another outcome (see replica.Propose), or that this version does not know the
// command.
func (m *Meta) Propose(ctx context.Context, req *metapb.ProposeRequest) (*metapb.ProposeResponse, error) {
	cmd := req.GetCommand()
	op := opName(cmd)
	m.noticeTerm()
	resp, err := m.propose(ctx, cmd)
	if err == nil {
		err = m.awaitLeases(ctx, resp.Index)
	}
	m.metrics.proposed(op, resp, err)
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	return resp, nil
}

// idBytes is the length of a proposal's id.
const idBytes = 16

func (m *Meta) propose(ctx context.Context, cmd *metapb.Command) (*metapb.ProposeResponse, error) {
	// A command that no member can apply would stop all of them, so it is refused before it enters the log.
	if err := checkKnown(cmd); err != nil {
		return nil, errs.Wrap(errs.Unsupported, err, "propose to meta")
	}
	cmd = proto.CloneOf(cmd)
	if cmd.TimeUnixNano == 0 {
		cmd.TimeUnixNano = time.Now().UnixNano()
	}
	cmd.MaxTables = uint32(m.cfg.MaxTables)
	if len(cmd.Id) != 0 && len(cmd.Id) != idBytes {
		return nil, errs.New(errs.InvalidArguments, "propose to meta: the proposal's id has %d bytes, want %d",
			len(cmd.Id), idBytes)
	}
	err := checkGate(cmd, m.machine.version.Load())
	if err == nil {
		err = prepare(cmd)
	}
	if err == nil {
		err = checkSpread(cmd, m.machine.version.Load())
	}
	if err == nil {
		err = checkWidening(cmd, m.machine.version.Load())
	}
	if err == nil {
		err = checkNewOptions(cmd, m.machine.version.Load())
	}
	if err == nil {
		err = checkStorage(cmd, m.cfg.ObjectStorage)
	}
	if err == nil {
		err = checkQuotas(cmd, m.machine.version.Load())
	}
	if err == nil {
		err = prepareAudit(cmd, m.machine.version.Load())
	}
	if err == nil {
		err = prepareIssuer(cmd, m.machine.version.Load())
	}
	if err == nil {
		err = m.checkRemoved(cmd)
	}
	if err != nil {
		if e := (*errs.Error)(nil); errors.As(err, &e) {
			return &metapb.ProposeResponse{Result: refused(e)}, nil
		}
		return nil, err
	}
	if cmd.GetEnsureSchema() != nil {
		return m.ensure(ctx, cmd)
	}
	if r := cmd.GetRegisterNode(); r != nil {
		return m.register(ctx, cmd, r.Node)
	}
	return m.log(ctx, cmd)
}

// log puts a prepared command through the log.
func (m *Meta) log(ctx context.Context, cmd *metapb.Command) (*metapb.ProposeResponse, error) {
	data, err := proto.Marshal(cmd)
	if err != nil {
		return nil, errs.Wrap(errs.InvalidArguments, err, "propose to meta: encode the command")
	}
	applied, err := m.replica.Propose(ctx, data)
	if err != nil {
		return nil, err
	}
	result, ok := applied.Result.(*metapb.Result)
	if !ok {
		return nil, errs.New(errs.Internal, "propose to meta: entry %d was applied without a result", applied.Index)
	}
	return &metapb.ProposeResponse{Index: applied.Index, Result: result}, nil
}

// checkRemoved refuses to remove a node that is a member of the group. The members are not in the
// state, so the leader checks this before the log.
func (m *Meta) checkRemoved(cmd *metapb.Command) error {
	r := cmd.GetRemoveNode()
	if r == nil {
		return nil
	}
	if voters, learners := m.replica.Members(); slices.Contains(voters, r.NodeId) || slices.Contains(learners, r.NodeId) {
		return errs.New(errs.InvalidArguments,
			"Node %s cannot be removed: it is a member of the metadata group; remove it from that first", r.NodeId)
	}
	return nil
}

// prepare completes a command before the log, or refuses it. It does not read the state.
func prepare(cmd *metapb.Command) error {
	op, ok := commandRules[opName(cmd)]
	if !ok {
		return errs.New(errs.Unsupported, "propose to meta: unknown command")
	}
	if op.prepare == nil {
		return nil
	}
	return op.prepare(cmd)
}

// refused returns the result of a command that changed nothing.
func refused(e *errs.Error) *metapb.Result {
	r := &metapb.Result{ErrorCode: uint32(e.Code), ErrorMessage: e.Msg}
	if q := e.Quota; q != nil {
		r.Quota = &metapb.QuotaRefusal{Database: q.Database, Name: q.Name, Limit: q.Limit, Value: q.Value, Unit: q.Unit}
	}
	return r
}
