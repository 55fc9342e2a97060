package ingest

import "context"

// Lookup selects texts in a column of a table: those from Low (included) to High (excluded), in rows from Since to
// Until.
type Lookup struct {
	Database, Table, Column string
	Low, High               string
	// Since and Until are in nanoseconds since 1970, and both are included. 0 means no limit.
	Since, Until int64
	// Limit limits the number of texts.
	Limit int
}

// Lookup returns texts that the rows of a table have in a column. If the table or the column does not exist, it
// returns none. It is for protocols whose clients resend stored records. It runs on behalf of the server, because
// clients may have only the right to write.
func (s *Service) Lookup(ctx context.Context, q *Lookup) ([]string, error) {
	if s.cfg.Lookup == nil {
		return nil, nil
	}
	return s.cfg.Lookup(ctx, q)
}
