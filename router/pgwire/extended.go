package pgwire

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/router/pgwire/value"
)

// extended is the extended protocol: statements are prepared, bound to values in portals, and executed in parts.
type extended struct {
	exec *executor
	// skip is set after an error: messages are ignored until the next Sync.
	skip bool
}

// handle handles a message of the extended protocol. A returned error ends the connection.
func (x *extended) handle(kind byte, body []byte) error {
	var err error
	switch kind {
	case 'P':
		err = x.onParse(body)
	case 'B':
		err = x.onBind(body)
	case 'D':
		err = x.onDescribe(body)
	case 'E':
		err = x.onExecute(body)
	case 'C':
		err = x.onClose(body)
	}
	if err == nil {
		return nil
	}
	return x.fail(err)
}

// fail sends an error. Messages are then ignored until the next Sync.
func (x *extended) fail(err error) error {
	if ended := x.exec.failStatement(err, 0, ""); ended != nil {
		return ended
	}
	x.skip = true
	return nil
}

// sync handles Sync, the end of a group of messages.
func (x *extended) sync() {
	x.skip = false
	if x.exec.session.state == outside {
		x.exec.portals.closeAll(false)
	}
}

// malformed returns the error for a malformed message.
func malformed(kind string) *Error { return fatal("08P01", "malformed %s message", kind) }

func (x *extended) onParse(body []byte) error {
	var m pgproto3.Parse
	if m.Decode(body) != nil {
		return malformed("Parse")
	}
	if err := checkText(m.Query); err != nil {
		return err
	}
	if err := checkName(m.Name); err != nil {
		return err
	}
	if m.Name != "" && x.exec.prepared.has(m.Name) {
		return failure("42P05", "prepared statement %q already exists", excerpt(m.Name))
	}
	if err := x.exec.prepared.roomFor(m.Name); err != nil { // before the engine describes the statement
		return err
	}
	p, err := x.exec.describer.prepare(m.Query, m.ParameterOIDs)
	if err != nil {
		return err
	}
	if err := x.exec.prepared.keep(m.Name, p); err != nil {
		return err
	}
	x.exec.say.send(&pgproto3.ParseComplete{})
	return nil
}

func (x *extended) onBind(body []byte) error {
	var m pgproto3.Bind
	if !bindIsWhole(body) || m.Decode(body) != nil {
		return malformed("Bind")
	}
	p, err := x.exec.prepared.find(m.PreparedStatement)
	if err != nil {
		return err
	}
	if err := checkName(m.DestinationPortal); err != nil {
		return err
	}
	if err := x.exec.session.mayRun(p.cmd); err != nil {
		return err
	}
	if len(m.Parameters) != len(p.params) {
		return failure("08P01", "bind message supplies %d parameters, but prepared statement %q requires %d",
			len(m.Parameters), excerpt(m.PreparedStatement), len(p.params))
	}
	if n := len(m.ParameterFormatCodes); n > 1 && n != len(m.Parameters) {
		return failure("08P01", "bind message has %d parameter formats but %d parameters", n, len(m.Parameters))
	}
	formats, err := resultFormats(m.ResultFormatCodes, len(p.columns))
	if err != nil {
		return err
	}
	cmd, err := p.bindWire(m.Parameters, m.ParameterFormatCodes)
	if err != nil {
		return err
	}
	err = x.exec.portals.add(&portal{name: m.DestinationPortal, stmt: p, cmd: cmd, formats: formats, columns: p.columns})
	if err != nil {
		return err
	}
	x.exec.say.send(&pgproto3.BindComplete{})
	return nil
}

// bindIsWhole reports whether a Bind message contains both of its names.
func bindIsWhole(body []byte) bool {
	zeros := 0
	for _, b := range body {
		if b == 0 {
			if zeros++; zeros == 2 {
				return true
			}
		}
	}
	return false
}

// resultFormats checks the format codes for a result with n columns.
func resultFormats(codes []int16, n int) ([]value.Format, error) {
	if len(codes) > 1 && len(codes) != n {
		return nil, failure("08P01", "bind message has %d result formats but the query has %d columns", len(codes), n)
	}
	out := make([]value.Format, len(codes))
	for i, code := range codes {
		if code != 0 && code != 1 {
			return nil, failure("08P01", "unsupported format code: %d", code)
		}
		out[i] = value.Format(code)
	}
	return out, nil
}

// bindWire returns the command with the values of a Bind message in place of its parameters.
func (p *prepared) bindWire(values [][]byte, codes []int16) (*command, error) {
	if len(p.places) == 0 {
		return p.cmd, nil
	}
	literals := make([]string, len(values))
	for i, v := range values {
		format := int16(0)
		switch {
		case len(codes) == 1:
			format = codes[0]
		case len(codes) > 1:
			format = codes[i]
		}
		if format != 0 && format != 1 {
			return nil, failure("08P01", "unsupported format code: %d", format)
		}
		literal, err := p.literal(i, value.Format(format), v)
		if err != nil {
			e := asError(err, nil)
			e.Where = "unnamed portal parameter $" + itoa(int64(i+1))
			return nil, e
		}
		literals[i] = literal
	}
	return p.bind(literals)
}

// literal returns the SQL literal for the value of a parameter.
func (p *prepared) literal(i int, f value.Format, v []byte) (string, error) {
	if p.cmd.verb == "INSERT" && !p.computed[i+1] {
		stored, err := value.Store(p.params[i], f, v)
		return stored.SQL(), err
	}
	return value.Literal(p.params[i], f, v)
}

func (x *extended) onDescribe(body []byte) error {
	var m pgproto3.Describe
	if m.Decode(body) != nil {
		return malformed("Describe")
	}
	switch m.ObjectType {
	case 'S':
		p, err := x.exec.prepared.find(m.Name)
		if err != nil {
			return err
		}
		params := &pgproto3.ParameterDescription{ParameterOIDs: make([]uint32, len(p.params))}
		for i, t := range p.params {
			params.ParameterOIDs[i] = t.OID
		}
		x.exec.say.send(params)
		x.exec.say.columns(p.columns, nil)
	case 'P':
		p := x.exec.portals.byName[m.Name]
		if p == nil {
			return failure("34000", "portal %q does not exist", excerpt(m.Name))
		}
		x.exec.say.columns(p.columns, p.formats)
	default:
		return malformed("Describe")
	}
	return nil
}

func (x *extended) onExecute(body []byte) error {
	var m pgproto3.Execute
	if m.Decode(body) != nil {
		return malformed("Execute")
	}
	p := x.exec.portals.byName[m.Portal]
	if p == nil {
		return failure("34000", "portal %q does not exist", excerpt(m.Portal))
	}
	if err := p.begin(); err != nil {
		return err
	}
	if err := x.exec.session.mayRun(p.cmd); err != nil {
		return err
	}
	return x.execute(p, int64(max(int32(m.MaxRows), 0)))
}

func (x *extended) onClose(body []byte) error {
	var m pgproto3.Close
	if m.Decode(body) != nil {
		return malformed("Close")
	}
	switch m.ObjectType {
	case 'S':
		x.exec.prepared.forget(m.Name)
	case 'P':
		x.exec.portals.close(m.Name)
	default:
		return malformed("Close")
	}
	x.exec.say.send(&pgproto3.CloseComplete{})
	return nil
}

// execute runs or resumes a portal.
func (x *extended) execute(p *portal, most int64) error {
	if p.out == nil && !p.finished {
		x.exec.runner.long = most > 0
		out, err := x.exec.run(p.cmd)
		x.exec.runner.long = false
		if err != nil {
			err = p.cmd.inSource(err)
			p.began()
			p.finished = true
			return err
		}
		p.began()
		p.out = out
		if out.rows == nil || out.copyIn != nil || out.copyOut != nil {
			p.finished = true
			return x.exec.answer(out, p.formats, false)
		}
		out.rows.formats = p.formats
		if err := out.rows.matchTypes(p.columns, p.formats); err != nil {
			return out.rows.end(err)
		}
	} else if p.out == nil || p.out.rows == nil {
		return failure("55000", "portal %q cannot be run again", excerpt(p.name))
	}
	n, more, err := x.exec.portals.fetch(p, most)
	if err != nil {
		return err
	}
	if more {
		x.exec.say.send(&pgproto3.PortalSuspended{})
		return nil
	}
	x.exec.say.complete(p.out.tag, n)
	return nil
}

// matchTypes gives the rows the described types. It fails if the values cannot be sent as these types.
func (cur *cursor) matchTypes(described []column, formats []value.Format) error {
	if described == nil {
		return nil
	}
	if len(described) != len(cur.columns) {
		return failure("0A000", "cached plan must not change result type")
	}
	for i, d := range described {
		if !value.Fits(cur.columns[i].typ, d.typ, formatOf(formats, i)) {
			return failure("42804", "column %q is of type %s, and was described as %s", d.name, cur.columns[i].typ.Name,
				d.typ.Name).withHint("cast it, so that its type does not depend on the values of parameters")
		}
	}
	cur.columns = described
	return nil
}
