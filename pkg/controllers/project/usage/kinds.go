// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// Names of resources. Gardener's are served by its API server, or as custom resources, or not at all.
var (
	Klusters          = kubernikusv1.Resource("klusters")
	DiscoveryBackends = gimbalv1.Resource("discoverybackends")
	Translations      = midonetv1.Resource("translations")

	Shoots              = gardenerv1beta1.Resource("shoots")
	Plants              = gardenerv1beta1.Resource("plants")
	BackupEntries       = gardenerv1beta1.Resource("backupentries")
	SecretBindings      = gardenerv1beta1.Resource("secretbindings")
	CredentialsBindings = schema.GroupResource{Group: securityGroup, Resource: "credentialsbindings"}
	Quotas              = gardenerv1beta1.Resource("quotas")
	Secrets             = schema.GroupResource{Resource: "secrets"}
	InternalSecrets     = gardenerv1beta1.Resource("internalsecrets")
	WorkloadIdentities  = schema.GroupResource{Group: securityGroup, Resource: "workloadidentities"}
)

const (
	securityGroup = "security.gardener.cloud"

	// byBinding is the index of Shoots by the bindings that they use.
	byBinding = "binding"
	// byBindingKind is the index of Shoots by the resources of the bindings that they use.
	byBindingKind = "bindingKind"
	// byTarget is the index of bindings by the namespaces that they refer to.
	byTarget = "target"
)

// reference is a reference of a binding: to credentials or to a Quota.
type reference struct {
	resource        schema.GroupResource
	namespace, name string
	// unknown describes the referenced object if its kind is unknown. Then its use is unknown, too, so that the project must not
	// be considered unused.
	unknown string
}

// bound is what is cached of a binding.
type bound struct {
	references []reference
	changed    time.Time
}

// referencesOf returns the references of a binding.
func referencesOf(binding *resourcewatch.Object) []reference {
	value, _ := binding.Value.(bound)
	return value.references
}

// credentials returns the kinds that a binding can refer to as credentials, in any version, and their resources.
func credentials() map[schema.GroupKind]schema.GroupResource {
	return map[schema.GroupKind]schema.GroupResource{
		{Kind: "Secret"}: Secrets,
		{Group: gardenerv1beta1.GroupName, Kind: "InternalSecret"}: InternalSecrets,
		{Group: securityGroup, Kind: "WorkloadIdentity"}:           WorkloadIdentities,
	}
}

// referred returns the resources that bindings refer to. Their objects count as use if an object in use refers to them.
func referred() []schema.GroupResource {
	return []schema.GroupResource{Secrets, InternalSecrets, WorkloadIdentities, Quotas}
}

// followed returns the kinds to watch when objects of the resources count as use, including these resources, each once.
func followed(resources []string) (all []resourcewatch.Kind, direct []schema.GroupResource) {
	known := []resourcewatch.Kind{
		{GroupResource: Klusters, Versions: []string{kubernikusv1.SchemeGroupVersion.Version}},
		{GroupResource: DiscoveryBackends, Versions: []string{gimbalv1.SchemeGroupVersion.Version}},
		{GroupResource: Translations, Versions: []string{midonetv1.SchemeGroupVersion.Version}},
		{
			GroupResource: Shoots, Versions: []string{gardenerv1beta1.SchemeGroupVersion.Version}, Value: bindingsOfShoot,
			Indexes: map[string]func(*resourcewatch.Object) []string{byBinding: usedBindings, byBindingKind: usedBindingKinds},
		},
		{GroupResource: Plants, Versions: []string{gardenerv1beta1.SchemeGroupVersion.Version}},
		{GroupResource: BackupEntries, Versions: []string{gardenerv1beta1.SchemeGroupVersion.Version}},
		binding(SecretBindings, gardenerv1beta1.SchemeGroupVersion.Version, "secretRef", func(map[string]any) (schema.GroupKind, error) {
			return schema.GroupKind{Kind: "Secret"}, nil
		}),
		binding(CredentialsBindings, "v1alpha1", "credentialsRef", kindOf),
		{GroupResource: Quotas, Versions: []string{gardenerv1beta1.SchemeGroupVersion.Version}, While: bindings(), Metadata: lastChange},
		// Only the metadata of these is read, which every version has.
		{GroupResource: InternalSecrets, While: bindings(), Metadata: lastChange},
		{GroupResource: WorkloadIdentities, While: bindings(), Metadata: lastChange},
		{GroupResource: Secrets, Versions: []string{"v1"}, While: bindings(), Metadata: lastChange},
	}
	for i := range known {
		known[i].OnlyVersions = len(known[i].Versions) > 0
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
		if !slices.ContainsFunc(all, func(kind resourcewatch.Kind) bool { return kind.GroupResource == resource }) {
			all = append(all, resourcewatch.Kind{GroupResource: resource})
		}
	}
	return all, direct
}

// bindings returns the resources with which a Shoot uses credentials and Quotas. They only matter if there are Shoots.
func bindings() []schema.GroupResource {
	return []schema.GroupResource{SecretBindings, CredentialsBindings}
}

// binding returns the kind of a binding, with its credentials in a field and a function that returns their kind.
func binding(resource schema.GroupResource, version, field string, kindOf func(ref map[string]any) (schema.GroupKind, error)) resourcewatch.Kind {
	return resourcewatch.Kind{
		GroupResource: resource, Versions: []string{version}, While: []schema.GroupResource{Shoots},
		Value: func(content map[string]any) any {
			own, _, _ := unstructured.NestedString(content, "metadata", "namespace")
			ref, _, _ := unstructured.NestedMap(content, field)
			references := []reference{credentialsReference(own, ref, kindOf)}
			quotas, _, _ := unstructured.NestedSlice(content, "quotas")
			for _, quota := range quotas {
				if entry, ok := quota.(map[string]any); ok {
					references = append(references, referenceTo(Quotas, own, entry))
				}
			}
			return bound{references, lastChangeOf(&unstructured.Unstructured{Object: content})}
		},
		Indexes: map[string]func(*resourcewatch.Object) []string{byTarget: targets},
	}
}

// credentialsReference returns the reference of a binding in a namespace to its credentials.
func credentialsReference(own string, ref map[string]any, kindOf func(map[string]any) (schema.GroupKind, error)) reference {
	kind, err := kindOf(ref)
	if resource, known := credentials()[kind]; known && err == nil {
		return referenceTo(resource, own, ref)
	}
	to := referenceTo(schema.GroupResource{}, own, ref)
	to.unknown = fmt.Sprintf("%s %q", kind, to.name)
	if err != nil {
		to.unknown = err.Error()
	}
	return to
}

// kindOf returns the kind of a reference with apiVersion and kind.
func kindOf(ref map[string]any) (schema.GroupKind, error) {
	apiVersion, _, _ := unstructured.NestedString(ref, "apiVersion")
	kind, _, _ := unstructured.NestedString(ref, "kind")
	version, err := schema.ParseGroupVersion(apiVersion)
	return version.WithKind(kind).GroupKind(), err
}

// referenceTo returns a reference to an object of a resource, by default in the namespace of the binding.
func referenceTo(resource schema.GroupResource, own string, ref map[string]any) reference {
	to := reference{resource: resource, namespace: own}
	if namespace, _, _ := unstructured.NestedString(ref, "namespace"); namespace != "" {
		to.namespace = namespace
	}
	to.name, _, _ = unstructured.NestedString(ref, "name")
	return to
}

// bindingsOfShoot returns what usedBy has of a Shoot.
func bindingsOfShoot(content map[string]any) any {
	used := map[schema.GroupResource]string{}
	for resource, field := range map[schema.GroupResource]string{SecretBindings: "secretBindingName", CredentialsBindings: "credentialsBindingName"} {
		if name, _, _ := unstructured.NestedString(content, "spec", field); name != "" {
			used[resource] = name
		}
	}
	return used
}

// usedBy returns the names of the bindings that a Shoot uses, by their resource; none for nil.
func usedBy(shoot *resourcewatch.Object) map[schema.GroupResource]string {
	if shoot == nil {
		return nil
	}
	used, _ := shoot.Value.(map[schema.GroupResource]string)
	return used
}

// usedBindings returns the keys of the bindings that a Shoot uses, in its namespace.
func usedBindings(shoot *resourcewatch.Object) []string {
	var keys []string
	for resource, name := range usedBy(shoot) {
		keys = append(keys, bindingKey(resource, shoot.Namespace, name))
	}
	return keys
}

// usedBindingKinds returns the resources of the bindings that a Shoot uses.
func usedBindingKinds(shoot *resourcewatch.Object) []string {
	var resources []string
	for resource := range usedBy(shoot) {
		resources = append(resources, resource.String())
	}
	return resources
}

func bindingKey(resource schema.GroupResource, namespace, name string) string {
	return fmt.Sprintf("%s/%s/%s", resource, namespace, name)
}

// targets returns the namespaces that a binding refers to.
func targets(binding *resourcewatch.Object) []string {
	var namespaces []string
	for _, reference := range referencesOf(binding) {
		if !slices.Contains(namespaces, reference.namespace) {
			namespaces = append(namespaces, reference.namespace)
		}
	}
	return namespaces
}
