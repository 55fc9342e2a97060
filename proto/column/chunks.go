package column

import "iter"

// SizeBound returns an upper bound, in bytes, of the inflated size of the rows from ≤ i < to in the
// encoding of EncodeRange. Its cost does not depend on the number of rows. Finish must be called
// first.
func (b *Builder) SizeBound(from, to int) int { return sizeBound(b.cols, from, to) }

// Chunks divides the rows into consecutive ranges for EncodeRange, each of at most MaxRows rows and
// at most maxInflated bytes inflated (or MaxInflated if that is less). A single larger row is a
// range by itself. Usually there is one range; without rows there is none.
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

// chunkEnd returns the end of the longest allowed range that starts at a row.
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
