package buckettest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
)

// Fault is a way in which a request goes wrong.
type Fault uint8

// The faults of a Proxy.
const (
	None Fault = iota
	// Delay waits before the request is passed on.
	Delay
	// SlowDown, Internal and Forbid answer with status 503 SlowDown, 500 and 403, and do not pass the request on.
	SlowDown
	Internal
	Forbid
	// Reset closes the connection instead of passing the request on.
	Reset
	// LostAnswer passes the request on, and closes the connection instead of answering.
	LostAnswer
	// Cut closes the connection in the middle of the answer to a GET of an object.
	Cut
	// Short makes the answer to a GET of an object one byte shorter in all respects.
	Short
	// Flip changes a bit of the answer to a GET of an object.
	Flip
	// Foreign answers a GET of an object with as many other bytes.
	Foreign
	// IgnoreRange answers a GET of a part of an object with the whole object and status 200.
	IgnoreRange
	// LagList leaves the newest objects out of a listing.
	LagList
	// Unconditional removes the header If-None-Match of a PUT, as old services do.
	Unconditional
	// Unchecked removes the header with the checksum of a PUT, as services do that do not know it.
	Unchecked
	// Parrot removes the header with the checksum of a PUT, and returns it in the answers to HEAD requests of the object,
	// whatever its bytes are.
	Parrot
)

// checksumHeader is the header with the CRC-32C of an object.
const checksumHeader = "X-Amz-Checksum-Crc32c"

var faultNames = [...]string{
	"none", "delay", "slow down", "internal error", "forbidden", "reset", "lost answer", "cut", "short", "flip", "foreign",
	"range ignored", "lagging list", "unconditional", "unchecked",
	"parrot",
}

func (f Fault) String() string { return faultNames[f] }

// applies reports whether a fault makes a difference to a request.
func (f Fault) applies(r *http.Request) bool {
	get := r.Method == http.MethodGet && !isList(r)
	switch f {
	case Cut, Short, Flip, Foreign:
		return get
	case IgnoreRange:
		return get && r.Header.Get("Range") != ""
	case LagList:
		return isList(r)
	case Unconditional:
		return r.Header.Get("If-None-Match") != ""
	case Unchecked:
		return r.Header.Get(checksumHeader) != ""
	case Parrot:
		return r.Method == http.MethodHead || r.Header.Get(checksumHeader) != ""
	}
	return true
}

// isList reports whether a request lists objects.
func isList(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Has("list-type")
}

// A Plan chooses the fault of a request. It is called for one request at a time.
type Plan func(r *http.Request) Fault

// Always is the plan that makes every request go wrong in a way.
func Always(f Fault) Plan { return func(*http.Request) Fault { return f } }

// First is the plan that makes the first n requests go wrong that a fault applies to.
func First(n int, f Fault) Plan {
	return func(r *http.Request) Fault {
		if n <= 0 || !f.applies(r) {
			return None
		}
		n--
		return f
	}
}

// Random is the plan that makes a share of the requests go wrong, each in one of several ways. Equal seeds make equal
// plans.
func Random(seed uint64, share float64, among ...Fault) Plan {
	random := rand.New(rand.NewPCG(seed, 0))
	return func(r *http.Request) Fault {
		if random.Float64() >= share {
			return None
		}
		able := slices.DeleteFunc(slices.Clone(among), func(f Fault) bool { return !f.applies(r) })
		if len(able) == 0 {
			return None
		}
		return able[random.IntN(len(able))]
	}
}

// Counts is what a Proxy has seen.
type Counts struct {
	// Requests counts requests by method; listings are counted as LIST.
	Requests map[string]int
	// Faults counts the injected faults.
	Faults map[Fault]int
	// Sent is the bytes of bodies of answers.
	Sent int64
	// Stored is the bytes of the bodies of successful PUT requests.
	Stored int64
}

// String returns the counts on one line.
func (c Counts) String() string {
	var parts []string
	for method, n := range c.Requests {
		parts = append(parts, fmt.Sprintf("%s %d", method, n))
	}
	for f, n := range c.Faults {
		parts = append(parts, fmt.Sprintf("%v %d", f, n))
	}
	slices.Sort(parts)
	return fmt.Sprintf("%s; %d bytes sent, %d stored", strings.Join(parts, ", "), c.Sent, c.Stored)
}
