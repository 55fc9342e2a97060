package turns

import (
	"container/list"
	"time"
)

// shareKey identifies the queries of a user in a database.
type shareKey struct{ database, user string }

// activeFor is how long a database without queries counts as one that has them.
const activeFor = time.Minute

// share counts the running and waiting queries of a user in a database.
type share struct {
	key     shareKey
	user    *user
	group   *group
	running int
	away    int
	waiting list.List // of *turn
	last    uint64    // number of its last grant
}

// user counts the queries of a user in all databases.
type user struct{ running, waiting, away int }

// before reports whether s gets the next slot rather than other.
func (s *share) before(other *share) bool {
	if s.group != other.group {
		if s.group.running != other.group.running {
			return s.group.running < other.group.running
		}
		return s.group.last < other.group.last
	}
	if s.user.running != other.user.running {
		return s.user.running < other.user.running
	}
	return s.last < other.last
}
