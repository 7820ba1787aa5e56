// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// handle makes a client comparable: controllers compare the reader that they are given with the clients that they have.
type handle struct{ client.WithWatch }

// Client returns a client of the present process that reads a cache, which is no request. truth is the store behind it.
func (g *Gate) Client(c, truth client.WithWatch) client.WithWatch {
	process, funcs := g.Process(), g.writers(truth)
	funcs.Get = func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
		if err := g.alive(process); err != nil {
			return err
		}
		return c.Get(ctx, key, object, options...)
	}
	funcs.List = func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if err := g.alive(process); err != nil {
			return err
		}
		return c.List(ctx, list, options...)
	}
	return &handle{interceptor.NewClient(c, funcs)}
}

// alive reports that a process has ended.
func (g *Gate) alive(process int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended || process != g.process {
		return errEnded
	}
	return nil
}

// Live returns a client of the present process whose reads are requests, too.
func (g *Gate) Live(c, truth client.WithWatch) client.WithWatch {
	process, funcs := g.Process(), g.writers(truth)
	funcs.Get = func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
		return g.Do(Request{Verb: "get", Object: describe(object, key), object: true}, process, func() error { return c.Get(ctx, key, object, options...) })
	}
	funcs.List = func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		return g.Do(Request{Verb: "list", Object: describe(list, client.ObjectKey{}), object: true}, process, func() error { return c.List(ctx, list, options...) })
	}
	return &handle{interceptor.NewClient(c, funcs)}
}

// writers are the writes of the present process.
func (g *Gate) writers(truth client.WithWatch) interceptor.Funcs {
	process := g.Process()
	write := func(verb string, object any, do func() error) error {
		return g.Do(Request{Verb: verb, Object: describeAny(object), Write: true, object: true}, process, do)
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return write("create", object, func() error { return c.Create(ctx, object, options...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			return write("update", object, func() error { return c.Update(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return write("patch", object, func() error { return c.Patch(ctx, object, patch, options...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return write("apply", object, func() error { return c.Apply(ctx, object, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return g.delete(ctx, process, c, truth, object, options)
		},
		DeleteAllOf: func(context.Context, client.WithWatch, client.Object, ...client.DeleteAllOfOption) error {
			return errors.New("a deletion of whatever there is")
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, object client.Object, options ...client.SubResourceUpdateOption) error {
			return write("update "+name, object, func() error { return c.SubResource(name).Update(ctx, object, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return write("patch "+name, object, func() error { return c.SubResource(name).Patch(ctx, object, patch, options...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, name string, object runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			return write("apply "+name, object, func() error { return c.SubResource(name).Apply(ctx, object, options...) })
		},
	}
}

// delete sends a deletion, and records which object it was meant for and which one it hit.
func (g *Gate) delete(ctx context.Context, process int, c, truth client.WithWatch, object client.Object, options []client.DeleteOption) error {
	r := Request{Verb: "delete", Object: describe(object, client.ObjectKeyFromObject(object)), Write: true, object: true}
	if p := (&client.DeleteOptions{}).ApplyOptions(options).Preconditions; p != nil && p.UID != nil {
		r.Intended = string(*p.UID)
	}
	r.recreate = func() { g.recreate(ctx, truth, object) }
	return g.Do(r, process, func() error {
		// The identity of what is there is that of what is deleted: nothing else happens in between.
		there, err := typed(truth, object)
		if err != nil {
			return err
		}
		found := truth.Get(ctx, client.ObjectKeyFromObject(object), there) == nil
		if err := c.Delete(ctx, object, options...); err != nil {
			return err
		}
		if found {
			g.struck(process, r.Object, string(there.GetUID()))
		}
		return nil
	})
}

// struck records what the last deletion of an object hit.
func (g *Gate) struck(process int, object, uid string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := len(g.log) - 1; i >= 0; i-- {
		if r := &g.log[i]; r.Verb == "delete" && r.Object == object && r.Process == process {
			r.Hit = uid
			return
		}
	}
}

// stranger is an object of another client, which must remain.
type stranger struct {
	truth  client.WithWatch
	object client.Object
}

// recreate replaces an object by one of another client with the same name: it has neither labels nor annotations, owners, or status.
func (g *Gate) recreate(ctx context.Context, truth client.WithWatch, object client.Object) {
	found, err := typed(truth, object)
	if err != nil || truth.Get(ctx, client.ObjectKeyFromObject(object), found) != nil {
		return
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(found)
	if err != nil {
		return
	}
	found.SetFinalizers(nil)
	if found.GetDeletionTimestamp().IsZero() {
		if err := truth.Update(ctx, found); err != nil {
			return
		}
		err = truth.Delete(ctx, found)
	} else {
		err = truth.Update(ctx, found)
	}
	if err != nil {
		return
	}
	delete(content, "status")
	other, _ := typed(truth, object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, other); err != nil {
		return
	}
	reflect.ValueOf(other).Elem().FieldByName("ObjectMeta").Set(reflect.ValueOf(
		metav1.ObjectMeta{Namespace: found.GetNamespace(), Name: found.GetName(), UID: found.GetUID() + "-of-another"}))
	if err := truth.Create(ctx, other); err != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.strangers = append(g.strangers, stranger{truth, other})
}

// typed returns an empty object of the kind of one, which may be metadata only.
func typed(c client.WithWatch, object client.Object) (client.Object, error) {
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return nil, err
	}
	made, err := c.Scheme().New(kind)
	if err != nil {
		return nil, err
	}
	return made.(client.Object), nil
}

// describe returns the kind and the name of an object.
func describe(object runtime.Object, key client.ObjectKey) string {
	kind := fmt.Sprintf("%T", object)
	kind = kind[strings.LastIndex(kind, ".")+1:]
	if named := object.GetObjectKind().GroupVersionKind().Kind; strings.HasPrefix(kind, "PartialObjectMetadata") && named != "" {
		kind = named
	}
	return strings.TrimSpace(kind + " " + strings.TrimPrefix(key.String(), "/"))
}

// describeAny is describe for apply configurations, too.
func describeAny(object any) string {
	if o, ok := object.(client.Object); ok {
		return describe(o, client.ObjectKeyFromObject(o))
	}
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Sprintf("%T", object)
	}
	m := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(text, m); err != nil {
		return fmt.Sprintf("%T", object)
	}
	return describe(m, client.ObjectKeyFromObject(m))
}

// Objects returns the UIDs of all objects of some kinds, which lists of them select.
func Objects(t testing.TB, c client.Reader, lists ...client.ObjectList) Inventory {
	t.Helper()
	found := Inventory{}
	for _, list := range lists {
		if err := c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			found[describe(item, client.ObjectKeyFromObject(object))] = string(object.GetUID())
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return found
}
