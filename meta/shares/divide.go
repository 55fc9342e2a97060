package shares

// use is what a router admitted and refused of a quota in a second.
type use struct{ admitted, refused float64 }

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
