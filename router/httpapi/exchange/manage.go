package exchange

import (
	"fmt"
	"net/http"
	"strconv"
)

// Members returns the members of the JSON object for the answer, without braces.
type Members func(x *Exchange, r *http.Request) ([]byte, error)

// Manage returns a handler whose answer is a JSON object with the members that f returns and the time that the request
// took.
func Manage(f Members) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := Of(r)
		members, err := f(x, r)
		if err != nil {
			WriteError(w, r, err)
			return
		}
		millis := strconv.FormatInt(x.Millis(), 10)
		w.Header().Set(HeaderFormat, "svcdb_manage")
		w.Header().Set(HeaderExecutionTime, millis)
		if x.Tag != "" {
			w.Header().Set("ETag", x.Tag)
		}
		WriteJSON(w, http.StatusOK, fmt.Appendf(nil, `{%s,"execution_time_ms":%s}`, members, millis))
	}
}
