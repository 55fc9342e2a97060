package pipeline

import (
	"fmt"
	"math"

	"cordwood/proto/schema"
	"cordwood/proto/words"
	"cordwood/router/pipeline/digits"
	"cordwood/router/vrl/jsonscan"
	"cordwood/router/vrl/value"
)

// loss is what was lost when a transform list converted a value to the type of its column. The converted value is
// stored, and the client gets a warning.
type loss uint8

const (
	lossNone     loss = iota
	lossFraction      // the fraction was dropped
	lossRange         // replaced by the nearest number in the column's range
	lossDigits        // replaced by a float with fewer digits
	lossAll           // a nonzero number became the float 0
	lossTruth         // a number other than 0 and 1 became true
	lossUnit          // a time was rounded down to the unit of its column
	losses
)

// lost counts the values of a request that lost something, by kind. It is separate from notes, which svc_identity
// copies for each record.
type lost [losses]struct {
	count int
	first string // the column of the first such value
}

// lostTexts has the text after the count of each kind that notes does not count: for one value, and for several.
var lostTexts = [losses][2]string{
	lossFraction: {
		"number lost its fraction, because the transform list converts it to an integer, for column %q: the type float64 " +
			"keeps it",
		"numbers lost their fraction, because the transform list converts them to integers, the first for column %q: the " +
			"type float64 keeps it",
	},
	lossRange: {
		"number was beyond the range of its type in the transform list, for column %q: the nearest number of that type " +
			"was stored",
		"numbers were beyond the range of their type in the transform list, the first for column %q: the nearest number " +
			"of that type was stored",
	},
	lossDigits: {
		"number has more digits than its type in the transform list, for column %q: the nearest float was stored; " +
			"a type of integers, or string, keeps all digits",
		"numbers have more digits than their type in the transform list, the first for column %q: " +
			"the nearest float was stored; a type of integers, or string, keeps all digits",
	},
	lossTruth: {
		"number other than 0 and 1 became true, because the transform list converts it to a boolean, for column %q: a type " +
			"of numbers keeps it",
		"numbers other than 0 and 1 became true, because the transform list converts them to booleans, " +
			"the first for column %q: a type of numbers keeps them",
	},
}

// warnings returns the counts as warnings.
func (l *lost) warnings() (out []string) {
	for i, n := range l {
		if n.count > 0 {
			texts := &lostTexts[i]
			out = append(out, fmt.Sprintf(words.Say(n.count, texts[0], texts[1]), n.first))
		}
	}
	return out
}

// truncateLoss returns what truncate loses for f.
func truncateLoss(f float64, t schema.Type) loss {
	whole := math.Trunc(f)
	var beyond bool
	switch t {
	case schema.Int64:
		beyond = whole >= math.MaxInt64 || whole < math.MinInt64
	case schema.Uint64:
		beyond = whole >= math.MaxUint64 || whole < 0
	default:
		lo, hi := t.IntRange()
		beyond = whole < float64(lo) || whole > float64(hi)
	}
	switch {
	case beyond:
		return lossRange
	case whole != f:
		return lossFraction
	}
	return lossNone
}

// floatLoss returns what was lost when v became the number f in a column of type t.
func floatLoss(v value.Value, f float64, t schema.Type) loss {
	var same, zero bool
	switch v.Kind() {
	case value.Int:
		n := v.Int()
		same = f < 1<<63 && int64(f) == n
	case value.Float:
		was := v.Float()
		same = was == f || fitsFloat32(was)
		zero = f == 0
	case value.String:
		if f == 0 {
			same, zero = !jsonscan.Underflows(v.Str()), true
		} else {
			same = digits.Kept(v.Str(), f, t)
		}
	default:
		same = true
	}
	switch {
	case same:
		return lossNone
	case zero:
		return lossAll
	}
	return lossDigits
}

// finerInstant reports whether the timestamp v has a finer resolution than the unit of t.
func finerInstant(v value.Value, t schema.Type) bool {
	_, nsec := v.Unix()
	return int64(nsec)%(1e9/t.UnitsPerSecond()) != 0
}
