package value

// Underflows reports whether the text of a decimal number, which was read as the float 0, is
// another number: 1e-400 is, 0.0e5 is not.
func Underflows[T string | []byte](text T) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '1' && c <= '9':
			return true
		case c|0x20 == 'e':
			return false
		}
	}
	return false
}
