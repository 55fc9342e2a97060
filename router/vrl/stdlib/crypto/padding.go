package crypto

import "errors"

// errPadding gives no details, so that it does not help an attacker.
var errPadding = errors.New("invalid padding, or another key")

func padPKCS7(b []byte, n int) {
	for i := range b {
		b[i] = byte(n)
	}
}

func unpadPKCS7(last []byte) (int, bool) {
	n := int(last[len(last)-1])
	if n > len(last) {
		return 0, false
	}
	for _, x := range last[len(last)-n:] {
		if int(x) != n {
			return 0, false
		}
	}
	return n, true
}

func padANSI(b []byte, n int) {
	clear(b)
	b[len(b)-1] = byte(n)
}

func unpadANSI(last []byte) (int, bool) {
	n := int(last[len(last)-1])
	if n < 1 || n > len(last) {
		return 0, false
	}
	for _, x := range last[len(last)-n : len(last)-1] {
		if x != 0 {
			return 0, false
		}
	}
	return n, true
}

func padISO7816(b []byte, _ int) {
	clear(b)
	b[0] = 0x80
}

func unpadISO7816(last []byte) (int, bool) {
	for i := len(last) - 1; i >= 0; i-- {
		switch last[i] {
		case 0:
		case 0x80:
			return len(last) - i, true
		default:
			return 0, false
		}
	}
	return 0, false
}

func unpadISO10126(last []byte) (int, bool) { return int(last[len(last)-1]), true }
