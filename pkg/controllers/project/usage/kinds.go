// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kinds"
)

// Resources by their names. Gardener's are served by its own API server, or as custom resources, or not at all.
var (
	Klusters          = kubernikusv1.Resource("klusters")
	DiscoveryBackends = gimbalv1.Resource("discoverybackends")
	Translations      = midonetv1.Resource("translations")

	Shoots              = gardenerv1beta1.Resource("shoots")
	Plants              = gardenerv1beta1.Resource("plants")
	BackupEntries       = gardenerv1beta1.Resource("backupentries")
	SecretBindings      = gardenerv1beta1.Resource("secretbindings")
	CredentialsBindings = schema.GroupResource{Group: "security.gardener.cloud", Resource: "credentialsbindings"}
	Quotas              = gardenerv1beta1.Resource("quotas")
	Secrets             = schema.GroupResource{Resource: "secrets"}
)

const (
	// byBinding is the index of Shoots by the bindings they use.
	byBinding = "binding"
	// byTarget is the index of bindings by the namespaces that they refer to.
	byTarget = "target"
)

// reference is a reference of a binding: to a Secret or a Quota.
type reference struct {
	resource        schema.GroupResource
	namespace, name string
}

// followed are the kinds to follow when objects of the resources count as use, and those themselves, each once.
func followed(resources []string) (all []kinds.Kind, direct []schema.GroupResource) {
	known := []kinds.Kind{
		{GroupResource: Klusters, Versions: []string{kubernikusv1.SchemeGroupVersion.Version}},
		{GroupResource: DiscoveryBackends, Versions: []string{gimbalv1.SchemeGroupVersion.Version}},
		{GroupResource: Translations, Versions: []string{midonetv1.SchemeGroupVersion.Version}},
		{
			GroupResource: Shoots, Versions: []string{gardenerv1beta1.SchemeGroupVersion.Version}, Value: bindingsOfShoot,
			Indexes: map[string]func(*kinds.Object) []string{byBinding: usedBindings},
		},
		{GroupResource: Plants, Versions: []string{gardenerv1beta1.SchemeGroupVersion.Version}},
		{GroupResource: BackupEntries, Versions: []string{gardenerv1beta1.SchemeGroupVersion.Version}},
		binding(SecretBindings, gardenerv1beta1.SchemeGroupVersion.Version, func(content map[string]any) (map[string]any, bool) {
			secret, found, _ := unstructured.NestedMap(content, "secretRef")
			return secret, found
		}),
		binding(CredentialsBindings, "v1alpha1", func(content map[string]any) (map[string]any, bool) {
			credentials, found, _ := unstructured.NestedMap(content, "credentialsRef")
			kind, _, _ := unstructured.NestedString(credentials, "kind")
			return credentials, found && kind == "Secret"
		}),
		{GroupResource: Quotas, Versions: []string{gardenerv1beta1.SchemeGroupVersion.Version}, While: bindings()},
		{GroupResource: Secrets, Versions: []string{"v1"}, While: bindings()},
	}
	direct = []schema.GroupResource{Shoots, Plants, BackupEntries}
	for _, resource := range resources {
		if wanted := schema.ParseGroupResource(resource); !slices.Contains(direct, wanted) {
			direct = append(direct, wanted)
		}
	}
	always := append([]schema.GroupResource{Klusters, DiscoveryBackends}, direct...)
	for _, kind := range known {
		switch {
		case slices.Contains(always, kind.GroupResource):
			kind.While = nil
			all = append(all, kind)
		case kind.While != nil:
			all = append(all, kind)
		}
	}
	for _, resource := range direct {
		if !slices.ContainsFunc(all, func(kind kinds.Kind) bool { return kind.GroupResource == resource }) {
			all = append(all, kinds.Kind{GroupResource: resource})
		}
	}
	return all, direct
}

// bindings are the resources by which a Shoot uses a Secret and Quotas. They matter only where there are Shoots.
func bindings() []schema.GroupResource {
	return []schema.GroupResource{SecretBindings, CredentialsBindings}
}

// binding is the kind of a binding, whose credentials are where the function finds them, if they are a Secret.
func binding(resource schema.GroupResource, version string, secretOf func(map[string]any) (map[string]any, bool)) kinds.Kind {
	return kinds.Kind{
		GroupResource: resource, Versions: []string{version}, While: []schema.GroupResource{Shoots},
		Value: func(content map[string]any) any {
			var references []reference
			own, _, _ := unstructured.NestedString(content, "metadata", "namespace")
			add := func(to schema.GroupResource, entry map[string]any) {
				namespace, _, _ := unstructured.NestedString(entry, "namespace")
				name, _, _ := unstructured.NestedString(entry, "name")
				if namespace == "" {
					namespace = own
				}
				references = append(references, reference{to, namespace, name})
			}
			if secret, found := secretOf(content); found {
				add(Secrets, secret)
			}
			quotas, _, _ := unstructured.NestedSlice(content, "quotas")
			for _, quota := range quotas {
				if entry, ok := quota.(map[string]any); ok {
					add(Quotas, entry)
				}
			}
			return references
		},
		Indexes: map[string]func(*kinds.Object) []string{byTarget: targets},
	}
}

// bindingsOfShoot picks the names of the bindings that a Shoot uses, by their resource.
func bindingsOfShoot(content map[string]any) any {
	used := map[schema.GroupResource]string{}
	for resource, field := range map[schema.GroupResource]string{SecretBindings: "secretBindingName", CredentialsBindings: "credentialsBindingName"} {
		if name, _, _ := unstructured.NestedString(content, "spec", field); name != "" {
			used[resource] = name
		}
	}
	return used
}

// usedBindings are the keys of the bindings that a Shoot uses: those in its own namespace.
func usedBindings(shoot *kinds.Object) []string {
	var keys []string
	used, _ := shoot.Value.(map[schema.GroupResource]string)
	for resource, name := range used {
		keys = append(keys, bindingKey(resource, shoot.Namespace, name))
	}
	return keys
}

func bindingKey(resource schema.GroupResource, namespace, name string) string {
	return fmt.Sprintf("%s/%s/%s", resource, namespace, name)
}

// targets are the namespaces that a binding refers to.
func targets(binding *kinds.Object) []string {
	var namespaces []string
	references, _ := binding.Value.([]reference)
	for _, reference := range references {
		if !slices.Contains(namespaces, reference.namespace) {
			namespaces = append(namespaces, reference.namespace)
		}
	}
	return namespaces
}
