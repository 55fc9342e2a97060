package pipeline

import (
	"bytes"
	"slices"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/vrl/value"
)

// flattening has the data of storeFlat.
type flattening struct {
	names  []byte
	prefix []byte
	leaves []flatLeaf
	dotted bool // a key contains a dot, so two leaves may have the same name
}

// flatLeaf is a value with its flattened name.
type flatLeaf struct {
	name, end int // in flattening.names
	value     value.Value
	isTime    bool // whether it is the custom time index
}

func (f *flattening) name(l *flatLeaf) []byte { return f.names[l.name:l.end] }

// storeFlat writes the fields of an object like svc_identity: objects are flattened, arrays and objects nested too
// deep become texts, and fields with equal names are an error.
func (r *runner) storeFlat(d *dest, o *value.Fields, row int) error {
	f := &r.flat
	r.timeSet = false
	f.names, f.prefix, f.leaves, f.dotted = f.names[:0], f.prefix[:0], f.leaves[:0], false
	if err := r.flatten(d, o, 1); err != nil {
		return err
	}
	if f.dotted {
		if err := f.findCollision(); err != nil {
			return err
		}
	}
	for i := range f.leaves {
		l := &f.leaves[i]
		if !r.conv.auto(&r.auto, l.value) {
			continue
		}
		if r.conv.loss != lossNone {
			r.noteLoss(r.conv.loss, "")
		}
		if r.auto.kind == kindJSON {
			r.auto.kind = kindText
		}
		if l.isTime {
			if err := r.setTime(&r.auto); err != nil {
				return err
			}
			continue
		}
		col, err := d.column(f.name(l), r.auto.kind.columnType())
		if err != nil {
			return err
		}
		if err := d.store(col, row, &r.auto); err != nil {
			return err
		}
	}
	t, err := r.rowTime()
	if err != nil {
		return err
	}
	return d.end(t)
}

// flatten lists the leaves of an object at a level. f.prefix has the object's name and a dot.
func (r *runner) flatten(d *dest, o *value.Fields, level int) error {
	f := &r.flat
	prefix := len(f.prefix)
	fields := o.Peek()
	for i := range fields {
		key, v := fields[i].Key, fields[i].Value
		isObject := v.Kind() == value.Object && level < r.req.MaxNestedLevels
		if v.IsNull() || level == 1 && !isObject && variableOf(bytesOf(key)) >= 0 {
			continue
		}
		f.dotted = f.dotted || strings.IndexByte(key, '.') >= 0
		short := prefix+len(key) <= schema.MaxColumnNameBytes
		f.prefix = append(f.prefix[:prefix], key...)
		if isObject && (!short || d.kindOf(f.prefix) != jsonKey) {
			f.prefix = append(f.prefix, '.')
			if err := r.flatten(d, v.Object(), level+1); err != nil {
				return err
			}
			continue
		}
		if !short {
			return checkFieldName(string(f.prefix))
		}
		kind := d.kindOf(f.prefix)
		if kind == droppedKey {
			r.top().notes.replaced++
			continue
		}
		from := len(f.names)
		if f.names = append(f.names, f.prefix...); len(f.names) > max(maxNames, r.req.MaxColumns*schema.MaxColumnNameBytes) {
			return &kindError{SkipLimit, errs.New(errs.InvalidArguments, "the names of its %d fields take more than %d bytes",
				len(f.leaves), maxNames)}
		}
		f.leaves = append(f.leaves, flatLeaf{name: from, end: len(f.names), value: v, isTime: kind == timeKey})
	}
	return nil
}

// findCollision returns an error if two leaves have the same name.
func (f *flattening) findCollision() error {
	order := make([]int, len(f.leaves))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return bytes.Compare(f.name(&f.leaves[a]), f.name(&f.leaves[b])) })
	for k := 1; k < len(order); k++ {
		if name := f.name(&f.leaves[order[k]]); bytes.Equal(name, f.name(&f.leaves[order[k-1]])) {
			return collision(name)
		}
	}
	return nil
}
