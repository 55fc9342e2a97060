package rpcport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"cordwood/proto/handshake"
)

// These limits apply to data that is read from a refused connection.
const (
	maxRefused  = 64 << 10
	lingerTime  = time.Second
	maxPreamble = 16 << 10
)

// grpcUnauthenticated is the status of a call by a peer that has not authenticated.
const grpcUnauthenticated = "16"

// answerPlain sends a peer without TLS the reason for the refusal, in the protocol that the peer uses. head is its
// first message.
func answerPlain(conn net.Conn, head string) error {
	switch head {
	case magicRaft, magicCalls:
		if err := handshake.Answer(conn, head, 0, reasonPlain); err != nil {
			return err
		}
	case magicHTTP2:
		if err := refuseCall(&begun{conn, []byte(head)}, reasonPlain); err != nil {
			return err
		}
	default:
		return notANode(conn, head)
	}
	linger(conn)
	return errors.New("it uses no TLS: " + reasonPlain)
}

// linger waits for the other side to read the answer. If a connection with unread bytes is closed, data in flight to
// the other side is discarded.
func linger(conn net.Conn) {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, conn, maxRefused) // until the other side closes
}

// refuseCall answers the first gRPC call of a connection with a status. It uses a minimal HTTP/2 exchange, so that an
// unauthenticated peer gets no server and no memory for one.
func refuseCall(conn io.ReadWriter, reason string) error {
	in := &io.LimitedReader{R: conn, N: maxRefused}
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(in, preface); err != nil {
		return err
	}
	if string(preface) != http2.ClientPreface {
		return fmt.Errorf("it starts with %q: not a connection of a node", preface)
	}
	frames := http2.NewFramer(conn, in)
	frames.SetMaxReadFrameSize(maxPreamble)
	if err := frames.WriteSettings(); err != nil {
		return err
	}
	for {
		f, err := frames.ReadFrame()
		if err != nil {
			return err
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				if err := frames.WriteSettingsAck(); err != nil {
					return err
				}
			}
		case *http2.HeadersFrame:
			var block bytes.Buffer
			enc := hpack.NewEncoder(&block)
			for _, h := range []hpack.HeaderField{
				{Name: ":status", Value: "200"},
				{Name: "content-type", Value: "application/grpc"},
				{Name: "grpc-status", Value: grpcUnauthenticated},
				{Name: "grpc-message", Value: strings.ReplaceAll(reason, "%", "%25")},
			} {
				if err := enc.WriteField(h); err != nil {
					return err
				}
			}
			// Send GOAWAY first, so that no other call is started on this connection.
			if err := frames.WriteGoAway(f.StreamID, http2.ErrCodeNo, nil); err != nil {
				return err
			}
			return frames.WriteHeaders(http2.HeadersFrameParam{
				StreamID: f.StreamID, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true,
			})
		}
	}
}
