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

// rowID is a row of the load: who wrote it, and its number.
type rowID struct {
	writer string
	row    int64
}

// Stored is what a cluster has of the tables of a load: how often it has each row.
type Stored struct {
	// tables holds the rows of each.
	tables map[int]map[rowID]int
	// strange are rows that no client sent.
	strange []string
	rows    int
}

// ReadAll reads all tables of the load through a node. ok reports whether a table that is not
// there may be missing.
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

// add takes over rows of the i-th table.
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

// wrote reports whether anything of a table was acknowledged.
func (l *Load) wrote(i int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.requests, func(r *request) bool { return r.acked && (l.opt.Spread || r.at == i) })
}

// Compare lists what is wrong with what a cluster has, given what the writers were told:
//
//   - a row that was acknowledged is there; once, if its writer sent it once or with a key,
//     else at most as often as an answer left open whether it was stored;
//   - a row that was not is there at most as often as that, with a key at most once: so not
//     at all if every answer said that nothing was stored;
//   - every row is one that was sent, in the table that it was sent to.
func (l *Load) Compare(s *Stored) (wrong []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := 0
	counts := map[string]int{}
	bad := func(kind string, r *request, row, n int) {
		if counts[kind]++; counts[kind] <= 3 {
			wrong = append(wrong,
				fmt.Sprintf("%s: row %d of writer %s in %s, there %d times (acknowledged: %t, %d sendings may have stored it)",
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
		wrong = append(wrong, fmt.Sprintf("%d rows that hold what nobody sent, as %s", len(s.strange), s.strange[0]))
	}
	return wrong
}

// Check fails the test unless the cluster, as each of the nodes shows it, has what it
// must. The load must have been stopped.
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
			t.Errorf("writer %s: row %d was not acknowledged within %s after everything was mended", r.writer, r.first, patience)
		}
	}
	for i, text := range l.rude {
		if i == 3 {
			t.Errorf("and %d more such answers", len(l.rude)-3)
			break
		}
		t.Error(text)
	}
}

// checkRead fails the test unless what is read, as soon as it can be, is what must be there.
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
