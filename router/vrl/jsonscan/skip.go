package jsonscan

// Skip checks the value at pos, which must not be white space, and returns the position after it. depth is the
// number of containers around it.
func (t Text) Skip(pos, depth int) (int, error) {
	switch c := t.src[pos]; c {
	case '"':
		return t.SkipString(pos + 1)
	case '{':
		if depth >= MaxDepth {
			return pos, TooDeep(pos)
		}
		return t.skipObject(pos+1, depth+1)
	case '[':
		if depth >= MaxDepth {
			return pos, TooDeep(pos)
		}
		return t.skipArray(pos+1, depth+1)
	case 't':
		if t.IsTrue(pos) {
			return pos + 4, nil
		}
	case 'f':
		if t.IsFalse(pos) {
			return pos + 5, nil
		}
	case 'n':
		if t.IsNull(pos) {
			return pos + 4, nil
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		next, kind, _, _ := t.Number(pos)
		if kind == BadNumber {
			return pos, t.NumberError(pos, next)
		}
		return next, nil
	}
	return pos, t.Unexpected(pos, "a value")
}

func (t Text) skipArray(pos, depth int) (int, error) {
	pos = t.Space(pos)
	if t.src[pos] == ']' {
		return pos + 1, nil
	}
	for {
		next, err := t.Skip(pos, depth)
		if err != nil {
			return next, err
		}
		next = t.Space(next)
		switch t.src[next] {
		case ',':
			pos = t.Space(next + 1)
		case ']':
			return next + 1, nil
		default:
			return next, t.Unexpected(next, "',' or ']'")
		}
	}
}

func (t Text) skipObject(pos, depth int) (int, error) {
	pos = t.Space(pos)
	if t.src[pos] == '}' {
		return pos + 1, nil
	}
	for {
		if t.src[pos] != '"' {
			return pos, t.Unexpected(pos, "a key in quotes")
		}
		next, err := t.SkipString(pos + 1)
		if err != nil {
			return next, err
		}
		if next, err = t.Colon(next); err != nil {
			return next, err
		}
		if next, err = t.Skip(next, depth); err != nil {
			return next, err
		}
		next = t.Space(next)
		switch t.src[next] {
		case ',':
			pos = t.Space(next + 1)
		case '}':
			return next + 1, nil
		default:
			return next, t.Unexpected(next, "',' or '}'")
		}
	}
}

// Colon skips the colon after a key, with the white space around it.
func (t Text) Colon(pos int) (int, error) {
	if t.src[pos] != ':' {
		if pos = t.Space(pos); t.src[pos] != ':' {
			return pos, t.Unexpected(pos, "':'")
		}
	}
	pos++
	if t.src[pos] <= ' ' {
		pos = t.Space(pos)
	}
	return pos, nil
}
