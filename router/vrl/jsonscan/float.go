package jsonscan

import (
	"math"
	"strconv"
)

// AppendFloat appends a float: the shortest digits that give the same float when read, always with a fraction or
// an exponent. It uses an exponent for numbers of at least 1e16 and below 1e-5. Infinities become null.
func AppendFloat(dst []byte, f float64) []byte {
	if math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	abs := math.Abs(f)
	if abs != 0 && (abs < 1e-5 || abs >= 1e16) {
		start := len(dst)
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
		// strconv writes the exponent with at least two digits and a plus sign.
		for i := start; i < len(dst); i++ {
			if dst[i] != 'e' {
				continue
			}
			j := i + 1
			neg := dst[j] == '-'
			j++
			for j < len(dst)-1 && dst[j] == '0' {
				j++
			}
			digits := dst[j:]
			dst = dst[:i+1]
			if neg {
				dst = append(dst, '-')
			}
			dst = append(dst, digits...)
			break
		}
		return dst
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// AppendNumber is AppendFloat for values of other formats. Those that JSON cannot express become the texts that the
// JSON form of protobuf has for them: "NaN", "Infinity" and "-Infinity".
func AppendNumber(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	return AppendFloat(dst, f)
}
