package rows

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
)

// id returns the id of a row: the nanoseconds since 1970, the hash, and the number among identical rows.
func (p *place) id() string {
	text := nanoseconds(p.at) + "-" + fmt.Sprintf("%016x", p.hash)
	if p.number > 1 {
		text += "-" + strconv.Itoa(p.number)
	}
	return text
}

// nanoseconds formats a time in nanoseconds since 1970, which may exceed 64 bits.
func nanoseconds(t time.Time) string {
	n := big.NewInt(t.Unix())
	n.Mul(n, big.NewInt(1e9))
	return n.Add(n, big.NewInt(int64(t.Nanosecond()))).String()
}

// parseID parses an id.
func parseID(text string) (place, error) {
	wrong := errs.New(errs.InvalidArguments, "%.80q is not the id of a row: want NANOSECONDS-HASH, as in an answer",
		text)
	const most = 80
	if len(text) > most {
		return place{}, wrong
	}
	sign := ""
	rest := text
	if strings.HasPrefix(rest, "-") {
		sign, rest = "-", rest[1:]
	}
	parts := strings.Split(rest, "-")
	if len(parts) < 2 || len(parts) > 3 || len(parts[1]) != 16 {
		return place{}, wrong
	}
	at, ok := parseNanoseconds(sign + parts[0])
	hash, err := strconv.ParseUint(parts[1], 16, 64)
	if !ok || err != nil {
		return place{}, wrong
	}
	p := place{at: at, hash: hash, number: 1}
	if len(parts) == 3 {
		if p.number, err = strconv.Atoi(parts[2]); err != nil || p.number < 2 || p.number > 1<<30 {
			return place{}, wrong
		}
	}
	if p.id() != text {
		return place{}, wrong
	}
	return p, nil
}

func parseNanoseconds(text string) (time.Time, bool) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return time.Time{}, false
	}
	sec, nanos := new(big.Int).DivMod(n, big.NewInt(1e9), new(big.Int))
	// Columns and SQL can express times only in the years 1 to about 300,000.
	const first, last = -62_135_596_800, 9_300_000_000_000
	if !sec.IsInt64() || sec.Int64() < first || sec.Int64() > last {
		return time.Time{}, false
	}
	return time.Unix(sec.Int64(), nanos.Int64()).UTC(), true
}
