package rewrite

// withoutLocks removes FOR UPDATE and FOR SHARE, with what belongs to them, outside of brackets. LIMIT may follow them.
func withoutLocks(toks []tok) []tok {
	var out []tok
	kept := 0
	for i := 0; i < len(toks); i++ {
		if toks[i].match > 0 {
			i += toks[i].match
		}
		if n := lockLen(toks[i:]); n > 0 {
			out = append(out, toks[kept:i]...)
			kept, i = i+n, i+n-1
		}
	}
	if kept == 0 {
		return toks
	}
	return append(out, toks[kept:]...)
}

// lockLen returns how many tokens the locking clause has that toks begin with, and 0 if they begin with something else.
func lockLen(toks []tok) int {
	n := 0
	for _, kind := range lockKinds {
		if startsWith(toks, kind) {
			n = len(kind)
		}
	}
	if n == 0 {
		return 0
	}
	if startsWith(toks[n:], []string{"OF"}) {
		n += 2
		for n+1 < len(toks) && (toks[n].sym(",") || toks[n].sym(".")) {
			n += 2
		}
	}
	switch n = min(n, len(toks)); {
	case startsWith(toks[n:], []string{"NOWAIT"}):
		n++
	case startsWith(toks[n:], []string{"SKIP", "LOCKED"}):
		n += 2
	}
	return n
}

// lockKinds are the beginnings of locking clauses.
var lockKinds = [][]string{{"FOR", "UPDATE"}, {"FOR", "SHARE"}, {"FOR", "NO", "KEY", "UPDATE"}, {"FOR", "KEY", "SHARE"}}
