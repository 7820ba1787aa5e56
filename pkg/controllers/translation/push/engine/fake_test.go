// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// fakeKind describes how the fake network treats a kind.
type fakeKind struct {
	parent                              string
	scoped, single                      bool
	updatable, ordered, doubles, listed bool
}

// fakeKinds returns the kinds: a Box is like a bridge, a Table like a chain, a Seat like the place of a host in a tunnel zone, a
// Plug like the binding of a port.
func fakeKinds() map[string]fakeKind {
	return map[string]fakeKind{
		"Zone":  {updatable: true},
		"Seat":  {parent: "Zone", scoped: true, listed: true},
		"Table": {listed: true},
		"Rule":  {parent: "Table", ordered: true, doubles: true, listed: true},
		"Pad":   {listed: true},
		"Box":   {updatable: true, listed: true},
		"Port":  {parent: "Box", updatable: true, listed: true},
		"Route": {parent: "Box", doubles: true, listed: true},
		"Plug":  {scoped: true, listed: true, parent: "Host"},
		"Link":  {parent: "Port", scoped: true, single: true},
	}
}

// fakeBody is the body of every kind. Needs are keys in the form Kind/id, or aliases.
type fakeBody struct {
	ID    string   `json:"id,omitempty"`
	V     int      `json:"v"`
	Needs []string `json:"needs,omitempty"`
	Slots []string `json:"slots,omitempty"`
	Alias string   `json:"alias,omitempty"`
}

type fakeObject struct {
	backend.Observed
	needs   []backend.Key
	aliases []backend.Key
	slots   []string
}

// fakeBackend is a network in memory. Like a real one, it rejects invalid requests, and deletes the dependents of a deleted
// resource.
type fakeBackend struct {
	kinds map[string]fakeKind

	mu      sync.Mutex
	objects map[backend.Key]*fakeObject
	// lists are the keys of each collection, in order.
	lists map[backend.Collection][]backend.Key
	// quiet disables the log and the check of slots, for benchmarks.
	quiet bool
	// calls counts by operation; rejected has each call that failed without an injected fault.
	calls map[string]int
	log   []string
	// claimed has the Claim for which each update and deletion was called, and each comparison.
	claimed  []string
	rejected []string
	// cascaded are the objects that were deleted together with a dependency.
	cascaded []string
	// before and after are called with each call, outside of mu: an error of before prevents it, one of after replaces its
	// response.
	before, after func(op string, key backend.Key) error
}

func newFake() *fakeBackend {
	return &fakeBackend{
		kinds: fakeKinds(), objects: map[backend.Key]*fakeObject{}, lists: map[backend.Collection][]backend.Key{}, calls: map[string]int{},
	}
}

func parseKey(s string) backend.Key {
	kind, id, ok := strings.Cut(s, "/")
	if !ok {
		return backend.Key{Kind: "alias", ID: s}
	}
	return backend.Key{Kind: kind, ID: id}
}

func (f *fakeBackend) Resolve(item backend.Item) (backend.Resource, error) {
	kind, ok := f.kinds[item.Kind]
	if !ok {
		return backend.Resource{}, fmt.Errorf("kind %q: %w", item.Kind, backend.ErrUnknownKind)
	}
	var body fakeBody
	if err := json.Unmarshal([]byte(item.Body), &body); err != nil {
		return backend.Resource{}, fmt.Errorf("body: %w", err)
	}
	if (kind.parent == "") != (item.Parent == "") {
		return backend.Resource{}, fmt.Errorf("parent: %q is no parent of a %s", item.Parent, item.Kind)
	}
	if (body.ID == "") != kind.single {
		return backend.Resource{}, fmt.Errorf("body: id is missing")
	}
	r := backend.Resource{
		Ref: f.ref(item.Kind, item.Parent, body.ID), Body: json.RawMessage(item.Body), Slots: body.Slots,
		Ordered: kind.ordered, Updatable: kind.updatable, Doubles: kind.doubles,
	}
	if kind.parent != "" && kind.parent != "Host" {
		r.Needs = append(r.Needs, backend.Key{Kind: kind.parent, ID: item.Parent})
	}
	for _, need := range body.Needs {
		r.Needs = append(r.Needs, parseKey(need))
	}
	if body.Alias != "" {
		r.Aliases = []backend.Key{parseKey(body.Alias)}
	}
	return r, nil
}

func (f *fakeBackend) ref(kind, parent, id string) backend.Ref {
	ref := backend.Ref{Key: backend.Key{Kind: kind, ID: id}, Parent: parent}
	if f.kinds[kind].scoped {
		ref.Scope = parent
	}
	return ref
}

func (f *fakeBackend) Locate(kind, parent, id string) (backend.Ref, error) {
	k, ok := f.kinds[kind]
	if !ok {
		return backend.Ref{}, backend.ErrUnknownKind
	}
	if (id == "") != k.single || (k.parent == "") != (parent == "") {
		return backend.Ref{}, fmt.Errorf("%s %q under %q cannot be", kind, id, parent)
	}
	return f.ref(kind, parent, id), nil
}

// call counts a call, runs fn unless a fault is injected before, and records a rejection.
func (f *fakeBackend) call(ctx context.Context, op string, key backend.Key, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	f.calls[op]++
	if !f.quiet {
		f.log = append(f.log, op+" "+key.String())
	}
	before, after := f.before, f.after
	f.mu.Unlock()
	if before != nil {
		if err := before(op, key); err != nil {
			return err
		}
	}
	f.mu.Lock()
	err := fn()
	if err != nil {
		f.rejected = append(f.rejected, op+" "+key.String()+": "+err.Error())
	}
	f.mu.Unlock()
	if after != nil {
		if err := after(op, key); err != nil {
			return err
		}
	}
	return err
}

func fail(reason backend.Reason, format string, args ...any) error {
	return &backend.Error{Reason: reason, Code: 400 + int(reason), Message: fmt.Sprintf(format, args...)}
}

func (f *fakeBackend) Create(ctx context.Context, r backend.Resource, position int) error {
	return f.call(ctx, "create", r.Key, func() error { return f.create(r, position) })
}

func (f *fakeBackend) create(r backend.Resource, position int) error {
	if err := f.admit(r); err != nil {
		return err
	}
	if f.objects[r.Key] != nil {
		return fail(backend.Conflict, "%s exists", r.Key)
	}
	c := f.collectionOf(r.Ref)
	list := f.lists[c]
	at := len(list)
	if f.kinds[r.Kind].ordered {
		if position < 1 || position > len(list)+1 {
			return fail(backend.Refused, "position %d of %s is beyond the end", position, r.Key)
		}
		at = position - 1
	} else if position != 0 {
		return fail(backend.Refused, "%s has no position", r.Key)
	}
	f.lists[c] = slices.Insert(list, at, r.Key)
	f.put(r)
	return nil
}

// admit rejects a resource with a missing dependency or an occupied slot.
func (f *fakeBackend) admit(r backend.Resource) error {
	for _, need := range r.Needs {
		if !f.present(need) {
			return fail(backend.NotFound, "%s that %s needs does not exist", need, r.Key)
		}
	}
	if f.quiet {
		return nil
	}
	for key, o := range f.objects {
		for _, slot := range o.slots {
			if key != r.Key && slices.Contains(r.Slots, slot) {
				return fail(backend.Conflict, "%s has %s", key, slot)
			}
		}
	}
	return nil
}

func (f *fakeBackend) present(key backend.Key) bool {
	if f.objects[key] != nil {
		return true
	}
	if key.Kind == "alias" {
		for _, o := range f.objects {
			if slices.Contains(o.aliases, key) {
				return true
			}
		}
	}
	return false
}

func (f *fakeBackend) put(r backend.Resource) {
	f.objects[r.Key] = &fakeObject{
		Observed: backend.Observed{Ref: r.Ref, Body: slices.Clone(r.Body)}, needs: r.Needs, aliases: r.Aliases, slots: r.Slots,
	}
}

func (f *fakeBackend) Update(ctx context.Context, r backend.Resource) error {
	return f.call(ctx, "update", r.Key, func() error {
		f.claim("update", r.Ref)
		switch {
		case !f.kinds[r.Kind].updatable:
			return fail(backend.Refused, "%s cannot be updated", r.Key)
		case f.objects[r.Key] == nil:
			return fail(backend.NotFound, "%s does not exist", r.Key)
		}
		if err := f.admit(r); err != nil {
			return err
		}
		parent := f.objects[r.Key].Parent
		f.put(r)
		f.objects[r.Key].Parent = parent
		return nil
	})
}

func (f *fakeBackend) Delete(ctx context.Context, ref backend.Ref) error {
	return f.call(ctx, "delete", ref.Key, func() error { f.claim("delete", ref); f.remove(ref.Key); return nil })
}

// claim records a call, with mu held.
func (f *fakeBackend) claim(op string, ref backend.Ref) {
	if !f.quiet {
		f.claimed = append(f.claimed, op+" "+ref.String()+" for "+ref.Claim.Name)
	}
}

// remove deletes an object and its dependents.
func (f *fakeBackend) remove(key backend.Key) {
	o := f.objects[key]
	if o == nil {
		return
	}
	delete(f.objects, key)
	c := f.collectionOf(o.Ref)
	f.lists[c] = slices.DeleteFunc(f.lists[c], func(k backend.Key) bool { return k == key })
	for k, other := range f.objects {
		if slices.ContainsFunc(other.needs, func(need backend.Key) bool { return !f.present(need) }) {
			f.cascaded = append(f.cascaded, k.String())
			f.remove(k)
		}
	}
}

func (f *fakeBackend) Get(ctx context.Context, r backend.Resource) (o backend.Observed, ok bool, err error) {
	err = f.call(ctx, "get", r.Key, func() error {
		if have := f.objects[r.Key]; have != nil {
			o, ok = have.Observed, true
		}
		return nil
	})
	if err != nil {
		return backend.Observed{}, false, err
	}
	return o, ok, nil
}

func (f *fakeBackend) collectionOf(ref backend.Ref) backend.Collection {
	return backend.Collection{Kind: ref.Kind, ParentKind: f.kinds[ref.Kind].parent, Parent: ref.Parent}
}

func (f *fakeBackend) Collection(r backend.Resource) (backend.Collection, bool) {
	return f.collectionOf(r.Ref), f.kinds[r.Kind].listed
}

func (f *fakeBackend) List(ctx context.Context, c backend.Collection) (list []backend.Observed, err error) {
	err = f.call(ctx, "list", backend.Key{Kind: c.Kind, ID: c.Parent}, func() error {
		if c.Parent != "" && c.ParentKind != "Host" && f.objects[backend.Key{Kind: c.ParentKind, ID: c.Parent}] == nil {
			return fail(backend.NotFound, "%s %s does not exist", c.ParentKind, c.Parent)
		}
		for _, key := range f.lists[c] {
			list = append(list, f.objects[key].Observed)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (f *fakeBackend) Roots() []backend.Collection {
	return []backend.Collection{{Kind: "Pad"}, {Kind: "Table"}, {Kind: "Box"}}
}

func (f *fakeBackend) Children(ref backend.Ref) []backend.Collection {
	var children []backend.Collection
	for _, kind := range []string{"Rule", "Port", "Route"} {
		if f.kinds[kind].parent == ref.Kind {
			children = append(children, backend.Collection{Kind: kind, ParentKind: ref.Kind, Parent: ref.ID})
		}
	}
	return children
}

func (f *fakeBackend) Differences(want backend.Resource, have backend.Observed) []string {
	f.mu.Lock()
	f.claim("compare", want.Ref)
	f.mu.Unlock()
	var w, h fakeBody
	_ = json.Unmarshal(want.Body, &w)
	_ = json.Unmarshal(have.Body, &h)
	var fields []string
	if w.V != h.V {
		fields = append(fields, "v")
	}
	if !slices.Equal(w.Needs, h.Needs) {
		fields = append(fields, "needs")
	}
	if !slices.Equal(w.Slots, h.Slots) {
		fields = append(fields, "slots")
	}
	return fields
}

func (f *fakeBackend) Copy(r backend.Resource) backend.Resource {
	var body fakeBody
	_ = json.Unmarshal(r.Body, &body)
	r.ID += "-copy"
	body.ID = r.ID
	r.Body, _ = json.Marshal(body)
	return r
}
