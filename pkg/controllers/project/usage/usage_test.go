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

	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// store is a Reader of objects by their resource. It finds by the indexes of the kinds that are followed.
type store struct {
	objects  map[schema.GroupResource][]*resourcewatch.Object
	failing  map[schema.GroupResource]error
	absent   []schema.GroupResource
	requests []string
}

func (s *store) Serves(_ context.Context, resource schema.GroupResource) (bool, error) {
	return !slices.Contains(s.absent, resource), s.failing[resource]
}

func (s *store) Find(_ context.Context, resource schema.GroupResource, query resourcewatch.Query) ([]*resourcewatch.Object, error) {
	s.requests = append(s.requests, resource.Resource)
	if err := s.failing[resource]; err != nil {
		return nil, err
	}
	all, _ := followed(defaults())
	i := slices.IndexFunc(all, func(kind resourcewatch.Kind) bool { return kind.GroupResource == resource })
	var found []*resourcewatch.Object
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

// add adds the stored form of an object with this content.
func (s *store) add(resource schema.GroupResource, namespace, name string, content map[string]any) {
	all, _ := followed(defaults())
	object := &resourcewatch.Object{Identity: resourcewatch.Identity{Namespace: namespace, Name: name}}
	i := slices.IndexFunc(all, func(kind resourcewatch.Kind) bool { return kind.GroupResource == resource })
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
	return New(nil, resourcewatch.Source{}, nil, 0, append(defaults(), resources...))
}

func ref(namespace, name string) map[string]any {
	return map[string]any{"namespace": namespace, "name": name}
}

func secretBinding(secret map[string]any, quotas ...any) map[string]any {
	return map[string]any{"secretRef": secret, "quotas": quotas}
}

func credentialsBinding(apiVersion, kind string, credentials map[string]any) map[string]any {
	credentials["apiVersion"], credentials["kind"] = apiVersion, kind
	return map[string]any{"credentialsRef": credentials}
}

func withQuota(binding, quota map[string]any) map[string]any {
	binding["quotas"] = []any{quota}
	return binding
}

func shoot(field, binding string) map[string]any {
	return map[string]any{"spec": map[string]any{field: binding}}
}

// TestOf checks the uses of the project of namespace a. Each case fails without the rule that it covers.
func TestOf(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*store)
		want    string
	}{
		"nothing":                      {func(*store) {}, ""},
		"things elsewhere":             {func(s *store) { s.add(Klusters, "b", "k", nil); s.add(Shoots, "b", "s", nil) }, ""},
		"a kluster":                    {func(s *store) { s.add(Klusters, "a", "k", nil) }, "klusters.kubernikus.sap.cc"},
		"a discovery backend":          {func(s *store) { s.add(DiscoveryBackends, "a", "k", nil) }, "discoverybackends.gimbal.heptio.com"},
		"a translation":                {func(s *store) { s.add(Translations, "a", "k", nil) }, "translations.midonet.org"},
		"a shoot":                      {func(s *store) { s.add(Shoots, "a", "s", nil) }, "shoots.core.gardener.cloud"},
		"a plant":                      {func(s *store) { s.add(Plants, "a", "p", nil) }, "plants.core.gardener.cloud"},
		"a backup entry":               {func(s *store) { s.add(BackupEntries, "a", "b", nil) }, "backupentries.core.gardener.cloud"},
		"a secret":                     {func(s *store) { s.add(Secrets, "a", "s", nil) }, ""},
		"a quota":                      {func(s *store) { s.add(Quotas, "a", "q", nil) }, ""},
		"bindings":                     {func(s *store) { s.add(SecretBindings, "a", "b", secretBinding(ref("a", "s"))) }, ""},
		"a secret of a shoot":          {used(SecretBindings, secretBinding(ref("a", "s")), Secrets, shoot("secretBindingName", "sb")), "secrets"},
		"a quota of a shoot":           {used(SecretBindings, secretBinding(ref("b", "other"), ref("b", "s"), ref("a", "s")), Quotas, shoot("secretBindingName", "sb")), "quotas.core.gardener.cloud"},
		"credentials of a shoot":       {used(CredentialsBindings, credentialsBinding("v1", "Secret", ref("a", "s")), Secrets, shoot("credentialsBindingName", "sb")), "secrets"},
		"a workload identity":          {used(CredentialsBindings, credentialsBinding("security.gardener.cloud/v1alpha1", "WorkloadIdentity", ref("a", "s")), WorkloadIdentities, shoot("credentialsBindingName", "sb")), "workloadidentities.security.gardener.cloud"},
		"an internal secret":           {used(CredentialsBindings, credentialsBinding("core.gardener.cloud/v1beta1", "InternalSecret", ref("a", "s")), InternalSecrets, shoot("credentialsBindingName", "sb")), "internalsecrets.core.gardener.cloud"},
		"another version of a kind":    {used(CredentialsBindings, credentialsBinding("security.gardener.cloud/v1", "WorkloadIdentity", ref("a", "s")), WorkloadIdentities, shoot("credentialsBindingName", "sb")), "workloadidentities.security.gardener.cloud"},
		"an identity that was deleted": {used(CredentialsBindings, credentialsBinding("security.gardener.cloud/v1alpha1", "WorkloadIdentity", ref("a", "gone")), WorkloadIdentities, shoot("credentialsBindingName", "sb")), ""},
		"an idle identity":             {used(CredentialsBindings, credentialsBinding("security.gardener.cloud/v1alpha1", "WorkloadIdentity", ref("a", "s")), WorkloadIdentities, shoot("credentialsBindingName", "another")), ""},
		"another kind of the name":     {used(CredentialsBindings, credentialsBinding("security.gardener.cloud/v1alpha1", "WorkloadIdentity", ref("a", "s")), Secrets, shoot("credentialsBindingName", "sb")), ""},
		"a quota of credentials":       {used(CredentialsBindings, withQuota(credentialsBinding("v1", "Secret", ref("b", "s")), ref("a", "s")), Quotas, shoot("credentialsBindingName", "sb")), "quotas.core.gardener.cloud"},
		"an unknown kind elsewhere":    {used(CredentialsBindings, credentialsBinding("example.com/v1", "Vault", ref("b", "s")), Secrets, shoot("credentialsBindingName", "sb")), ""},
		"an unknown kind, idle":        {used(CredentialsBindings, credentialsBinding("example.com/v1", "Vault", ref("a", "s")), Secrets, shoot("credentialsBindingName", "another")), ""},
		"in use besides an unknown": {func(s *store) {
			used(CredentialsBindings, withQuota(credentialsBinding("example.com/v1", "Vault", ref("a", "v")), ref("a", "s")), Quotas, shoot("credentialsBindingName", "sb"))(s)
		}, "quotas.core.gardener.cloud"},
		"an unused binding":         {used(SecretBindings, secretBinding(ref("a", "s")), Secrets, shoot("secretBindingName", "another")), ""},
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
			s := &store{objects: map[schema.GroupResource][]*resourcewatch.Object{}}
			test.prepare(s)
			got, err := usageOf().Of(t.Context(), s, "a")
			if err != nil || got != test.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// TestOfUnknown checks that a reference to an unknown or unreadable object makes the use of the project unknown.
func TestOfUnknown(t *testing.T) {
	const security = "security.gardener.cloud/v1alpha1"
	uses := func(credentials map[string]any) func(*store) {
		return used(CredentialsBindings, credentials, Secrets, shoot("credentialsBindingName", "sb"))
	}
	for name, test := range map[string]struct {
		prepare func(*store)
		absent  []schema.GroupResource
		want    string
	}{
		"a kind of another group":  {uses(credentialsBinding("example.com/v1", "Vault", ref("a", "s"))), nil, `a binding in use refers to an object of an unknown kind in namespace "a": Vault.example.com "s"`},
		"a kind of Gardener's":     {uses(credentialsBinding(security, "FutureIdentity", ref("a", "s"))), nil, `a binding in use refers to an object of an unknown kind in namespace "a": FutureIdentity.security.gardener.cloud "s"`},
		"a Secret of another":      {uses(credentialsBinding("example.com/v1", "Secret", ref("a", "s"))), nil, `a binding in use refers to an object of an unknown kind in namespace "a": Secret.example.com "s"`},
		"no kind":                  {uses(credentialsBinding("v1", "", ref("a", "s"))), nil, `a binding in use refers to an object of an unknown kind in namespace "a":  "s"`},
		"no version that it takes": {uses(credentialsBinding("a/b/c", "Secret", ref("a", "s"))), nil, `a binding in use refers to an object of an unknown kind in namespace "a": unexpected GroupVersion string: a/b/c`},
		"a kind that is not served": {used(CredentialsBindings, credentialsBinding(security, "WorkloadIdentity", ref("a", "s")), Secrets, shoot("credentialsBindingName", "sb")),
			[]schema.GroupResource{WorkloadIdentities}, `a binding in use refers to "s" in namespace "a" of workloadidentities.security.gardener.cloud, which is not served`},
		"bindings that are not served": {func(s *store) { s.add(Shoots, "b", "shoot", shoot("credentialsBindingName", "sb")) },
			[]schema.GroupResource{CredentialsBindings}, `shoot "shoot" in namespace "b" uses one of credentialsbindings.security.gardener.cloud, which is not served`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &store{objects: map[schema.GroupResource][]*resourcewatch.Object{}, absent: test.absent}
			test.prepare(s)
			got, err := usageOf().Of(t.Context(), s, "a")
			if err == nil || err.Error() != test.want {
				t.Errorf("use = %q, error = %v, want %s", got, err, test.want)
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

// TestOfFails checks that a failed list of any required kind is an error, because the use of the project is unknown.
func TestOfFails(t *testing.T) {
	prepared := func() *store {
		s := &store{objects: map[schema.GroupResource][]*resourcewatch.Object{}}
		used(SecretBindings, secretBinding(ref("a", "missing"), ref("a", "missing")), Secrets, shoot("secretBindingName", "sb"))(s)
		for kind, version := range map[string]string{"WorkloadIdentity": "security.gardener.cloud/v1alpha1", "InternalSecret": "core.gardener.cloud/v1beta1"} {
			s.add(CredentialsBindings, "b", kind, credentialsBinding(version, kind, ref("a", "missing")))
			s.add(Shoots, "b", kind, shoot("credentialsBindingName", kind))
		}
		return s
	}
	use := usageOf("configmaps")
	for _, resource := range append(use.Resources(), schema.GroupResource{Resource: "configmaps"}) {
		s := prepared()
		rejected := errors.New("refused")
		s.failing = map[schema.GroupResource]error{resource: rejected}
		if _, err := use.Of(t.Context(), s, "a"); !errors.Is(err, rejected) {
			t.Errorf("%s cannot be listed: %v", resource, err)
		}
	}
}

// TestTouched checks the namespaces whose use may have changed: those that a binding refers or referred to, and those of what a
// Shoot uses or used.
func TestTouched(t *testing.T) {
	s := &store{objects: map[schema.GroupResource][]*resourcewatch.Object{}}
	s.add(SecretBindings, "b", "one", secretBinding(ref("a", "s"), ref("q", "q")))
	s.add(CredentialsBindings, "b", "two", credentialsBinding("v1", "Secret", ref("c", "s")))
	s.add(SecretBindings, "b", "three", secretBinding(ref("d", "s")))
	s.add(Shoots, "b", "old", shoot("secretBindingName", "one"))
	s.add(Shoots, "b", "new", shoot("credentialsBindingName", "two"))
	before, after := s.objects[Shoots][0], s.objects[Shoots][1]
	for name, test := range map[string]struct {
		event resourcewatch.Event
		want  string
	}{
		"a plant":            {resourcewatch.Event{Resource: Plants, New: &resourcewatch.Object{Identity: resourcewatch.Identity{Namespace: "z"}}}, "z"},
		"a shoot comes":      {resourcewatch.Event{Resource: Shoots, New: after}, "b c"},
		"a shoot is deleted": {resourcewatch.Event{Resource: Shoots, Old: before}, "a b q"},
		"a shoot changes":    {resourcewatch.Event{Resource: Shoots, Old: before, New: after}, "a b c q"},
		"a binding moves":    {resourcewatch.Event{Resource: SecretBindings, Old: s.objects[SecretBindings][0], New: s.objects[SecretBindings][1]}, "a b d q"},
		"a binding leaves":   {resourcewatch.Event{Resource: CredentialsBindings, Old: s.objects[CredentialsBindings][0]}, "b c"},
	} {
		got, err := usageOf().Touched(t.Context(), s, test.event)
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	s.failing = map[schema.GroupResource]error{CredentialsBindings: errors.New("refused")}
	if got, err := usageOf().Touched(t.Context(), s, resourcewatch.Event{Resource: Shoots, New: after}); err == nil || len(got) == 0 || got[0] != "b" {
		t.Errorf("of a shoot whose bindings are not known: %q, %v", got, err)
	}
}

// TestFollowed checks the watched kinds: those that always retain a namespace, each resource once, and Secrets only together with
// bindings.
func TestFollowed(t *testing.T) {
	for name, test := range map[string]struct {
		resources []string
		want      string
	}{
		"nothing but Gardener's": {nil, "klusters discoverybackends shoots plants backupentries secretbindings? credentialsbindings? quotas? internalsecrets? workloadidentities? secrets?"},
		"the defaults":           {defaults(), "klusters discoverybackends translations shoots plants backupentries secretbindings? credentialsbindings? quotas? internalsecrets? workloadidentities? secrets?"},
		"Gardener's by name":     {[]string{"shoots.core.gardener.cloud"}, "klusters discoverybackends shoots plants backupentries secretbindings? credentialsbindings? quotas? internalsecrets? workloadidentities? secrets?"},
		"others": {[]string{"secrets", "deployments.apps"},
			"klusters discoverybackends shoots plants backupentries secretbindings? credentialsbindings? quotas? internalsecrets? workloadidentities? secrets deployments"},
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
