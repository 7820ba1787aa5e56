// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package applied

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// elementKeys are the lists of the desired state whose elements are merged by a key. All others are replaced as a whole.
var elementKeys = map[string]string{"nodePools": "name"}

// element is a step of a path: the element of a list that has a value of a key.
type element struct{ key, value string }

// form is a manifest beside what it becomes when it is stored.
type form struct {
	manifest map[string]any
	// omitted are the paths of empty values that the stored form does not have.
	omitted [][]any
	// spelled are the values that are stored in another form: scalars, and lists that are replaced as a whole.
	spelled []spelling
}

// spelling is the path of a value and its stored form.
type spelling struct {
	path   []any
	stored any
}

// formOf compares a manifest with its stored form. The object is an empty one of its kind. It returns nil for a manifest that has
// unknown fields or values of other types: the library rejects it, or warns.
func formOf(manifest map[string]any, object runtime.Object, setDefaults func(runtime.Object)) *form {
	if runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(manifest, object, true) != nil {
		return nil
	}
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil
	}
	setDefaults(object)
	stored, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil
	}
	f := &form{manifest: manifest}
	f.compare(nil, manifest, written, stored)
	return f
}

// compare collects what is omitted below a path: written is the form without defaults, stored the one with them.
func (f *form) compare(path []any, manifest, written, stored map[string]any) {
	for name, value := range manifest {
		at := append(slices.Clone(path), name)
		if _, ok := written[name]; !ok {
			if isEmpty(value) {
				f.omitted = append(f.omitted, at)
			}
			continue
		}
		switch value := value.(type) {
		case map[string]any:
			below, ok := written[name].(map[string]any)
			withDefaults, there := stored[name].(map[string]any)
			if ok && there {
				f.compare(at, value, below, withDefaults)
			}
		case []any:
			f.compareList(at, value, written[name], stored[name])
		default:
			f.spell(at, value, stored[name])
		}
	}
}

func (f *form) spell(path []any, manifest, stored any) {
	if !reflect.DeepEqual(manifest, stored) {
		f.spelled = append(f.spelled, spelling{path, stored})
	}
}

func (f *form) compareList(path []any, manifest []any, written, stored any) {
	key, merged := elementKeys[path[len(path)-1].(string)]
	if !merged {
		f.spell(path, manifest, stored)
		return
	}
	below, _ := written.([]any)
	withDefaults, _ := stored.([]any)
	if len(below) != len(manifest) || len(withDefaults) != len(manifest) {
		return
	}
	for i := range manifest {
		each, ok := manifest[i].(map[string]any)
		value, named := each[key].(string)
		if ok && named {
			f.compare(append(slices.Clone(path), element{key, value}), each, below[i].(map[string]any), withDefaults[i].(map[string]any))
		}
	}
}

// isEmpty reports whether a value of JSON is the zero value of its type.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	default:
		return reflect.ValueOf(value).IsZero()
	}
}

// differs reports whether the manifest and its stored form differ.
func (f *form) differs() bool { return len(f.omitted) > 0 || len(f.spelled) > 0 }

// adopt changes the manifest where it means what is stored already. The object is the stored one, nil when it does not exist yet.
// An empty value that resets what another manager has set remains, and conflicts with that manager.
func (f *form) adopt(object runtime.Object, setDefaults func(runtime.Object)) (changed bool) {
	if object == nil {
		for _, path := range f.omitted {
			remove(f.manifest, path)
		}
		return len(f.omitted) > 0
	}
	stored, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return false
	}
	reset, err := f.reset(object, setDefaults)
	if err != nil {
		return false
	}
	for _, path := range f.omitted {
		now, isSet := lookup(stored, path)
		after, staysSet := lookup(reset, path)
		if isSet == staysSet && reflect.DeepEqual(now, after) {
			remove(f.manifest, path)
			changed = true
		}
	}
	for _, value := range f.spelled {
		if now, ok := lookup(stored, value.path); ok && reflect.DeepEqual(now, value.stored) {
			set(f.manifest, value.path, now)
			changed = true
		}
	}
	return changed
}

// reset returns the stored object without the values that the manifest has empty, but with their defaults.
func (f *form) reset(object runtime.Object, setDefaults func(runtime.Object)) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	for _, path := range f.omitted {
		remove(content, path)
	}
	without := reflect.New(reflect.TypeOf(object).Elem()).Interface().(runtime.Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, without); err != nil {
		return nil, err
	}
	setDefaults(without)
	return runtime.DefaultUnstructuredConverter.ToUnstructured(without)
}

// parent returns the map that has the last step of a path, nil when there is none.
func parent(object map[string]any, path []any) (map[string]any, string) {
	var at any = object
	for _, step := range path[:len(path)-1] {
		switch step := step.(type) {
		case string:
			fields, _ := at.(map[string]any)
			at = fields[step]
		case element:
			list, _ := at.([]any)
			at = nil
			for _, each := range list {
				if fields, ok := each.(map[string]any); ok && fields[step.key] == step.value {
					at = fields
				}
			}
		}
	}
	fields, _ := at.(map[string]any)
	name, _ := path[len(path)-1].(string)
	return fields, name
}

func lookup(object map[string]any, path []any) (any, bool) {
	fields, name := parent(object, path)
	value, ok := fields[name]
	return value, ok
}

func remove(object map[string]any, path []any) {
	fields, name := parent(object, path)
	delete(fields, name)
}

func set(object map[string]any, path []any, value any) {
	if fields, name := parent(object, path); fields != nil {
		fields[name] = value
	}
}
