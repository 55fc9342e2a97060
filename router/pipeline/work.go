package pipeline

import (
	"context"
	"errors"

	"cordwood/proto/errs"
	"cordwood/router/vrl/fn"
)

// The limits of the work on a record: as much as a program may do alone, and more for long records. Reading a
// record and storing its row takes some steps too.
const (
	stepsPerByte       = 100 // of the request
	recordStepsPerByte = 16
	recordSteps        = 100
	bytesPerStep       = 8
)

// ticks is the number of records between two checks whether the request has ended.
const ticks = 256

// tick is called for each record. It returns an error if the request has ended.
func (s *sink) tick() error {
	if s.untick--; s.untick >= 0 || s.req.Ended == nil {
		return nil
	}
	s.untick = ticks
	if err := s.req.Ended(); err != nil {
		return s.ended(err)
	}
	return nil
}

// ended returns the error for a request that has ended, for the reason from Ended, or because it took too much
// work.
func (s *sink) ended(err error) error {
	at := s.top().records
	switch {
	case errors.Is(err, fn.ErrSteps):
		return errs.New(errs.InvalidArguments,
			"record %d: the request needs more work than one may take: %d steps, and %d more for each byte of its records; "+
				"send fewer records per request, make the pipeline cheaper, or raise --pipeline-request-steps", at, s.req.Steps,
			stepsPerByte)
	case errors.Is(err, context.DeadlineExceeded):
		return errs.Wrap(errs.DeadlineExceeded, err,
			"record %d: the time of the request was up before all records had gone through the pipeline", at)
	}
	return errs.Wrap(errs.Cancelled, err, "record %d: the request ended before all records had gone through the pipeline",
		at)
}
