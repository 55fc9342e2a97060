// Package syslog parses syslog messages: RFC 5424, and RFC 3164 in the many variants that senders use. The texts of
// a Message are parts of the parsed text, so parsing allocates no memory.
//
// The package has two sets of rules. The strict rules, which are the default, refuse a malformed message and say why.
// The loose rules (Parser.Loose) are those of the VRL function parse_syslog: they read as much as possible and keep the
// rest as the message. Comments mark each difference between the two.
//
// The package parses one message at a time. Its callers find messages in a stream, and decide what happens to
// refused ones.
package syslog

import (
	"strings"
	"time"

	"cordwood/router/vrl/ascii"
)

// Format selects the RFCs of a Parser.
type Format uint8

const (
	// Auto parses a message as RFC 5424 if its priority is followed by a version, as in <34>1, and as RFC 3164
	// otherwise.
	Auto Format = iota
	// RFC5424 refuses other messages.
	RFC5424
	// RFC3164 treats a version as a part of the message.
	RFC3164
)

// Parser has the settings for parsing. Parsing does not change it, so goroutines may share it.
type Parser struct {
	Format Format
	// Loose selects the rules of VRL.
	Loose bool
	// Zone is the time zone of times without an offset. It must not be nil.
	Zone *time.Location
	// Year is the year of times without one. 0 stands for the latest year for which the time is at most 24 hours after
	// Now. Loose uses the year of Now, or the previous year for a time in December if Now is in January.
	Year int
	// Now is the clock. It may be nil only if Year is set and Loose is not.
	Now func() time.Time
}

// Message is a message. Missing texts are empty.
type Message struct {
	Priority int // -1 if missing; at most 191, or 999 by the loose rules
	Version  int // -1 if the message is of RFC 3164
	HasTime  bool
	Time     time.Time
	Host     string
	App      string
	Proc     string
	MsgID    string
	Data     Data
	Text     string
}

// problem is the error for a refused message.
type problem string

func (p problem) Error() string { return string(p) }

const (
	errPriority   problem = "the priority is not a number in < and >"
	errHighest    problem = "the priority is above 191"
	errNot5424    problem = "expected a priority and a version, as in <34>1"
	errNot3164    problem = "expected a priority or a time, as in <34>Oct 11 22:14:15"
	errTime       problem = "the time is not in the format of RFC 3339"
	errHeader     problem = "the header has too few parts"
	errData       problem = "the structured data is malformed"
	errNoData     problem = "the structured data is missing; write - if there is none"
	errAfterData  problem = "expected a space after the structured data"
	highest               = 191
	byteOrderMark         = "\ufeff"
)

// Parse parses a message. If it returns an error, the message has what was parsed before.
func (p *Parser) Parse(s string) (Message, error) {
	m := Message{Priority: -1, Version: -1}
	if p.Loose {
		s = strings.TrimSpace(s)
	} else {
		s = strings.TrimRight(s, "\r\n\x00")
	}
	rest, err := p.priority(&m, s)
	if err != nil {
		return m, err
	}
	if m.Priority >= 0 && p.Format != RFC3164 {
		if version, header, ok := p.version(rest); ok {
			read := m
			read.Version = version
			err := p.parse5424(&read, header)
			if err == nil || !p.Loose {
				return read, err
			}
		}
	}
	if p.Format == RFC5424 {
		return m, errNot5424
	}
	return m, p.parse3164(&m, rest)
}

// priority parses the priority at the start of s. By the loose rules, a malformed priority is a part of the
// message, and one above 191 is accepted.
func (p *Parser) priority(m *Message, s string) (rest string, err error) {
	if s == "" || s[0] != '<' {
		return s, nil
	}
	n := ascii.Digits(s[1:])
	if n == 0 || n > 3 || len(s) <= 1+n || s[1+n] != '>' {
		if p.Loose {
			return s, nil
		}
		return s, errPriority
	}
	priority := number(s[1 : 1+n])
	if priority > highest && !p.Loose {
		return s, errHighest
	}
	m.Priority = priority
	return s[n+2:], nil
}

// version parses the version at the start of s. By the loose rules it may begin with 0.
func (p *Parser) version(s string) (version int, rest string, ok bool) {
	n := ascii.Digits(s)
	if n == 0 || n > 3 || len(s) == n || s[n] != ' ' || s[0] == '0' && !p.Loose {
		return 0, s, false
	}
	return number(s[:n]), s[n+1:], true
}

// number returns the value of a few digits.
func number(digits string) int {
	n := 0
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}
