package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// rowID identifies a row of the load by its writer and its number.
type rowID struct {
	writer string
	row    int64
}

// Stored is the content of the tables of a load: how often each row is stored.
type Stored struct {
	// tables holds the rows of each table.
	tables map[int]map[rowID]int
	// strange lists rows that no client sent.
	strange []string
	rows    int
}

// ReadAll reads all tables of the load through a node. A table may be missing if none of its rows was acknowledged.
func (l *Load) ReadAll(n *cluster.Node) (*Stored, error) {
	s := &Stored{tables: map[int]map[rowID]int{}}
	for i := range l.opt.Tables {
		rows, err := n.Query("SELECT w, s, p FROM " + TableName(i) + " WHERE p IS NOT NULL")
		if err != nil && strings.Contains(err.Error(), "does not exist") && !l.wrote(i) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.add(i, rows)
	}
	return s, nil
}

// add adds the rows of the i-th table.
func (s *Stored) add(i int, rows [][]any) {
	if s.tables[i] == nil {
		s.tables[i] = map[rowID]int{}
	}
	for _, row := range rows {
		w, _ := row[0].(string)
		number, _ := row[1].(json.Number)
		k, err := number.Int64()
		if p, _ := row[2].(string); err != nil || p != payload(w, int(k)) {
			s.strange = append(s.strange, fmt.Sprintf("%s: %v", TableName(i), row))
			continue
		}
		s.tables[i][rowID{w, k}]++
		s.rows++
	}
}

// wrote reports whether any row of a table was acknowledged.
func (l *Load) wrote(i int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.requests, func(r *request) bool { return r.acked && (l.opt.Spread || r.at == i) })
}

// Compare lists the differences between the content of a cluster and the answers that the writers got. It expects
// that:
//
//   - an acknowledged row is stored; once, if its writer sent it once or with a key, and otherwise
//     at most as often as an answer left open whether it was stored;
//   - any other row is stored at most as often as an answer left that open, and with a key at most
//     once: so not at all if every answer excluded it;
//   - every row is one that was sent, in the table that it was sent to.
func (l *Load) Compare(s *Stored) (wrong []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := 0
	counts := map[string]int{}
	bad := func(kind string, r *request, row, n int) {
		if counts[kind]++; counts[kind] <= 3 {
			wrong = append(wrong,
				fmt.Sprintf("%s: row %d of writer %s in %s, stored %d times (acknowledged: %t, %d requests may have stored it)",
					kind, row, r.writer, TableName(l.table(r, row)), n, r.acked, r.maybe))
		}
	}
	for _, r := range l.requests {
		most := r.maybe
		if r.manner == Keyed {
			most = min(most, 1)
		}
		for row := r.first; row < r.first+r.rows; row++ {
			n := s.tables[l.table(r, row)][rowID{r.writer, int64(row)}]
			found += n
			switch {
			case r.acked && n == 0:
				bad("lost", r, row, n)
			case n > most && r.maybe > 0:
				bad("doubled", r, row, n)
			case n > most:
				bad("refused and stored", r, row, n)
			}
		}
	}
	for kind, n := range counts {
		wrong = append(wrong, fmt.Sprintf("%d rows %s", n, kind))
	}
	if found != s.rows {
		wrong = append(wrong, fmt.Sprintf("%d rows that nobody sent, or not to this table", s.rows-found))
	}
	if len(s.strange) > 0 {
		wrong = append(wrong, fmt.Sprintf("%d rows with content that nobody sent, such as %s", len(s.strange), s.strange[0]))
	}
	return wrong
}

// Check fails the test unless the cluster has the expected rows, read through each of the nodes.
// The load must have been stopped.
func (l *Load) Check(t testing.TB, nodes ...*cluster.Node) {
	t.Helper()
	for _, n := range nodes {
		l.checkRead(t, "through "+n.Name, func() (*Stored, error) { return l.ReadAll(n) })
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.requests {
		if r.manner != Once && !r.acked && !closed(l.healed) {
			t.Errorf("writer %s ended before row %d was acknowledged", r.writer, r.first)
		} else if r.manner != Once && !r.acked {
			t.Errorf("writer %s: row %d was not acknowledged within %s after all faults were "+
				"repaired", r.writer, r.first, patience)
		}
	}
	for i, text := range l.forbidden {
		if i == 3 {
			t.Errorf("and %d more such answers", len(l.forbidden)-3)
			break
		}
		t.Error(text)
	}
}

// checkRead reads, as soon as that is possible, and fails the test unless the rows are as expected.
func (l *Load) checkRead(t testing.TB, how string, read func() (*Stored, error)) {
	t.Helper()
	var s *Stored
	cluster.Eventually(t, 30*time.Second, func() (err error) {
		s, err = read()
		return err
	})
	for _, w := range l.Compare(s) {
		t.Errorf("read %s: %s", how, w)
	}
}
