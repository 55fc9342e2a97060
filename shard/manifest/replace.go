package manifest

import "fmt"

// Encode returns s as an edit that makes it of nothing, as FORMAT.md has it: what another
// replica needs to take the state over.
func (s *State) Encode() []byte { return s.asEdit().append(nil) }

// DecodeState returns the state that Encode encoded. name is where it comes from, for
// errors, the same as Open.
func DecodeState(name string, b []byte) (*State, error) {
	var e Edit
	r := reader{name: name}
	if r.edit(b, &e) {
		r.corrupt("a whole state")
	}
	if r.err != nil {
		return nil, r.err
	}
	return (&State{}).apply(&e), nil
}

// Replace puts another state in the place of the committed one, in one step. Its applied
// index must not be lower. When it returns nil the new state is on disk; after an error
// the outcome is unknown, as Commit says.
func (m *Manifest) Replace(s *State) error {
	if m.broken {
		return ErrBroken
	}
	if s.AppliedIndex < m.state.AppliedIndex {
		return fmt.Errorf("manifest %s: replace: %w from %d to %d", m.path(), ErrIndexRegress, m.state.AppliedIndex,
			s.AppliedIndex)
	}
	whole := s.asEdit()
	if err := m.fits(whole); err != nil {
		return err
	}
	if err := m.rewrite(whole); err != nil {
		m.broken = true
		return fmt.Errorf("manifest %s: replace by the state of index %d: %w", m.path(), s.AppliedIndex, err)
	}
	m.state = s
	return nil
}
