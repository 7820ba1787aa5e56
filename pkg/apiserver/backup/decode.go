// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Object is one line of a file, understood.
type Object struct {
	Line     int
	Resource Resource
	Object   runtime.Object
	Meta     metav1.Object
	// Key is where it belongs in storage.
	Key string
}

// String names the object and its line.
func (o Object) String() string {
	name := o.Meta.GetName()
	if namespace := o.Meta.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("line %d: %s %q", o.Line, o.Resource.Kind, name)
}

// Problems are what is wrong with the lines of a file.
type Problems struct {
	// Broken are lines that cannot be imported at all.
	Broken []error
	// Invalid are objects that can be read, but that creation would reject today, with the fields.
	Invalid []error
}

// Decode reads the objects of a file. Every line that has a problem is named.
func Decode(ctx context.Context, file *File, resources []Resource) ([]Object, Problems) {
	d := decoder{resources: map[schema.GroupVersionKind]Resource{}, keys: map[string]int{}, uids: map[types.UID]int{}}
	for _, resource := range resources {
		d.resources[resource.GroupVersionKind] = resource
	}
	counts := map[schema.GroupVersionKind]int{}
	var objects []Object
	for i, line := range file.Lines {
		object, err := d.decode(ctx, i+2, line)
		if err != nil {
			d.problems.Broken = append(d.problems.Broken, err)
			continue
		}
		counts[object.Resource.GroupVersionKind]++
		objects = append(objects, object)
		for _, err := range object.Resource.validate(ctx, object.Meta.GetNamespace(), object.Object) {
			d.problems.Invalid = append(d.problems.Invalid, fmt.Errorf("%s: %w", object, err))
		}
	}
	for _, want := range file.Header.Resources {
		if got := counts[want.GroupVersionKind()]; len(d.problems.Broken) == 0 && got != want.Objects {
			d.problems.Broken = append(d.problems.Broken,
				fmt.Errorf("the file has %d objects of %s.%s, its first line specifies %d", got, want.Resource, want.Group, want.Objects))
		}
	}
	return objects, d.problems
}

// decoder remembers what earlier lines had.
type decoder struct {
	resources map[schema.GroupVersionKind]Resource
	keys      map[string]int
	uids      map[types.UID]int
	problems  Problems
}

func (d *decoder) decode(ctx context.Context, line int, data []byte) (Object, error) {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(data, &kind); err != nil {
		return Object{}, fmt.Errorf("line %d: %w", line, err)
	}
	gvk := kind.GroupVersionKind()
	resource, known := d.resources[gvk]
	if !known {
		return Object{}, fmt.Errorf("line %d: a %s of %s is nothing that this server stores", line, gvk.Kind, gvk.GroupVersion())
	}
	obj, _, err := resource.Decoder.Decode(data, nil, nil)
	if err != nil {
		return Object{}, fmt.Errorf("line %d: %w", line, err)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return Object{}, fmt.Errorf("line %d: %w", line, err)
	}
	object := Object{Line: line, Resource: resource, Object: obj, Meta: m}
	if object.Key, err = resource.storageKey(ctx, m.GetNamespace(), m.GetName()); err != nil {
		return Object{}, fmt.Errorf("%s: metadata.name, metadata.namespace: %w", object, err)
	}
	return object, d.check(object)
}

// check checks what storage needs and the API always has.
func (d *decoder) check(object Object) error {
	m := object.Meta
	switch namespaced := object.Resource.Store.CreateStrategy.NamespaceScoped(); {
	case m.GetUID() == "":
		return fmt.Errorf("%s: metadata.uid: it has none", object)
	case m.GetCreationTimestamp().Time.IsZero():
		return fmt.Errorf("%s: metadata.creationTimestamp: it has none", object)
	case namespaced != (m.GetNamespace() != ""):
		return fmt.Errorf("%s: metadata.namespace: %w", object,
			errors.New(map[bool]string{true: "it has none", false: "objects of this kind live in no namespace"}[namespaced]))
	}
	if other, twice := d.keys[object.Key]; twice {
		return fmt.Errorf("%s: it is on line %d too", object, other)
	}
	if other, twice := d.uids[m.GetUID()]; twice {
		return fmt.Errorf("%s: metadata.uid: the object on line %d has it too", object, other)
	}
	d.keys[object.Key], d.uids[m.GetUID()] = object.Line, object.Line
	return nil
}
