package value

// maxDepth limits the nesting of values that are traversed.
const maxDepth = 1000

// Size returns the number of values in v, including itself, or limit if there are more. A shared value counts each
// time that it occurs. A value nested a thousand levels deep exceeds any limit; parsing never produces one.
func Size(v Value, limit int) int { return size(v, limit, 0) }

// BytesPerWeight is how many bytes of text count as one value.
const BytesPerWeight = 8

// Weight is Size, but a string also counts by its length: one more for each 8 bytes.
func Weight(v Value, limit int) int { return weight(v, limit, 0) }

func weight(v Value, limit, depth int) int {
	if depth > maxDepth {
		return limit
	}
	n := 1
	switch v.kind {
	case String:
		n += v.Len() / BytesPerWeight
	case Array:
		for _, x := range v.items().list {
			if n >= limit {
				return limit
			}
			n += weight(x, limit-n, depth+1)
		}
	case Object:
		o := v.fields()
		for i := range o.Len() {
			if n >= limit {
				return limit
			}
			n += len(o.Key(i))/BytesPerWeight + weight(o.PeekAt(i), limit-n, depth+1)
		}
	}
	return min(n, limit)
}

func size(v Value, limit, depth int) int {
	n := 1
	if depth > maxDepth {
		return limit
	}
	switch v.kind {
	case Array:
		for _, x := range v.items().list {
			if n >= limit {
				return limit
			}
			if x.kind == Array || x.kind == Object {
				n += size(x, limit-n, depth+1)
			} else {
				n++
			}
		}
	case Object:
		o := v.fields()
		if o.shape != nil {
			return o.size(limit, depth)
		}
		list := o.list
		for i := range list {
			if n >= limit {
				return limit
			}
			if x := list[i].Value; x.kind == Array || x.kind == Object {
				n += size(x, limit-n, depth+1)
			} else {
				n++
			}
		}
	}
	return n
}

// size is size for an object with a shape.
func (o *Fields) size(limit, depth int) int {
	n := 1 + len(o.shape.order)
	for _, x := range o.vals { // unused slots are null
		if n >= limit {
			return limit
		}
		if x.kind == Array || x.kind == Object {
			n += size(x, limit-n+1, depth+1) - 1
		}
	}
	return min(n, limit)
}

// Map returns a copy of the container v in which each value is replaced by the result of f. If f returns false, Map
// stops and returns the result of f.
func Map(v Value, f func(Value) (Value, bool)) (Value, bool) {
	if o := v.Object(); o != nil {
		out := MakeFields(o.Len())
		for i := range o.Len() {
			x, ok := f(o.At(i))
			if !ok {
				return x, false
			}
			out.Add(o.Key(i), x) // the keys are already sorted
		}
		return out.Value(), true
	}
	a := v.Array()
	out := make([]Value, a.Len())
	for i := range out {
		x, ok := f(a.At(i))
		if !ok {
			return x, false
		}
		out[i] = x
	}
	return NewArray(out), true
}
