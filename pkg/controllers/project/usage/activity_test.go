// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// made returns the cached form of an object.
func made(resource schema.GroupResource, namespace, name string, content map[string]any) *resourcewatch.Object {
	s := &store{objects: map[schema.GroupResource][]*resourcewatch.Object{}}
	s.add(resource, namespace, name, content)
	return s.objects[resource][0]
}

// TestActivityInAnyOrder checks that credentials in namespace a, a binding in b and a Shoot in c or b concern a, in whichever order their
// events are handled.
func TestActivityInAnyOrder(t *testing.T) {
	events := []resourcewatch.Event{
		{Resource: Secrets, New: made(Secrets, "a", "s", nil), Initial: true},
		{Resource: SecretBindings, New: made(SecretBindings, "b", "sb", secretBinding(ref("a", "s"))), Initial: true},
		{Resource: Shoots, New: made(Shoots, "b", "shoot", shoot("secretBindingName", "sb")), Initial: true},
	}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		s, u := &store{objects: map[schema.GroupResource][]*resourcewatch.Object{}}, usageOf()
		concerned := map[*resourcewatch.Object][]string{}
		for _, i := range order {
			e := events[i]
			s.objects[e.Resource] = append(s.objects[e.Resource], e.New)
			related, err := u.Related(t.Context(), s, e)
			if err != nil {
				t.Fatal(err)
			}
			concerned[e.New] = append(concerned[e.New], related...)
			around, err := u.Around(t.Context(), s, e.Resource, e.New)
			if err != nil {
				t.Fatal(err)
			}
			for object, namespaces := range around {
				concerned[object] = append(concerned[object], namespaces...)
			}
		}
		for _, e := range events {
			if !slices.Contains(concerned[e.New], "a") {
				t.Errorf("order %v: %s concerns %q, want namespace a", order, e.Resource, concerned[e.New])
			}
		}
	}
}

func TestRelated(t *testing.T) {
	s, u := &store{objects: map[schema.GroupResource][]*resourcewatch.Object{}}, usageOf()
	s.add(SecretBindings, "b", "sb", secretBinding(ref("a", "s"), ref("q", "s")))
	s.add(CredentialsBindings, "b", "cb", credentialsBinding("security.gardener.cloud/v1alpha1", "WorkloadIdentity", ref("w", "s")))
	s.add(CredentialsBindings, "b", "ib", credentialsBinding("core.gardener.cloud/v1beta1", "InternalSecret", ref("i", "s")))
	using, idle := made(Shoots, "b", "shoot", shoot("secretBindingName", "sb")), made(Shoots, "b", "shoot", nil)
	other := made(Shoots, "b", "shoot", shoot("credentialsBindingName", "cb"))
	binding, moved := made(SecretBindings, "b", "x", secretBinding(ref("a", "s"))), made(SecretBindings, "b", "x", secretBinding(ref("z", "s")))
	secret := func(namespace, name string) *resourcewatch.Object { return made(Secrets, namespace, name, nil) }
	for name, test := range map[string]struct {
		event resourcewatch.Event
		want  []string
	}{
		"a secret that a binding refers to, which no Shoot uses": {resourcewatch.Event{Resource: Secrets, Old: secret("a", "s"), New: secret("a", "s")}, []string{"a"}},
		"a deleted one":                         {resourcewatch.Event{Resource: Secrets, Old: secret("a", "s")}, []string{"a"}},
		"another secret":                        {resourcewatch.Event{Resource: Secrets, New: secret("a", "t")}, nil},
		"the name in another namespace":         {resourcewatch.Event{Resource: Secrets, New: secret("b", "s")}, nil},
		"another kind of the name":              {resourcewatch.Event{Resource: Quotas, New: secret("a", "s")}, nil},
		"a quota":                               {resourcewatch.Event{Resource: Quotas, New: secret("q", "s")}, []string{"q"}},
		"a workload identity":                   {resourcewatch.Event{Resource: WorkloadIdentities, New: secret("w", "s")}, []string{"w"}},
		"an internal secret":                    {resourcewatch.Event{Resource: InternalSecrets, New: secret("i", "s")}, []string{"i"}},
		"a new binding":                         {resourcewatch.Event{Resource: SecretBindings, New: binding}, []string{"a", "b"}},
		"a binding that refers to another":      {resourcewatch.Event{Resource: SecretBindings, Old: binding, New: moved}, []string{"a", "b", "z"}},
		"a deleted binding":                     {resourcewatch.Event{Resource: SecretBindings, Old: moved}, []string{"b", "z"}},
		"a Shoot begins to use a binding":       {resourcewatch.Event{Resource: Shoots, Old: idle, New: using}, []string{"a", "q"}},
		"a Shoot uses another binding":          {resourcewatch.Event{Resource: Shoots, Old: using, New: other}, []string{"a", "q", "w"}},
		"a Shoot uses the same binding":         {resourcewatch.Event{Resource: Shoots, Old: using, New: using}, nil},
		"the last user is deleted":              {resourcewatch.Event{Resource: Shoots, Old: using}, []string{"a", "q"}},
		"a Kluster concerns its own project":    {resourcewatch.Event{Resource: Klusters, New: made(Klusters, "a", "k", nil)}, nil},
		"a Shoot without bindings has only its": {resourcewatch.Event{Resource: Shoots, New: idle}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := u.Related(t.Context(), s, test.event)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("namespaces = %q, %v, want %q", got, err, test.want)
			}
		})
	}
	s.failing = map[schema.GroupResource]error{SecretBindings: errors.New("refused")}
	if _, err := u.Related(t.Context(), s, resourcewatch.Event{Resource: Secrets, New: secret("a", "s")}); err == nil {
		t.Error("error = nil, want that of the reader")
	}
}

// TestChanged checks that the last change of what has no generation is known from its managed fields.
func TestChanged(t *testing.T) {
	created, rotated := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	fields := []any{map[string]any{"manager": "kubectl", "time": created.Format(time.RFC3339)}, map[string]any{"manager": "robot", "time": rotated.Format(time.RFC3339)},
		map[string]any{"manager": "kubectl-edit"}}
	all, _ := followed(defaults())
	for _, resource := range append(referred(), bindings()...) {
		kind := all[slices.IndexFunc(all, func(kind resourcewatch.Kind) bool { return kind.GroupResource == resource })]
		content := map[string]any{"metadata": map[string]any{"managedFields": fields}}
		object := &resourcewatch.Object{Identity: resourcewatch.Identity{CreationTimestamp: metav1.NewTime(created)}}
		if kind.Metadata != nil {
			object.Value = kind.Metadata(&metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Time: new(metav1.NewTime(rotated))}, {}}})
		} else {
			object.Value = kind.Value(maps.Clone(content))
		}
		if got := Changed(object); !got.Equal(rotated) {
			t.Errorf("%s: changed at %s, want %s", resource, got, rotated)
		}
	}
	if got := Changed(&resourcewatch.Object{Identity: resourcewatch.Identity{CreationTimestamp: metav1.NewTime(created)}}); !got.Equal(created) {
		t.Errorf("changed at %s, want the creation", got)
	}
}
