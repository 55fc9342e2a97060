package worker

import (
	"encoding/binary"
	"fmt"
)

// helloMagic starts the first message. The magic and the version after it are the same in all
// versions.
const helloMagic = "CWQW"

const helloPrefix = headerSize + len(helloMagic) + 4

// newHello returns the server's first message.
func newHello(h hello) []byte {
	e := encoder{buf: make([]byte, headerSize, 512)}
	e.buf = append(e.buf, helloMagic...)
	e.buf = binary.LittleEndian.AppendUint32(e.buf, protocolVersion)
	e.encode(h)
	putHeader(e.buf, frameHello, len(e.buf)-headerSize)
	return e.buf
}

// parseHello parses the server's first message, and refuses a message of another build.
func parseHello(b []byte, build string) (hello, error) {
	if len(b) < helloPrefix || frameKind(b[4]) != frameHello ||
		string(b[headerSize:headerSize+len(helloMagic)]) != helloMagic {
		return hello{}, fmt.Errorf("query worker: the first message is not from a cordwood server; this program is started " +
			"by cordwood serve")
	}
	if v := binary.LittleEndian.Uint32(b[helloPrefix-4:]); v != protocolVersion {
		return hello{}, mismatch("speaks version %d of the protocol and the worker version %d", v, protocolVersion)
	}
	d := &decoder{src: string(b[helloPrefix:])}
	h, err := decode[hello](d)
	if h.Types != messageTypes() {
		// This check comes before the decoding error, because a difference explains the error.
		return hello{}, mismatch("sends requests of form %016x and the worker reads %016x", h.Types, messageTypes())
	}
	if err != nil {
		return hello{}, fmt.Errorf("query worker: the server's settings: %w", err)
	}
	if h.Build != build {
		return hello{}, mismatch("was built from %q and the worker from %q", h.Build, build)
	}
	return h, nil
}

func mismatch(format string, args ...any) error {
	return fmt.Errorf("query worker: the server "+format+": both must be the same build; restart the server", args...)
}
