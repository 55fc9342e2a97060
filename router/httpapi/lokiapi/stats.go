package lokiapi

import (
	"encoding/json"
)

// summary has Loki's statistics of a query.
type summary struct {
	BytesPerSecond  int64   `json:"bytesProcessedPerSecond"`
	LinesPerSecond  int64   `json:"linesProcessedPerSecond"`
	Bytes           int64   `json:"totalBytesProcessed"`
	Lines           int64   `json:"totalLinesProcessed"`
	ExecTime        float64 `json:"execTime"`
	QueueTime       float64 `json:"queueTime"`
	Subqueries      int64   `json:"subqueries"`
	Entries         int64   `json:"totalEntriesReturned"`
	Splits          int64   `json:"splits"`
	Shards          int64   `json:"shards"`
	PostFilterLines int64   `json:"totalPostFilterLines"`
	MetadataBytes   int64   `json:"totalStructuredMetadataBytesProcessed"`
}

// chunks has Loki's statistics of the chunks that a query reads. cordwood has no chunks.
type chunks struct {
	Referenced int64 `json:"totalChunksRef"`
	Downloaded int64 `json:"totalChunksDownloaded"`
	FetchTime  int64 `json:"chunksDownloadTime"`
	Chunk      struct {
		HeadBytes    int64 `json:"headChunkBytes"`
		HeadLines    int64 `json:"headChunkLines"`
		Decompressed int64 `json:"decompressedBytes"`
		Lines        int64 `json:"decompressedLines"`
		Compressed   int64 `json:"compressedBytes"`
		Duplicates   int64 `json:"totalDuplicates"`
	} `json:"chunk"`
}

// cached has Loki's statistics of a cache.
type cached struct {
	EntriesFound     int64 `json:"entriesFound"`
	EntriesRequested int64 `json:"entriesRequested"`
	EntriesStored    int64 `json:"entriesStored"`
	BytesReceived    int64 `json:"bytesReceived"`
	BytesSent        int64 `json:"bytesSent"`
	Requests         int64 `json:"requests"`
	DownloadTime     int64 `json:"downloadTime"`
}

// statistics has the members that clients expect. All values outside the summary are 0.
type statistics struct {
	Summary summary `json:"summary"`
	Querier struct {
		Store chunks `json:"store"`
	} `json:"querier"`
	Ingester struct {
		Reached int64  `json:"totalReached"`
		Matched int64  `json:"totalChunksMatched"`
		Batches int64  `json:"totalBatches"`
		Lines   int64  `json:"totalLinesSent"`
		Store   chunks `json:"store"`
	} `json:"ingester"`
	Cache struct {
		Chunk  cached `json:"chunk"`
		Index  cached `json:"index"`
		Result cached `json:"result"`
	} `json:"cache"`
	Index struct {
		Chunks     int64 `json:"totalChunks"`
		PostFilter int64 `json:"postFilterChunks"`
		Duration   int64 `json:"shardsDuration"`
	} `json:"index"`
}

// appendStats appends the statistics of the request.
func (c *call) appendStats(out []byte) []byte {
	read := c.reader.Stats()
	seconds := max(read.Took.Seconds(), 1e-9)
	var s statistics
	s.Summary = summary{
		Bytes: read.Bytes, Lines: read.Rows, ExecTime: read.Took.Seconds(), Subqueries: read.Statements,
		Entries: read.Entries, Shards: read.Statements, PostFilterLines: read.Rows,
		BytesPerSecond: int64(float64(read.Bytes) / seconds), LinesPerSecond: int64(float64(read.Rows) / seconds),
	}
	text, err := json.Marshal(&s)
	if err != nil {
		return append(out, "{}"...) // it cannot fail: all members are numbers
	}
	return append(out, text...)
}
