package cli

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"cordwood/cmd/cordwood/client"
)

// retryNotes writes a line when a request is sent again, with the reason. It writes the whole reason from time to
// time, and a short one in between. It is safe for concurrent use.
type retryNotes struct {
	note func(text string)
	now  func() time.Time

	mu   sync.Mutex // guards the field below
	last map[string]time.Time
}

// wholeEvery is the time after which a reason is written in full again.
const wholeEvery = time.Minute

// maxReasons is the maximum number of reasons that are remembered.
const maxReasons = 64

func (n *retryNotes) tell(cause error, wait time.Duration) {
	next := "trying the next server"
	if wait > 0 {
		next = fmt.Sprintf("trying again in %v", wait.Round(100*time.Millisecond))
	}
	reason := shortReason(cause)
	if n.whole(reason) {
		reason = cause.Error()
	}
	n.note(reason + "; " + next)
}

// whole reports whether a reason should be written in full.
func (n *retryNotes) whole(reason string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	if last, ok := n.last[reason]; ok && now.Sub(last) < wholeEvery {
		return false
	}
	if n.last == nil || len(n.last) >= maxReasons {
		n.last = map[string]time.Time{}
	}
	n.last[reason] = now
	return true
}

// shortReason returns a short reason why a try failed.
func shortReason(cause error) string {
	if e := (*client.Error)(nil); errors.As(cause, &e) {
		return "the same again: " + e.Answer()
	}
	short, _, _ := strings.Cut(cause.Error(), ": ")
	return short
}
