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
	flushRetry   = "retry"
	FlushRequest = "request"
	FlushMemory  = "memory"
)
