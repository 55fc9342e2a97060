package manifest

import "fmt"

// Encode returns s as an edit that creates it from the empty state, in the format of FORMAT.md.
// Another replica uses it to adopt the state.
func (s *State) Encode() []byte { return s.asEdit().append(nil) }

// DecodeState returns the state that Encode encoded. name is the source of b, for errors. The
// errors are the same as those of Open.
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

// Replace replaces the committed state with another one, in one step. The applied index must not
// decrease. When it returns nil, the new state is on disk. After an error the outcome is unknown,
// as after a failed Commit.
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
		return fmt.Errorf("manifest %s: replace with the state of index %d: %w", m.path(), s.AppliedIndex, err)
	}
	m.state = s
	return nil
}
