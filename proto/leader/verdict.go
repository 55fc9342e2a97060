package leader

import "cordwood/proto/errs"

// Verdict is what to do after an error of a call.
type Verdict struct {
	// Retry is set if another node, or the same node after a pause, should be called.
	Retry bool
	// Same is set if the node leads and needs time.
	Same bool
	// Unknown is set if the call may have had its effect.
	Unknown bool
	// Settled is set if certainly no earlier call with an unknown outcome has had its effect or ever will.
	Settled bool
}

// Judge judges the error of a call by its reason, its code and its status. The package comment has
// the table.
func Judge(err error) Verdict {
	e := errs.From(err)
	switch e.Reason {
	case errs.NotLeader:
		return Verdict{Retry: true}
	case errs.Busy:
		return Verdict{Retry: true, Same: true}
	case errs.OutcomeUnknown:
		return Verdict{Retry: true, Unknown: true}
	case errs.WrongEpoch, errs.SchemaStale, errs.BadBatch, errs.TableGone:
		return Verdict{}
	}
	switch e.Code {
	case errs.ShardNotFound, errs.ShardNotReady, errs.ShardBusy:
		// The node does not hold the shard (yet), or does not serve it yet.
		return Verdict{Retry: true}
	case errs.RuntimeResourcesExhausted, errs.RateLimited:
		return Verdict{}
	}
	s := e.Status()
	if s < 500 {
		return Verdict{}
	}
	// An answer without a reason does not show whether the call had its effect.
	return Verdict{Retry: s == 503 || s == 504, Unknown: true}
}

// Broken reports whether an error comes from the connection and not from an answer.
func Broken(err error) bool {
	e := errs.From(err)
	return e.Code == errs.ShardUnreachable && e.Reason == errs.OutcomeUnknown
}
