package ip

import (
	"crypto/sha1" // the Community ID specification requires it
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/netip"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// The IP protocols for which a flow has ports, or message types instead.
const (
	protoICMP   = 1
	protoTCP    = 6
	protoUDP    = 17
	protoICMPv6 = 58
	protoSCTP   = 132
)

var communityID = &fn.Function{
	Name:  "community_id",
	Group: fn.String,
	Doc: "Returns the Community ID (version 1) of a network flow: a hash of its addresses, ports and protocol, " +
		"which is the same in both directions. Use it to join records of different tools.",
	Params: []fn.Param{
		{Name: "source_ip", Doc: "The source address.", Kind: kind.String},
		{Name: "destination_ip", Doc: "The destination address.", Kind: kind.String},
		{Name: "protocol", Doc: "The number of the IP protocol, such as 6 for TCP.", Kind: kind.Integer},
		{
			Name: "source_port", Doc: "The source port, or the type of an ICMP message. TCP, UDP, SCTP and ICMP need it.",
			Kind: kind.Integer, Optional: true,
		},
		{
			Name: "destination_port",
			Doc:  "The destination port, or the code of an ICMP message. TCP, UDP, SCTP and ICMP need it.",
			Kind: kind.Integer, Optional: true,
		},
		{
			Name: "seed", Doc: "A seed for the hash, from 0 to 65535.", Kind: kind.Integer, Optional: true,
			Default: value.NewInt(0),
		},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors: []string{
		"an address is not valid, or they are not both IPv4 or both IPv6", "a number is out of its range",
		"the protocol needs ports and one is missing",
	},
	Examples: []fn.Example{
		{
			Title: "TCP",
			Source: `community_id!(source_ip: "1.2.3.4", destination_ip: "5.6.7.8", source_port: 1122, destination_port: ` +
				`3344, protocol: 6)`,
			Result: `"1:wCb3OG7yAFWelaUydu0D+125CLM="`,
		},
		{
			Title:  "no ports",
			Source: `community_id!(source_ip: "1.2.3.4", destination_ip: "5.6.7.8", protocol: 46)`,
			Result: `"1:ikv3kmf89luf73WPz1jOs49S768="`,
		},
		{
			Title:  "ports missing",
			Source: `community_id!(source_ip: "1.2.3.4", destination_ip: "5.6.7.8", protocol: 6)`,
			Fails:  `src port and dst port should be set`,
		},
	},
	Impl: fn.Impl{N: func(f *fn.Frame, args []value.Value) (value.Value, bool) {
		text, err := flowID(args)
		if err != nil {
			return f.FailErr("", err)
		}
		return f.Keep(text)
	}},
}

// flowID returns the Community ID of the flow described by the arguments of community_id.
func flowID(args []value.Value) ([]byte, error) {
	addrs, err := flowAddresses(args)
	if err != nil {
		return nil, err
	}
	within := func(i int, name string, most int64) (uint16, error) {
		x := args[i].Int()
		if x < 0 || x > most {
			return 0, fmt.Errorf("invalid argument: %s must be from 0 to %d, not %d", name, most, x)
		}
		return uint16(x), nil
	}
	proto, err := within(2, "protocol", 255)
	if err != nil {
		return nil, err
	}
	seed, err := within(5, "seed", 65535)
	if err != nil {
		return nil, err
	}
	hasPorts := args[3].IsDefined() && args[4].IsDefined()
	var ports [2]uint16
	for i, name := range []string{"source_port", "destination_port"} {
		if ports[i], err = within(3+i, name, 65535); err != nil {
			return nil, err
		}
	}
	if !hasPorts {
		switch proto {
		case protoTCP, protoUDP, protoSCTP:
			return nil, fmt.Errorf("src port and dst port should be set when protocol is tcp/udp/sctp")
		case protoICMP, protoICMPv6:
			return nil, fmt.Errorf("src port and dst port should be set when protocol is icmp/icmp6")
		}
	}
	oneWay := false
	if proto == protoICMP || proto == protoICMPv6 {
		var answer uint16
		if answer, oneWay = icmpAnswer(proto, ports[0]); !oneWay {
			ports[1] = answer
		}
	}
	if c := addrs[0].Compare(addrs[1]); !oneWay && (c > 0 || c == 0 && ports[0] > ports[1]) {
		addrs[0], addrs[1] = addrs[1], addrs[0]
		ports[0], ports[1] = ports[1], ports[0]
	}
	if !hasPorts {
		return encodeFlow(seed, byte(proto), addrs), nil
	}
	return encodeFlow(seed, byte(proto), addrs, ports[0], ports[1]), nil
}

// flowAddresses returns the addresses of the source and the destination, which are of the same family.
func flowAddresses(args []value.Value) (addrs [2]netip.Addr, err error) {
	for i, side := range []string{"source", "destination"} {
		a, err := netip.ParseAddr(shortAddress(args[i].Str()))
		if err != nil {
			return addrs, fmt.Errorf("unable to parse %s IP address: %w", side, err)
		}
		addrs[i] = a.WithZone("")
	}
	if addrs[0].Is4() != addrs[1].Is4() {
		return addrs, fmt.Errorf("source %v and destination %v must both be IPv4 or both IPv6", addrs[0], addrs[1])
	}
	return addrs, nil
}

// encodeFlow returns the Community ID of a flow. ports are none, or the ports of both addresses.
func encodeFlow(seed uint16, proto byte, addrs [2]netip.Addr, ports ...uint16) []byte {
	b := make([]byte, 0, 64)
	b = binary.BigEndian.AppendUint16(b, seed)
	b = append(b, addrs[0].AsSlice()...)
	b = append(b, addrs[1].AsSlice()...)
	b = append(b, proto, 0)
	for _, port := range ports {
		b = binary.BigEndian.AppendUint16(b, port)
	}
	sum := sha1.Sum(b)
	return base64.StdEncoding.AppendEncode([]byte("1:"), sum[:])
}

// icmpAnswer returns the message type of the reply to a type, so that both directions of a flow get the same id.
// oneWay is true if there is no reply.
func icmpAnswer(proto, typ uint16) (answer uint16, oneWay bool) {
	pairs := [][2]uint16{{8, 0}, {13, 14}, {15, 16}, {10, 9}, {17, 18}}
	if proto == protoICMPv6 {
		pairs = [][2]uint16{{128, 129}, {133, 134}, {135, 136}, {130, 131}, {139, 140}, {144, 145}}
	}
	for _, p := range pairs {
		switch typ {
		case p[0]:
			return p[1], false
		case p[1]:
			return p[0], false
		}
	}
	return 0, true
}
