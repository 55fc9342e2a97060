package meta

import "context"

// StepDown hands the leadership of the group to another voter. It does nothing if this
// member does not lead or is the only voter.
func (m *Meta) StepDown(ctx context.Context, avoid ...string) error {
	return m.replica.StepDown(ctx, avoid...)
}

// HandOn is StepDown of a member whose node others cannot reach; see replica.Replica.HandOn.
func (m *Meta) HandOn(ctx context.Context, avoid ...string) error {
	return m.replica.HandOn(ctx, avoid...)
}
