// Package codec has the functions that encode and decode text, compressed data, JSON, CSV, key=value pairs and
// protocol buffers. Both directions of a format are in one file or in neighbouring files.
package codec

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	decodeBase16, decodeBase64, decodeCharset, decodeGzip, decodeLZ4, decodeMimeQ, decodePercent,
	decodePunycode, decodeSnappy, decodeZlib, decodeZstd, encodeBase16, encodeBase64, encodeCharset,
	encodeCSV, encodeGzip, encodeJSON, encodeKeyValue, encodeLogfmt, encodeLZ4, encodePercent,
	encodeProto, encodePunycode, encodeSnappy, encodeZlib, encodeZstd, parseProto,
}
