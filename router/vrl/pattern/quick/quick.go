// Package quick matches regular expressions as they are used to parse log lines: literal text, classes, groups and
// few alternatives. It is many times as fast as package regexp, and its results are exactly the same.
//
// It does not replace package regexp but is tried first. Compile rejects patterns that it does not support, and
// Match gives up on texts that would take too many steps, or that are not ASCII if that matters. In these cases the
// caller needs a *regexp.Regexp.
//
// A Program is a list of instructions on bytes, which is tried at one position of the text after another. If the
// character after a repetition cannot be part of the repetition, as in [^"]*", the repetition never backtracks. So
// most patterns match without trying anything twice. In other cases, Match keeps a stack of alternatives to try.
//
// A Program is immutable and may be used by any number of goroutines.
package quick

import (
	"strings"

	"cordwood/router/vrl/ascii"
)

// Program is a compiled pattern.
type Program struct {
	insts  []inst
	start  int32
	groups int
	// anchored is set if a match can only begin at the start of the text.
	anchored bool
	// prefix is the text with which every match begins; "" if it is not known.
	prefix string
	// first are the bytes with which a match may begin; nil if a match may begin with any byte, or may be empty.
	first *set
	// ascii is set if the program is valid for ASCII texts only.
	ascii bool
}

// op is the kind of an instruction.
type op uint8

const (
	opMatch     op = iota
	opText         // the bytes of text follow
	opSet          // one byte of set follows
	opGreedy       // min to max bytes of set, as many as possible
	opLazy         // the same, as few as possible
	opSplit        // continue at next, and if that fails at other
	opSave         // store the position in groups[slot]
	opBegin        // matches at the start of the text
	opEnd          // matches at the end of the text
	opLineBegin    // matches at the start of a line
	opLineEnd      // matches at the end of a line
	opBoundary     // matches at the start or end of a word
	opInside       // matches elsewhere than at the start or end of a word
)

// inst is an instruction. next is the index of the following one.
type inst struct {
	op op
	// final is set if the repetition of opGreedy never backtracks.
	final bool
	// delim is the byte that must follow a repetition, or -1. follow has the bytes of which one must follow; nil
	// means any. atEnd is set if the end of the text may follow too.
	delim       int16
	follow      *set
	atEnd       bool
	next, other int32
	// slot is the number for opSave. For opGreedy it is the only byte that the set does not contain, or -1.
	slot     int32
	min, max int32 // max -1: unlimited
	set      *set
	text     string
}

// set is a set of bytes.
type set [4]uint64

func (s *set) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

func (s *set) add(b byte) { s[b>>6] |= 1 << (b & 63) }

// frame is an alternative to try later.
type frame struct {
	pc  int32 // where to continue; -1: only restore the old value of a slot
	pos int
	// end is, for a repetition, the last position to try: the lowest for a greedy one, and the highest for a lazy one.
	// For a slot it is the old value.
	end int
	// rep is the repetition or the slot; -1 for opSplit.
	rep int32
}

// Groups returns the number of groups, including the whole match. Match needs twice as many numbers.
func (p *Program) Groups() int { return p.groups }

// Match finds the leftmost match in s. It stores the positions of the whole match and of the groups in places: two
// numbers for each, which are -1 if the group did not match. If it gives up, decided is false, and the caller must use
// package regexp. It allocates memory only if very many alternatives must be remembered.
func (p *Program) Match(s string, places []int) (matched, decided bool) {
	if !p.Suits(s) {
		return false, false
	}
	return p.MatchFrom(s, 0, places)
}

// Suits reports whether the program is valid for s.
func (p *Program) Suits(s string) bool { return !p.ascii || ascii.Only(s) }

// MatchFrom is like Match, but finds the leftmost match that begins at from or later. The program must suit the text.
func (p *Program) MatchFrom(s string, from int, places []int) (matched, decided bool) {
	if p.anchored && from > 0 {
		return false, true
	}
	places = places[:2*p.groups]
	budget := 16*(len(s)-from) + 1024
	var few [32]frame
	for at := from; at <= len(s); at++ {
		if p.prefix != "" {
			if p.anchored {
				if !strings.HasPrefix(s, p.prefix) {
					return false, true
				}
			} else if i := strings.Index(s[at:], p.prefix); i >= 0 {
				at += i
			} else {
				return false, true
			}
		} else if p.first != nil {
			for at < len(s) && !p.first.has(s[at]) {
				if p.anchored {
					return false, true
				}
				at++
			}
			if at == len(s) {
				return false, true
			}
		}
		for i := range places {
			places[i] = -1
		}
		end := p.run(s, at, places, few[:0], &budget)
		if end >= 0 {
			places[0], places[1] = at, end
			return true, true
		}
		if end == gaveUp {
			return false, false
		}
		if p.anchored {
			return false, true
		}
	}
	return false, true
}

// maxStack limits the number of alternatives to try later, and thereby the memory of a match.
const maxStack = 1 << 14

const (
	noMatch = -1
	gaveUp  = -2
)

// run tries to match at one position and returns the end of the match.
func (p *Program) run(s string, pos int, places []int, stack []frame, budget *int) int {
	steps := *budget
	pc := p.start
	for {
		in := &p.insts[pc]
		if steps--; steps < 0 || len(stack) > maxStack {
			return gaveUp
		}
		ok := true
		switch in.op {
		case opMatch:
			*budget = steps
			return pos
		case opText:
			if n := len(in.text); n == 1 {
				ok = pos < len(s) && s[pos] == in.text[0]
				pos++
			} else {
				ok = len(s)-pos >= n && s[pos:pos+n] == in.text
				pos += n
			}
		case opSet:
			ok = pos < len(s) && in.set.has(s[pos])
			pos++
		case opGreedy:
			end := in.reach(s, pos)
			steps -= (end - pos) / 8
			ok = end-pos >= int(in.min)
			if low := pos + int(in.min); ok && !in.final && end > low {
				stack = append(stack, frame{in.next, end, low, pc})
			}
			pos = end
		case opLazy:
			var end int
			end, ok = in.least(s, pos)
			if limit := in.limit(s, pos); ok && limit > end {
				stack = append(stack, frame{in.next, end, limit, pc})
			}
			pos = end
		case opSplit:
			stack = append(stack, frame{in.other, pos, 0, -1})
		case opSave:
			if len(stack) > 0 {
				stack = append(stack, frame{-1, 0, places[in.slot], in.slot})
			}
			places[in.slot] = pos
		default:
			ok = in.holds(s, pos)
		}
		if ok {
			pc = in.next
			continue
		}
		// Return to the latest alternative.
		for {
			if len(stack) == 0 {
				*budget = steps
				return noMatch
			}
			f := &stack[len(stack)-1]
			if f.pc < 0 {
				places[f.rep] = f.end
				stack = stack[:len(stack)-1]
				continue
			}
			if steps--; steps < 0 {
				return gaveUp
			}
			pc = f.pc
			if f.rep < 0 {
				pos = f.pos
				stack = stack[:len(stack)-1]
				break
			}
			before := f.pos
			again := p.retry(&p.insts[f.rep], f, s)
			steps -= max(before-f.pos, f.pos-before) / 8
			if !again {
				stack = stack[:len(stack)-1]
				continue
			}
			pos = f.pos
			break
		}
	}
}

// retry moves the end of a repetition to the next position to try. It returns false if there is none.
func (p *Program) retry(in *inst, f *frame, s string) bool {
	if in.op == opLazy {
		for f.pos < f.end && in.set.has(s[f.pos]) {
			f.pos++
			if in.mayFollow(s, f.pos) {
				return true
			}
		}
		return false
	}
	if in.delim >= 0 {
		i := strings.LastIndexByte(s[f.end:f.pos], byte(in.delim))
		f.pos = f.end + i
		return i >= 0
	}
	for f.pos > f.end {
		f.pos--
		if in.mayFollow(s, f.pos) {
			return true
		}
	}
	return false
}

// mayFollow reports whether the part after a repetition may match at pos, judging by one byte.
func (in *inst) mayFollow(s string, pos int) bool {
	if pos == len(s) {
		return in.atEnd
	}
	return in.follow == nil || in.follow.has(s[pos])
}

// reach returns how far a repetition may extend from pos.
func (in *inst) reach(s string, pos int) int {
	end := len(s)
	if in.max >= 0 && len(s)-pos > int(in.max) {
		end = pos + int(in.max)
	}
	if in.slot >= 0 { // all bytes but one
		if i := strings.IndexByte(s[pos:end], byte(in.slot)); i >= 0 {
			return pos + i
		}
		return end
	}
	set := *in.set
	for pos < end && set.has(s[pos]) {
		pos++
	}
	return pos
}

// least returns the end of a repetition from pos with the fewest bytes, and whether they are in its set.
func (in *inst) least(s string, pos int) (end int, ok bool) {
	end = pos + int(in.min)
	ok = end <= len(s)
	for i := pos; ok && i < end; i++ {
		ok = in.set.has(s[i])
	}
	return end, ok
}

// limit returns how far a lazy repetition could extend if all bytes were in its set.
func (in *inst) limit(s string, pos int) int {
	if in.max >= 0 && len(s)-pos > int(in.max) {
		return pos + int(in.max)
	}
	return len(s)
}

// holds reports whether an assertion holds at pos.
func (in *inst) holds(s string, pos int) bool {
	switch in.op {
	case opBegin:
		return pos == 0
	case opEnd:
		return pos == len(s)
	case opLineBegin:
		return pos == 0 || s[pos-1] == '\n'
	case opLineEnd:
		return pos == len(s) || s[pos] == '\n'
	}
	before := pos > 0 && isWord(s[pos-1])
	after := pos < len(s) && isWord(s[pos])
	return (before != after) == (in.op == opBoundary)
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
