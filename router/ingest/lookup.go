package ingest

import "context"

// Lookup asks for the texts of a column of a table: those from Low to below High, of rows from Since to Until.
type Lookup struct {
	Database, Table, Column string
	Low, High               string
	// Since and Until are in nanoseconds since 1970; both are included. 0: there is no such bound.
	Since, Until int64
	// Limit bounds the texts.
	Limit int
}

// Lookup returns texts that rows have in a column. A table or a column that does not exist has none. It is for
// protocols whose clients send again what was stored: a door asks on the server's behalf, since its clients may only
// write.
func (s *Service) Lookup(ctx context.Context, q *Lookup) ([]string, error) {
	if s.cfg.Lookup == nil {
		return nil, nil
	}
	return s.cfg.Lookup(ctx, q)
}
