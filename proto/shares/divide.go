package shares

// use is what a router admitted and refused of a quota in a second. Of a quota of things at a time, it is what runs and
// waits there, and held is the number that may have begun since the report, because its last answers allow it.
type use struct{ admitted, refused, held float64 }

// slots returns the number of slots that the router may use now.
func (u use) slots() float64 { return max(u.admitted, u.held) }

// sent returns what clients sent.
func (u use) sent() float64 { return max(u.admitted, 0) + max(u.refused, 0) }

// leastShare is the part of its equal share that a router always has, so that it can admit the first requests. If it
// were larger, a router that gets all requests would admit clearly less than the limit.
const leastShare = 0.05

// divide divides a limit among routers by what clients send to each. The shares add up to the limit.
func divide(limit float64, uses []use) []float64 {
	n := float64(len(uses))
	total := 0.0
	for _, u := range uses {
		total += u.sent()
	}
	out := make([]float64, len(uses))
	for i, u := range uses {
		part := 1 / n
		if total > 0 {
			part = u.sent() / total
		}
		out[i] = limit * (leastShare/n + (1-leastShare)*part)
	}
	return out
}

// running returns how many things there are at a time.
func running(uses []use) (n float64) {
	for _, u := range uses {
		n += max(u.admitted, 0)
	}
	return n
}

// slots divides a limit of things at a time among routers in whole slots, by how many of them there are and wait at
// each. A router gets no slot that another one still uses or may use by its last answers. So the slots add up to the
// limit at most, and a slot needs a report of the router that gives it up before another one gets it.
func slots(limit uint64, uses []use) []uint64 {
	out, rest := make([]uint64, len(uses)), make([]float64, len(uses))
	total := 0.0
	for _, u := range uses {
		total += u.sent()
	}
	left := limit
	for i, u := range uses {
		part := 1 / float64(len(uses))
		if total > 0 {
			part = u.sent() / total
		}
		exact := float64(limit) * part
		out[i] = min(uint64(exact), left)
		rest[i], left = exact-float64(out[i]), left-out[i]
	}
	for ; left > 0; left-- { // at most as often as there are routers
		most := 0
		for i := range rest {
			if rest[i] > rest[most] {
				most = i
			}
		}
		out[most], rest[most] = out[most]+1, rest[most]-1
	}
	used := 0.0
	for _, u := range uses {
		used += u.slots()
	}
	for i, u := range uses {
		others := uint64(max(used-u.slots(), 0))
		out[i] = min(out[i], limit-min(limit, others))
	}
	return out
}
