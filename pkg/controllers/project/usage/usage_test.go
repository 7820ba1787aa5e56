// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"groundskeeper.io/groundskeeper/pkg/controllers/kinds"
)

// store is a Reader of objects by their resource. It finds by the indexes of the kinds that are followed.
type store struct {
	objects map[schema.GroupResource][]*kinds.Object
	failing map[schema.GroupResource]error
	asked   []string
}

func (s *store) Find(_ context.Context, resource schema.GroupResource, query kinds.Query) ([]*kinds.Object, error) {
	s.asked = append(s.asked, resource.Resource)
	if err := s.failing[resource]; err != nil {
		return nil, err
	}
	all, _ := followed(defaults())
	i := slices.IndexFunc(all, func(kind kinds.Kind) bool { return kind.GroupResource == resource })
	var found []*kinds.Object
	for _, object := range s.objects[resource] {
		if query.Namespace != "" && object.Namespace != query.Namespace || query.Name != "" && object.Name != query.Name {
			continue
		}
		if query.Index == "" || slices.Contains(all[i].Indexes[query.Index](object), query.Value) {
			found = append(found, object)
		}
	}
	return found, nil
}

// add adds an object as it is kept, of its content.
func (s *store) add(resource schema.GroupResource, namespace, name string, content map[string]any) {
	all, _ := followed(defaults())
	object := &kinds.Object{Identity: kinds.Identity{Namespace: namespace, Name: name}}
	i := slices.IndexFunc(all, func(kind kinds.Kind) bool { return kind.GroupResource == resource })
	if content == nil {
		content = map[string]any{}
	}
	content["metadata"] = map[string]any{"namespace": namespace, "name": name}
	if value := all[i].Value; value != nil {
		object.Value = value(content)
	}
	s.objects[resource] = append(s.objects[resource], object)
}

func defaults() []string {
	return []string{"klusters.kubernikus.sap.cc", "discoverybackends.gimbal.heptio.com", "translations.midonet.org"}
}

func usageOf(resources ...string) *Usage {
	return New(nil, kinds.Source{}, nil, 0, append(defaults(), resources...))
}

func ref(namespace, name string) map[string]any {
	return map[string]any{"namespace": namespace, "name": name}
}

func secretBinding(secret map[string]any, quotas ...any) map[string]any {
	return map[string]any{"secretRef": secret, "quotas": quotas}
}

func credentialsBinding(kind string, credentials map[string]any) map[string]any {
	credentials["apiVersion"], credentials["kind"] = "v1", kind
	return map[string]any{"credentialsRef": credentials}
}

func shoot(field, binding string) map[string]any {
	return map[string]any{"spec": map[string]any{field: binding}}
}

// What uses the project of the namespace a. Each row fails without the rule that it is there for.
func TestOf(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*store)
		want    string
	}{
		"nothing":                   {func(*store) {}, ""},
		"things elsewhere":          {func(s *store) { s.add(Klusters, "b", "k", nil); s.add(Shoots, "b", "s", nil) }, ""},
		"a kluster":                 {func(s *store) { s.add(Klusters, "a", "k", nil) }, "klusters.kubernikus.sap.cc"},
		"a discovery backend":       {func(s *store) { s.add(DiscoveryBackends, "a", "k", nil) }, "discoverybackends.gimbal.heptio.com"},
		"a translation":             {func(s *store) { s.add(Translations, "a", "k", nil) }, "translations.midonet.org"},
		"a shoot":                   {func(s *store) { s.add(Shoots, "a", "s", nil) }, "shoots.core.gardener.cloud"},
		"a plant":                   {func(s *store) { s.add(Plants, "a", "p", nil) }, "plants.core.gardener.cloud"},
		"a backup entry":            {func(s *store) { s.add(BackupEntries, "a", "b", nil) }, "backupentries.core.gardener.cloud"},
		"a secret":                  {func(s *store) { s.add(Secrets, "a", "s", nil) }, ""},
		"a quota":                   {func(s *store) { s.add(Quotas, "a", "q", nil) }, ""},
		"bindings":                  {func(s *store) { s.add(SecretBindings, "a", "b", secretBinding(ref("a", "s"))) }, ""},
		"a secret of a shoot":       {used(SecretBindings, secretBinding(ref("a", "s")), Secrets, shoot("secretBindingName", "sb")), "secrets"},
		"a quota of a shoot":        {used(SecretBindings, secretBinding(ref("b", "other"), ref("b", "s"), ref("a", "s")), Quotas, shoot("secretBindingName", "sb")), "quotas.core.gardener.cloud"},
		"credentials of a shoot":    {used(CredentialsBindings, credentialsBinding("Secret", ref("a", "s")), Secrets, shoot("credentialsBindingName", "sb")), "secrets"},
		"a workload identity":       {used(CredentialsBindings, credentialsBinding("WorkloadIdentity", ref("a", "s")), Secrets, shoot("credentialsBindingName", "sb")), ""},
		"a binding nobody uses":     {used(SecretBindings, secretBinding(ref("a", "s")), Secrets, shoot("secretBindingName", "another")), ""},
		"a binding of another kind": {used(SecretBindings, secretBinding(ref("a", "s")), Secrets, shoot("credentialsBindingName", "sb")), ""},
		"a secret that is missing":  {used(SecretBindings, secretBinding(ref("a", "missing")), Secrets, shoot("secretBindingName", "sb")), ""},
		"a secret of another":       {used(SecretBindings, secretBinding(ref("b", "s")), Secrets, shoot("secretBindingName", "sb")), ""},
		"no namespace is the own":   {used(SecretBindings, secretBinding(map[string]any{"name": "s"}), Secrets, shoot("secretBindingName", "sb")), ""},
		"a shoot elsewhere": {func(s *store) {
			used(SecretBindings, secretBinding(ref("a", "s")), Secrets, nil)(s)
			s.add(Shoots, "c", "shoot", shoot("secretBindingName", "sb"))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &store{objects: map[schema.GroupResource][]*kinds.Object{}}
			test.prepare(s)
			got, err := usageOf().Of(t.Context(), s, "a")
			if err != nil || got != test.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// used adds a binding in the namespace b, an object of a resource in the namespace a, and a Shoot in the namespace b.
func used(binding schema.GroupResource, content map[string]any, of schema.GroupResource, shoot map[string]any) func(*store) {
	return func(s *store) {
		s.add(binding, "b", "sb", content)
		s.add(of, "a", "s", nil)
		s.add(Shoots, "b", "shoot", shoot)
	}
}

// Of what cannot be listed nobody knows whether it uses the project: each kind that is asked for, failing alone, is an
// error.
func TestOfFails(t *testing.T) {
	prepared := func() *store {
		s := &store{objects: map[schema.GroupResource][]*kinds.Object{}}
		used(SecretBindings, secretBinding(ref("a", "missing"), ref("a", "missing")), Secrets, shoot("secretBindingName", "sb"))(s)
		return s
	}
	use := usageOf("configmaps")
	for _, resource := range append(use.Resources(), schema.GroupResource{Resource: "configmaps"}) {
		s := prepared()
		refused := errors.New("refused")
		s.failing = map[schema.GroupResource]error{resource: refused}
		if _, err := use.Of(t.Context(), s, "a"); !errors.Is(err, refused) {
			t.Errorf("%s cannot be listed: %v", resource, err)
		}
	}
}

func TestCounts(t *testing.T) {
	s := &store{objects: map[schema.GroupResource][]*kinds.Object{}}
	used(SecretBindings, secretBinding(ref("a", "s"), ref("a", "q")), Secrets, shoot("secretBindingName", "sb"))(s)
	for _, test := range []struct {
		resource schema.GroupResource
		name     string
		want     bool
	}{{Klusters, "any", true}, {Shoots, "any", true}, {Secrets, "s", true}, {Quotas, "q", true}, {Secrets, "q", false}, {Secrets, "other", false}} {
		got, err := usageOf().Counts(t.Context(), s, test.resource, &kinds.Object{Identity: kinds.Identity{Namespace: "a", Name: test.name}})
		if err != nil || got != test.want {
			t.Errorf("%s %s: %t, %v", test.resource, test.name, got, err)
		}
	}
	s.failing = map[schema.GroupResource]error{SecretBindings: errors.New("refused")}
	if _, err := usageOf().Counts(t.Context(), s, Secrets, &kinds.Object{}); err == nil {
		t.Error("what cannot be known is known")
	}
}

// Whose use may have changed: the namespaces that a binding refers to, or did, and those of what a Shoot uses, or did.
func TestTouched(t *testing.T) {
	s := &store{objects: map[schema.GroupResource][]*kinds.Object{}}
	s.add(SecretBindings, "b", "one", secretBinding(ref("a", "s"), ref("q", "q")))
	s.add(CredentialsBindings, "b", "two", credentialsBinding("Secret", ref("c", "s")))
	s.add(SecretBindings, "b", "three", secretBinding(ref("d", "s")))
	s.add(Shoots, "b", "old", shoot("secretBindingName", "one"))
	s.add(Shoots, "b", "new", shoot("credentialsBindingName", "two"))
	before, after := s.objects[Shoots][0], s.objects[Shoots][1]
	for name, test := range map[string]struct {
		event kinds.Event
		want  string
	}{
		"a plant":          {kinds.Event{Resource: Plants, New: &kinds.Object{Identity: kinds.Identity{Namespace: "z"}}}, "z"},
		"a shoot comes":    {kinds.Event{Resource: Shoots, New: after}, "b c"},
		"a shoot goes":     {kinds.Event{Resource: Shoots, Old: before}, "a b q"},
		"a shoot changes":  {kinds.Event{Resource: Shoots, Old: before, New: after}, "a b c q"},
		"a binding moves":  {kinds.Event{Resource: SecretBindings, Old: s.objects[SecretBindings][0], New: s.objects[SecretBindings][1]}, "a b d q"},
		"a binding leaves": {kinds.Event{Resource: CredentialsBindings, Old: s.objects[CredentialsBindings][0]}, "b c"},
	} {
		got, err := usageOf().Touched(t.Context(), s, test.event)
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	s.failing = map[schema.GroupResource]error{CredentialsBindings: errors.New("refused")}
	if got, err := usageOf().Touched(t.Context(), s, kinds.Event{Resource: Shoots, New: after}); err == nil || len(got) == 0 || got[0] != "b" {
		t.Errorf("of a shoot whose bindings are not known: %q, %v", got, err)
	}
}

// What is followed: the kinds that keep a namespace always, each resource once, and Secrets only where bindings are.
func TestFollowed(t *testing.T) {
	for name, test := range map[string]struct {
		resources []string
		want      string
	}{
		"nothing but Gardener's": {nil, "klusters discoverybackends shoots plants backupentries secretbindings? credentialsbindings? quotas? secrets?"},
		"the defaults":           {defaults(), "klusters discoverybackends translations shoots plants backupentries secretbindings? credentialsbindings? quotas? secrets?"},
		"Gardener's by name":     {[]string{"shoots.core.gardener.cloud"}, "klusters discoverybackends shoots plants backupentries secretbindings? credentialsbindings? quotas? secrets?"},
		"others": {[]string{"secrets", "deployments.apps"},
			"klusters discoverybackends shoots plants backupentries secretbindings? credentialsbindings? quotas? secrets deployments"},
	} {
		all, _ := followed(test.resources)
		var got []string
		for _, kind := range all {
			mark := ""
			if len(kind.While) > 0 {
				mark = "?"
			}
			got = append(got, kind.Resource+mark)
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
