package tree

import "reflect"

// Own makes v, a shallow copy, a deep one: it copies what v refers to, as far as the visitor enters. What the visitor skips stays
// shared, as do values of types that into refuses. A pointer that occurs twice is copied once.
func Own(v reflect.Value, into func(reflect.Type) bool, visit Visitor) error {
	return (&owner{into: into, visit: visit, copies: map[referent]reflect.Value{}}).own(v, reflect.StructField{})
}

type owner struct {
	into   func(reflect.Type) bool
	visit  Visitor
	copies map[referent]reflect.Value // of pointers
}

func (o *owner) own(v reflect.Value, f reflect.StructField) error {
	if !o.into(v.Type()) {
		return nil
	}
	if err := o.visit(Node{Value: v, Type: v.Type(), Field: f}); err != nil {
		return unlessSkip(err)
	}
	switch k := v.Kind(); {
	case k == reflect.Struct:
		for f, in := range v.Fields() {
			if err := o.own(in, f); err != nil {
				return err
			}
		}
	case k == reflect.Array:
		return o.elements(v)
	case !v.CanSet() || v.IsZero():
	case k == reflect.Pointer:
		return o.pointer(v)
	case k == reflect.Interface:
		c, err := o.copied(v.Elem())
		v.Set(c)
		return err
	case k == reflect.Slice:
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		v.Set(c)
		return o.elements(c)
	case k == reflect.Map:
		return o.entries(v)
	}
	return nil
}

func (o *owner) pointer(v reflect.Value) error {
	s, _ := referentOf(v)
	if c, ok := o.copies[s]; ok {
		v.Set(c)
		return nil
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	o.copies[s] = c.Convert(v.Type())
	v.Set(o.copies[s])
	return o.own(c.Elem(), reflect.StructField{})
}

func (o *owner) elements(v reflect.Value) error {
	for i := 0; i < v.Len() && o.into(v.Type().Elem()); i++ {
		if err := o.own(v.Index(i), reflect.StructField{}); err != nil {
			return err
		}
	}
	return nil
}

func (o *owner) entries(v reflect.Value) error {
	c := reflect.MakeMapWithSize(v.Type(), v.Len())
	for key, in := range v.Seq2() {
		k, err := o.copied(key)
		if err != nil {
			return err
		}
		e, err := o.copied(in)
		if err != nil {
			return err
		}
		c.SetMapIndex(k, e)
	}
	v.Set(c)
	return nil
}

// copied returns a settable deep copy of a value that cannot be set.
func (o *owner) copied(v reflect.Value) (reflect.Value, error) {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c, o.own(c, reflect.StructField{})
}
