package query

import "context"

// Want is parts of a cold segment that a query is about to read.
type Want struct {
	// Path is the segment's Path.
	Path string
	// Units are the column chunks and bloom filters, by their number in segment.Filters. The end of the object, with page
	// indexes and footer, comes with any Want.
	Units []int
}

// Fetcher makes parts of the cold segments of one query available in their files, where they stay until the query ends.
// Its errors may be shown to clients. It may be called concurrently.
type Fetcher interface {
	Fetch(ctx context.Context, wants []Want) error
	// Have makes those of the wants available that need no object storage, and says which these are.
	Have(ctx context.Context, wants []Want) (have []bool, err error)
	// Cost returns what the calls of Fetch have done so far, and what fetching wants would do. Of these segments, the ends
	// must be there.
	Cost(ctx context.Context, wants []Want) (done, more Traffic, err error)
}

// Traffic is what fetching takes.
type Traffic struct {
	Objects  int
	Requests int
	// Bytes come from object storage, Cached ones are on the local disk.
	Bytes, Cached int64
}

// fetcherKey is the key of a Fetcher in a context.
type fetcherKey struct{}

// WithFetcher returns a context for a query that may have cold segments.
func WithFetcher(ctx context.Context, f Fetcher) context.Context {
	return context.WithValue(ctx, fetcherKey{}, f)
}

// FetcherOf returns the Fetcher of the context's query, or nil.
func FetcherOf(ctx context.Context) Fetcher {
	f, _ := ctx.Value(fetcherKey{}).(Fetcher)
	return f
}
