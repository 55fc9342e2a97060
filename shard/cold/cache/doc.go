// Package cache keeps parts of cold objects on the local disk, so that queries read them from files. It fetches the
// parts that a query asks for, and removes others when there is no room. An object is a striped segment file in object
// storage (shard/segment/FORMAT.md).
//
// A query uses a Hold: Open makes the tails of objects available, Fetch further units, and what a Hold got stays in its
// file until Release. The checksum of a unit is compared when it is fetched and each time a Hold gets it from the disk,
// so a unit that is wrong for any reason is fetched again and never read.
//
// An object has a sparse file: its bytes are where the object has them, and everything that is not there is a hole. A
// footer without bloom filters and page indexes follows, for the engine. FORMAT.md describes the files.
//
// All methods may be called concurrently. The only goroutine that outlives a call writes the lists of what is there;
// Close waits for it.
package cache
