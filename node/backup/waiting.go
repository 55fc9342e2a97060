package backup

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"cordwood/proto/errs"
)

const (
	// repeatAfter is the time after which the reason why rows still wait is logged again.
	repeatAfter = 5 * time.Minute
	// passingTries is the number of failed tries before a failure is logged. A few tries fail during an election, for
	// example.
	passingTries = 3
)

// waiting contains, by shard, the reasons why rows wait.
type waiting struct {
	mu   sync.Mutex // guards the rest
	why  map[uint32]string
	said map[string]time.Time
}

// failed records why rows for a shard could not be written and are sent again. It logs a new reason.
func (w *waiting) failed(log *slog.Logger, now time.Time, shard uint32, tries int, err error) {
	if errs.ReasonOf(err) == errs.NotLeader && tries < passingTries {
		return
	}
	text := strings.TrimPrefix(errs.From(err).Msg, fmt.Sprintf("shard %d: ", shard))
	text = fmt.Sprintf("shard %d accepts no rows: %s", shard, text)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.why == nil {
		w.why, w.said = map[uint32]string{}, map[string]time.Time{}
	}
	w.why[shard] = text
	if last, ok := w.said[text]; !ok || now.Sub(last) >= repeatAfter {
		if len(w.said) >= maxReasons {
			clear(w.said)
		}
		w.said[text] = now
		log.Warn("rows are sent again until they are accepted", "reason", text)
	}
}

// maxReasons is the maximum number of reasons that are remembered.
const maxReasons = 1000

// accepted records that a shard accepts rows again.
func (w *waiting) accepted(shard uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.why, shard)
}

// text returns the reasons why rows wait, or an empty text.
func (w *waiting) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.why) == 0 {
		return ""
	}
	var list []string
	for _, why := range w.why {
		list = append(list, why)
	}
	slices.Sort(list)
	if more := len(list) - 1; more > 0 {
		return fmt.Sprintf("%s (and %d more)", list[0], more)
	}
	return strings.Join(list, "")
}

// Waiting returns the reason why rows of a restore are not accepted now and are sent again. It is empty if they are
// accepted.
func (p *Progress) Waiting() string { return p.waiting.text() }
