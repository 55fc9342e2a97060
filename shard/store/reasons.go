package store

// The reasons of a flush; they are values of a metric's label.
const (
	flushBytes   = "bytes"
	flushLog     = "log"
	flushAge     = "age"
	flushIdle    = "idle"
	flushBudget  = "budget"
	FlushDrop    = "drop"
	FlushExpire  = "expire"
	FlushLeader  = "leader" // of a follower, because the leader flushes
	flushRetry   = "retry"
	FlushRequest = "request"
	FlushMemory  = "memory"
)
