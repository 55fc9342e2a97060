// Package crypto has the functions that encrypt, hash, compute checksums, and generate random numbers and
// identifiers.
package crypto

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	decrypt, encrypt, hmacSum, md5Sum, seaHash, sha1Sum, sha2Sum, sha3Sum, crc, xxHash, randomBool,
	randomBytes, randomFloat, randomInt, uuidFromFriendlyID, uuidV4, uuidV7,
}
