package value

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// shaped returns an object with a shape of the space.
func shaped(s *Space) *Fields {
	o := &Fields{}
	o.Fill(s.Empty(), nil)
	return o
}

// checkFields fails if o does not have exactly the fields of want, in the order of the keys.
func checkFields(t *testing.T, o *Fields, want map[string]int64) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(want))
	if o.Len() != len(keys) || Size(o.Value(), 1<<20) != len(keys)+1 {
		t.Fatalf("%d fields of size %d, want %d", o.Len(), Size(o.Value(), 1<<20), len(keys))
	}
	for i, key := range keys {
		v, ok := o.PeekGet(key)
		at, found := o.Find(key)
		if o.Key(i) != key || o.PeekAt(i).Int() != want[key] || !ok || v.Int() != want[key] || at != i || !found {
			t.Fatalf("field %d is %q: %v, %v %v at %d; want %q: %d", i, o.Key(i), o.PeekAt(i), ok, v, at, key, want[key])
		}
	}
	if h := o.Shape(); h != nil {
		unused := len(h.keys) - len(h.order)
		if unused > len(h.order) && !h.space.Full() {
			t.Fatalf("%d of %d slots are unused", unused, len(h.keys))
		}
		for slot, v := range o.vals {
			if !slices.Contains(h.order, int32(slot)) && !v.IsNull() {
				t.Fatalf("the unused slot %d has the value %v", slot, v)
			}
		}
		if len(o.vals) != len(h.keys) {
			t.Fatalf("%d values for %d slots", len(o.vals), len(h.keys))
		}
	}
}

// TestShapesAgainstMap changes objects in both forms at random, and compares them with a map after each change.
func TestShapesAgainstMap(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	space := &Space{}
	var gets, sets, dels [30]Cache
	stayed := 0
	for round := range 3000 {
		if space.Full() {
			space.Clear()
		}
		v, want := shaped(space).Value(), map[string]int64{}
		for range r.IntN(60) {
			k := r.IntN(1 + round%30)
			key := fmt.Sprintf("%c%d", 'a'+k%5, k)
			o := v.MutObject()
			switch x := r.Int64(); r.IntN(13) {
			case 0, 1, 2:
				o.SetCached(key, NewInt(x), &sets[k])
				want[key] = x
			case 3, 4:
				o.Set(key, NewInt(x))
				want[key] = x
			case 5, 6:
				old, ok := o.DeleteCached(key, &dels[k])
				if _, had := want[key]; ok != had || had && old.Int() != want[key] {
					t.Fatalf("deleting %q: %v %v, want %d", key, old, ok, want[key])
				}
				delete(want, key)
			case 7:
				old, ok := Remove(&v, Path{Name(key)}, false)
				if _, had := want[key]; ok != had || had && old.Int() != want[key] {
					t.Fatalf("removing %q: %v %v, want %d", key, old, ok, want[key])
				}
				delete(want, key)
			case 8:
				if got, ok := o.PeekCached(key, &gets[k]); ok && got.Int() != want[key] {
					t.Fatalf("%q is %v, want %d", key, got, want[key])
				} else if _, had := want[key]; had != ok {
					t.Fatalf("%q: %v, want %v", key, ok, had)
				}
			case 9:
				before := v.Share()
				v.MutObject().Set("new", NewInt(1))
				checkFields(t, before.Object(), want)
				delete(want, "new")
				v.MutObject().Delete("new")
			case 10:
				if r.IntN(20) == 0 {
					v.Object().Peek() // makes a list
				}
			case 11:
				if !v.SetField(NewInt(x), &sets[k]) {
					v.MutObject().SetCached(key, NewInt(x), &sets[k])
				}
				want[key] = x
			case 12:
				if got := v.PeekField(key, &gets[k]); got.Int() != want[key] {
					t.Fatalf("%q is %v, want %d", key, got, want[key])
				}
			}
			checkFields(t, v.Object(), want)
		}
		if v.Object().Shape() != nil {
			stayed++
		}
	}
	if stayed < 1000 {
		t.Errorf("only %d of 3,000 objects kept a shape", stayed)
	}
}

func TestShapesAreShared(t *testing.T) {
	space := &Space{}
	a, b := shaped(space), shaped(space)
	for _, key := range []string{"x", "b", "m"} {
		a.Set(key, NewInt(1))
		b.Set(key, NewInt(2))
	}
	if a.Shape() != b.Shape() || a.Shape() == nil {
		t.Error("objects with the same keys in the same order have different shapes")
	}
	shape := a.Shape()
	a.Set("tmp", NewInt(3))
	a.Delete("tmp")
	if a.Shape() != shape {
		t.Error("adding a key and removing it leads to another shape")
	}
	for range 10_000 {
		a.Set("tmp", NewInt(3))
		a.Set("x", NewInt(4))
		a.Delete("tmp")
	}
	if a.Shape() != shape || len(space.shapes) > 10 {
		t.Errorf("a loop has made %d shapes", len(space.shapes))
	}
}

func TestCopySharesItsContainers(t *testing.T) {
	o := shaped(&Space{})
	o.Set("in", ObjectOf(Field{"x", NewInt(1)}))
	v := o.Value().Share()
	copied := v
	in, _ := copied.MutObject().PeekGet("in")
	in.MutObject().Set("x", NewInt(2))
	old, _ := v.Object().PeekGet("in")
	if x, _ := old.Object().PeekGet("x"); x.Int() != 1 {
		t.Errorf("a change of the copy made x %d in the original", x.Int())
	}
}

func TestFreezeMakesAList(t *testing.T) {
	o := shaped(&Space{})
	o.Set("a", shaped(&Space{}).Value())
	v := o.Value().Freeze()
	inner, _ := v.Object().PeekGet("a")
	if v.Object().Shape() != nil || inner.Object().Shape() != nil {
		t.Error("a frozen object has a shape: other goroutines may make it a list")
	}
}

func TestKeysDoNotReferToTheRequest(t *testing.T) {
	body := strings.Repeat("k", 10)
	o := shaped(&Space{})
	o.Set(body, NewInt(1))
	if unsafe.StringData(o.Key(0)) == unsafe.StringData(body) {
		t.Error("the shape keeps the memory of the key that it was given")
	}
}

// TestKeysMayChangeLater overwrites the memory of a key, as the receiver of the next request does.
func TestKeysMayChangeLater(t *testing.T) {
	space := &Space{}
	body := []byte("key")
	key := NewBytes(body).Str()
	for _, k := range []string{key, "other", key} {
		o := shaped(space)
		o.Set(k, NewInt(1))
		o.Set("b", NewInt(2))
		o.Delete(k)
	}
	copy(body, "new")
	o := shaped(space)
	o.Set("new", NewInt(3))
	o.Set("b", NewInt(4))
	checkFields(t, o, map[string]int64{"new": 3, "b": 4})
	o.Delete("new")
	checkFields(t, o, map[string]int64{"b": 4})
}

func TestShapeLimits(t *testing.T) {
	t.Run("transitions", func(t *testing.T) {
		space := &Space{}
		for i := range 2 * maxTransitions {
			shaped(space).Set(fmt.Sprint(i), NewInt(1))
		}
		if n := len(space.shapes); n != maxTransitions+1 {
			t.Errorf("%d shapes", n)
		}
	})
	t.Run("width", func(t *testing.T) {
		o, want := shaped(&Space{}), map[string]int64{}
		for i := range int64(2 * maxShapeWidth) {
			o.Set(fmt.Sprint(i), NewInt(i))
			want[fmt.Sprint(i)] = i
			if wide := i >= maxShapeWidth; (o.Shape() == nil) != wide {
				t.Fatalf("with %d keys the shape is %v", i+1, o.Shape())
			}
		}
		checkFields(t, o, want)
	})
	t.Run("shapes", func(t *testing.T) {
		space := &Space{}
		r := rand.New(rand.NewPCG(1, 1))
		for range 200_000 {
			o, want := shaped(space), map[string]int64{}
			for range 30 {
				k := r.Int64N(200)
				o.Set(fmt.Sprint(k), NewInt(k))
				want[fmt.Sprint(k)] = k
			}
			checkFields(t, o, want)
			if space.Full() {
				break
			}
		}
		if !space.Full() || len(space.shapes) > maxShapes || space.keys > maxShapeKeys+maxShapeWidth {
			t.Fatalf("%d shapes with %d keys", len(space.shapes), space.keys)
		}
		// What has a shape can still be changed.
		o := shaped(space)
		o.Set("not seen before", NewInt(1))
		checkFields(t, o, map[string]int64{"not seen before": 1})
	})
	t.Run("bytes", func(t *testing.T) {
		space := &Space{}
		for i := range 100 {
			shaped(space).Set(strings.Repeat("k", 1<<16)+fmt.Sprint(i), NewInt(1))
		}
		if size := space.Size(); size > maxShapeBytes+1<<17 {
			t.Errorf("%d bytes", size)
		}
	})
}

// TestSetFieldLeavesSharedObjects sets a field of an object that another value refers to.
func TestSetFieldLeavesSharedObjects(t *testing.T) {
	space := &Space{}
	var c Cache
	o := shaped(space)
	o.SetCached("a", NewInt(1), &c)
	v := o.Value()
	o = shaped(space)
	o.SetCached("a", NewInt(2), &c)
	if v.Share(); v.SetField(NewInt(3), &c) || v.PeekField("a", &Cache{}).Int() != 1 {
		t.Error("a shared object was changed")
	}
	if w := NewInt(5); w.SetField(NewInt(3), &c) || !w.PeekField("a", &Cache{}).IsNull() {
		t.Error("an integer has a field")
	}
}

// TestReuse fills an object again. Forget must leave none of the values of any use.
func TestReuse(t *testing.T) {
	space := &Space{}
	o := shaped(space)
	for i := range 10 {
		o.Set(fmt.Sprint("k", i), NewString("text"))
	}
	o.Value().Share()
	o.Reuse()
	if o.Len() != 0 || o.Value().Shared() {
		t.Fatalf("%d fields are left; shared: %v", o.Len(), o.Value().Shared())
	}
	o.Fill(space.Empty(), o.Room())
	o.Set("x", NewInt(1))
	checkFields(t, o, map[string]int64{"x": 1})
	o.Forget()
	for i, v := range o.vals[:cap(o.vals)] {
		if !v.IsNull() {
			t.Errorf("slot %d still has %v", i, v)
		}
	}
}
