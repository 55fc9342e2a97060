package replica

// LeadsChanged returns a channel that is closed when what IsLeader says has changed. To
// miss nothing, take it before asking.
func (r *Replica) LeadsChanged() <-chan struct{} {
	r.leading.Lock()
	defer r.leading.Unlock()
	return r.changed
}
