package meta

import (
	"context"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// These functions make members misbehave, to test that the checks of histories notice.

// ReadWithoutAsking makes a member answer reads without confirming that it leads.
func ReadWithoutAsking(c *Config) {
	c.readIndex = func(m *Meta) indexReader {
		return func(context.Context) (index, term uint64, err error) {
			if !m.Leads() {
				return 0, 0, errs.New(errs.ShardNotReady, "not the leader").WithLeader("")
			}
			return m.machine.AppliedIndex(), 1, nil
		}
	}
}

// ForgetProposals makes a member execute a command each time that it arrives.
func ForgetProposals(c *Config) {
	c.answered = func(*catalog.Tx, *metapb.Command) (*metapb.Result, error) { return nil, nil }
}
