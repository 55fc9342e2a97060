// Command golang sends records with the marks FIRST to LAST-1 by a client library for Go, with a pause in milliseconds
// after every 20: golang CLIENT FIRST LAST ADDRESS PAUSE. It is a separate module because these clients take long to
// build.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// document is a record, with the functions that the indexer calls after sending it.
type document struct {
	id      string
	body    *bytes.Reader
	outcome func(err error)
}

// indexer sends documents, and returns when the result of each is known.
type indexer func(address string, documents []document) error

var indexers = map[string]indexer{
	"elasticsearch-7-indexer": by7, "elasticsearch-8-indexer": by8, "elasticsearch-9-indexer": by9,
	"opensearch-indexer": byOpenSearch, "olivere-bulk": byOlivere,
}

func main() {
	name, address := os.Args[1], os.Args[4]
	var n [3]int
	for i, at := range []int{2, 3, 5} {
		v, err := strconv.Atoi(os.Args[at])
		if err != nil {
			log.Fatal(err)
		}
		n[i] = v
	}
	pause := time.Duration(n[2]) * time.Millisecond
	if send := senders[name]; send != nil {
		if err := send(address, n[0], n[1], pause); err != nil {
			log.Fatal(err)
		}
		return
	}
	const batch = 100
	for first := n[0]; first < n[1]; first += batch {
		var marks []int
		for mark := first; mark < min(first+batch, n[1]); mark++ {
			marks = append(marks, mark)
		}
		if err := insist(indexers[name], address, marks); err != nil {
			log.Fatal(err)
		}
		time.Sleep(pause * batch / 20)
	}
}

// insist sends the records with the marks, and sends those again that the indexer reports as not stored, as a program
// does that must not lose records.
func insist(send indexer, address string, marks []int) error {
	for range 100 {
		var (
			mu     sync.Mutex
			stored = map[int]bool{} // a request that fails is not told to its documents by all versions
			last   error
		)
		documents := make([]document, len(marks))
		for i, mark := range marks {
			text := fmt.Sprintf(`{"@timestamp":%q,"level":%q,"message":"a record","mark":%d}`,
				time.Now().UTC().Format(time.RFC3339Nano), level(mark), mark)
			documents[i] = document{id: "m" + strconv.Itoa(mark), body: bytes.NewReader([]byte(text)), outcome: func(err error) {
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					last = err
				}
				stored[mark] = err == nil
			}}
		}
		if err := send(address, documents); err != nil {
			return err
		}
		failed := slices.DeleteFunc(slices.Clone(marks), func(mark int) bool { return stored[mark] })
		if len(failed) == 0 {
			return nil
		}
		log.Printf("again: %d records: %v", len(failed), last)
		marks = failed
		time.Sleep(300 * time.Millisecond)
	}
	return fmt.Errorf("%d records were not stored", len(marks))
}
