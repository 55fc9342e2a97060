// Package codec holds the functions that encode and decode: to text, to compressed forms, to JSON, CSV,
// key=value and protocol buffers. Both directions of a format are in one file, or beside each
// other.
package codec

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	decodeBase16, decodeBase64, decodeCharset, decodeGzip, decodeLZ4, decodeMimeQ, decodePercent,
	decodePunycode, decodeSnappy, decodeZlib, decodeZstd, encodeBase16, encodeBase64, encodeCharset,
	encodeCSV, encodeGzip, encodeJSON, encodeKeyValue, encodeLogfmt, encodeLZ4, encodePercent,
	encodeProto, encodePunycode, encodeSnappy, encodeZlib, encodeZstd, parseProto,
}
