package column

import "iter"

// SizeBound returns an upper bound, in bytes, of the inflated size of the rows
// from ≤ i < to as EncodeRange would encode them. It costs the same for any number
// of rows. Call Finish first.
func (b *Builder) SizeBound(from, to int) int { return sizeBound(b.cols, from, to) }

// Chunks cuts the rows into consecutive ranges for EncodeRange, each of at most
// MaxRows rows and at most maxInflated bytes inflated (MaxInflated if that is
// smaller). A single row that is larger by itself is a range of its own. Usually
// there is one range; none if there are no rows.
func (b *Builder) Chunks(maxInflated int) iter.Seq2[int, int] {
	b.Finish()
	maxInflated = min(maxInflated, MaxInflated)
	return func(yield func(from, to int) bool) {
		for from := 0; from < b.rows; {
			to := b.chunkEnd(from, maxInflated)
			if !yield(from, to) {
				return
			}
			from = to
		}
	}
}

// chunkEnd returns the end of the longest range from the row on that fits.
func (b *Builder) chunkEnd(from, maxInflated int) int {
	most := min(b.rows, from+MaxRows)
	if b.SizeBound(from, most) <= maxInflated {
		return most
	}
	fits, exceeds := from+1, most
	for exceeds-fits > 1 {
		if mid := fits + (exceeds-fits)/2; b.SizeBound(from, mid) <= maxInflated {
			fits = mid
		} else {
			exceeds = mid
		}
	}
	return fits
}
