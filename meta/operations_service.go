package meta

import (
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// This file prepares commands about operations.

const (
	// maxOperationBytes is the maximum size of an operation.
	maxOperationBytes = 32 << 10
	// maxReason is the maximum length of its reason.
	maxReason = 4096
)

func preparePutOperation(p *metapb.PutOperation) error {
	o := p.Operation
	if o == nil {
		return errs.New(errs.InvalidArguments, "Put an operation: none is given")
	}
	if err := checkText("kind of the operation", o.Kind, true); err != nil {
		return err
	}
	for _, text := range []string{o.NodeId, o.FromNode, o.ToNode, o.Step, o.RequestedBy} {
		if err := checkText("operation's attribute", text, false); err != nil {
			return err
		}
	}
	if len(o.Reason) > maxReason || !utf8.ValidString(o.Reason) {
		return errs.New(errs.InvalidArguments,
			"Put operation %s: its reason has %d bytes, at most %d of valid UTF-8 are possible", o.Kind,
			len(o.Reason), maxReason)
	}
	if n := proto.Size(o); n > maxOperationBytes {
		return errs.New(errs.InvalidArguments, "Put operation %s: it has %d bytes, at most %d are possible", o.Kind, n,
			maxOperationBytes)
	}
	switch o.State {
	case metapb.OperationState_OPERATION_STATE_RUNNING, metapb.OperationState_OPERATION_STATE_DONE,
		metapb.OperationState_OPERATION_STATE_CANCELLED, metapb.OperationState_OPERATION_STATE_FAILED:
		return nil
	}
	return errs.New(errs.InvalidArguments, "Put operation %s: %s is not a state", o.Kind, o.State)
}
