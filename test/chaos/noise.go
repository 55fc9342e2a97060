package chaos

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"cordwood/test/cluster"
)

// noiseBytes is the minimum size of a row of noise after any compression.
const noiseBytes = 3000

// Noise writes rows that cannot be compressed, to fill lines, logs and segments.
type Noise struct {
	Router *cluster.Node
	Table  string
	// Pause is the pause between two requests of 100 rows.
	Pause time.Duration

	// Rows and Bytes count the acknowledged rows and their bytes.
	Rows, Bytes int64
}

// Write writes rows in hundreds, until all are written or stop is closed. It ends with the first
// error.
func (n *Noise) Write(rows int64, stop <-chan struct{}) error {
	random := rand.NewChaCha8([32]byte{byte(rows)})
	noise := make([]byte, noiseBytes)
	for end := n.Rows + rows; n.Rows < end && !closed(stop); {
		var b strings.Builder
		for i := range int64(100) {
			_, _ = random.Read(noise) // it never fails
			fmt.Fprintf(&b, `{"n":%d,"noise":%q}`+"\n", n.Rows+i, base64.StdEncoding.EncodeToString(noise))
		}
		if err := n.Router.Ingest(n.Table, []byte(b.String())); err != nil {
			return fmt.Errorf("after %d rows of noise: %w", n.Rows, err)
		}
		n.Rows += 100
		n.Bytes += 100 * noiseBytes
		select {
		case <-stop:
		case <-time.After(n.Pause):
		}
	}
	return nil
}

// Check returns an error unless every row is stored once.
func (n *Noise) Check(from *cluster.Node) error {
	rows, err := from.Query("SELECT count(*), count(DISTINCT n), min(n), max(n) FROM " + n.Table)
	if err != nil {
		return err
	}
	if got, want := fmt.Sprint(rows[0]), fmt.Sprint([]int64{n.Rows, n.Rows, 0, n.Rows - 1}); got != want {
		return fmt.Errorf("rows of %s, numbers, first, last: %s, want %s", n.Table, got, want)
	}
	return nil
}
