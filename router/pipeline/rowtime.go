package pipeline

import (
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline/processor"
)

// rowTime returns the time of the current row in timeUnit.
func (s *sink) rowTime() (int64, error) {
	if s.timeSet {
		return s.timeValue, nil
	}
	s.timeRest, s.timeCut = 0, false
	if s.req.TimeIndex != nil && !s.req.IgnoreErrors {
		return 0, &kindError{SkipTimeIndex, errs.New(errs.InvalidArguments, "time index %q: the field is missing or null",
			s.timeName)}
	}
	t, _ := convertTime(s.moment(), schema.TimestampNanosecond, s.timeUnit)
	return t, nil
}

// setTime reads the custom time index from v.
func (s *sink) setTime(v *cell) error {
	ti := s.req.TimeIndex
	var m moment
	var err error
	switch {
	case s.req.IgnoreErrors && v.kind != kindInt && v.kind != kindFloat && v.kind != kindString:
		return nil
	case v.kind == kindInt && ti.format == nil:
		m.value = v.i
	case v.kind == kindFloat && ti.format == nil:
		m, err = ti.number(v.f)
	case v.kind == kindString:
		m, err = ti.parse(v.bytes)
	default:
		err = errs.New(errs.InvalidArguments, "time index %q: expected %s, actual %s: %s", ti.Field, ti.want(),
			v.kind.columnType(), processor.Cut(string(s.jsonText(v))))
	}
	t := m.value
	if err == nil && !timeInRange(t, ti.Unit) {
		lo, hi := ti.Unit.TimeRange()
		err = errs.New(errs.InvalidArguments, "time index %q: %d of %s is out of range, which is %d to %d (%s)", ti.Field, t,
			ti.Unit, lo, hi, ti.Unit.TimeSpan())
	}
	if err != nil {
		if s.req.IgnoreErrors {
			return nil
		}
		return &kindError{SkipTimeIndex, err}
	}
	s.timeValue, s.timeRest, s.timeCut, s.timeSet = t, m.rest, m.cut, true
	return nil
}
