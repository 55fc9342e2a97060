package segment

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go/bloom"
)

// This file finds the token filters in the footer of a file. They may have megabytes, of which a search reads one block
// for each word and row group.

// placedFilter is a token filter in a file: size bytes, which are there as base64 text.
type placedFilter struct {
	at   int64
	size int
}

// leastFilterText is the length of the smallest filter in base64.
var leastFilterText = base64.StdEncoding.EncodedLen(bloom.BlockSize)

// errEscaped means that the metadata was written by another program, with escapes in its texts.
var errEscaped = errors.New("texts with escapes")

// placeFulltext is like parseFulltext, but remembers only where the filters are. text is at an offset of the file.
func placeFulltext(text string, at int64) (*Fulltext, error) {
	short, places, err := withoutFilters(text, at)
	if err != nil {
		return parseFulltext(text)
	}
	var list []struct {
		fulltextJSON

		Filters []string `json:"filters"` // indexes of places
	}
	if err := json.Unmarshal(short, &list); err != nil {
		return parseFulltext(text)
	}
	t := &Fulltext{columns: map[uint32]*fulltextJSON{}}
	for i := range list {
		c := &list[i].fulltextJSON
		for _, index := range list[i].Filters {
			n, err := strconv.Atoi(index)
			if err != nil || n < 0 || n >= len(places) || places[n].size%bloom.BlockSize != 0 {
				return parseFulltext(text)
			}
			c.places = append(c.places, places[n])
		}
		t.columns[c.Column] = c
	}
	return t, nil
}

// withoutFilters replaces each text of the JSON that is as long as a filter by the index of its place.
func withoutFilters(text string, at int64) (short []byte, places []placedFilter, err error) {
	rest := []byte(text)
	for {
		begin := bytes.IndexByte(rest, '"')
		if begin < 0 {
			return append(short, rest...), places, nil
		}
		short = append(short, rest[:begin+1]...)
		rest = rest[begin+1:]
		end := bytes.IndexByte(rest, '"')
		if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
			return nil, nil, errEscaped
		}
		if end < leastFilterText {
			short = append(short, rest[:end]...)
		} else {
			size := base64.StdEncoding.DecodedLen(end) - bytes.Count(rest[max(0, end-2):end], []byte("="))
			short = strconv.AppendInt(short, int64(len(places)), 10)
			places = append(places, placedFilter{at + int64(len(text)-len(rest)), size})
		}
		short = append(short, '"')
		rest = rest[end+1:]
	}
}

// filterAt reads a filter of a file.
type filterAt struct {
	r io.ReaderAt
	placedFilter
}

// ReadAt implements io.ReaderAt.
func (f filterAt) ReadAt(b []byte, off int64) (int, error) {
	// Three bytes are four letters.
	first, last := off/3, (off+int64(len(b))+2)/3
	var letters, bits [64]byte // enough for a block
	n := int(last-first) * 4
	if n > len(letters) {
		return 0, io.ErrShortBuffer
	}
	if _, err := f.r.ReadAt(letters[:n], f.at+first*4); err != nil {
		return 0, err
	}
	n, err := base64.StdEncoding.Decode(bits[:], letters[:n])
	if err != nil {
		return 0, err
	}
	return copy(b, bits[min(int(off-first*3), n):n]), nil
}
