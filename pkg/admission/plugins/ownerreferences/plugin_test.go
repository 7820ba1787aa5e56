// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ownerreferences

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// granting is an authorizer that allows what it lists, as "verb resource[/subresource] namespace/name".
type granting struct {
	allowed  []string
	err      error
	requests []string
}

func (g *granting) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	resource := a.GetResource()
	if a.GetSubresource() != "" {
		resource += "/" + a.GetSubresource()
	}
	what := a.GetVerb() + " " + resource + " " + a.GetNamespace() + "/" + a.GetName()
	g.requests = append(g.requests, what)
	if slices.Contains(g.allowed, what) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", g.err
}

func newPlugin(auth *granting) *Plugin {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Node"}, meta.RESTScopeRoot)
	plugin := New()
	plugin.SetUnconditionalAuthorizer(auth)
	plugin.SetRESTMapper(mapper)
	return plugin
}

func owner(kind, uid string, block *bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: "o", UID: types.UID(uid), BlockOwnerDeletion: block}
}

func owned(refs ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: "web", OwnerReferences: refs}
}

// write returns a request of a member; old is nil when it creates.
func write(gvr schema.GroupVersionResource, namespace string, object, old runtime.Object) admission.Attributes {
	operation := admission.Update
	if old == nil {
		operation = admission.Create
	}
	return admission.NewAttributesRecord(object, old, gvr.GroupVersion().WithKind("Any"), namespace, "web", gvr, "", operation, nil, false,
		&user.DefaultInfo{Name: "mara"})
}

func TestOwnersNeedTheVerbDelete(t *testing.T) {
	const mayDelete, mayBlock, mayBlockNode = "delete klusters garden-shop/web", "update configmaps/finalizers garden-shop/o", "update nodes/finalizers /o"
	plain, map1, map2 := owned(), owned(owner("ConfigMap", "1", nil)), owned(owner("ConfigMap", "2", nil))
	blocking, free := owned(owner("ConfigMap", "1", new(true))), owned(owner("ConfigMap", "1", new(false)))
	for _, tc := range []struct {
		name        string
		object, old *metav1.ObjectMeta
		needs       []string
	}{
		{"no owner", &plain, &plain, nil},
		{"the same owner", &map1, &map1, nil},
		{"created with an owner", &map1, nil, nil},
		{"an owner added", &map1, &plain, []string{mayDelete}},
		{"an owner removed", &plain, &map1, []string{mayDelete}},
		{"another owner", &map2, &map1, []string{mayDelete}},
		{"created, blocking", &blocking, nil, []string{mayBlock}},
		{"a blocking owner added", &blocking, &plain, []string{mayDelete, mayBlock}},
		{"made blocking", &blocking, &free, []string{mayDelete, mayBlock}},
		{"made free", &free, &blocking, []string{mayDelete}},
		{"still blocking", &blocking, &blocking, nil},
		{"a cluster-scoped owner", new(owned(owner("Node", "3", new(true)))), &plain, []string{mayDelete, mayBlockNode}},
	} {
		kluster := func(m *metav1.ObjectMeta) runtime.Object {
			if m == nil {
				return nil
			}
			return &kubernikusv1.Kluster{ObjectMeta: *m}
		}
		request := write(kubernikusv1.SchemeGroupVersion.WithResource("klusters"), "garden-shop", kluster(tc.object), kluster(tc.old))
		auth := &granting{allowed: tc.needs}
		if err := newPlugin(auth).Validate(t.Context(), request, nil); err != nil {
			t.Errorf("%s: with all permissions: %v", tc.name, err)
		}
		if !slices.Equal(auth.requests, tc.needs) {
			t.Errorf("%s: reviewed %q, want %q", tc.name, auth.requests, tc.needs)
		}
		for i, need := range tc.needs {
			without := &granting{allowed: slices.Delete(slices.Clone(tc.needs), i, i+1)}
			if err := newPlugin(without).Validate(t.Context(), request, nil); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "metadata.ownerReferences") {
				t.Errorf("%s: without %q: %v", tc.name, need, err)
			}
		}
	}
}

// All four kinds are guarded, and the labels by which Groundskeeper's controllers find owners.
func TestKindsAndLabels(t *testing.T) {
	labelled := func(key, value string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "web", Labels: map[string]string{key: value}}
	}
	for _, tc := range []struct {
		gvr    schema.GroupVersionResource
		labels []string
		object func(metav1.ObjectMeta) runtime.Object
	}{
		{gardenerv1beta1.SchemeGroupVersion.WithResource("projects"), nil,
			func(m metav1.ObjectMeta) runtime.Object { return &gardenerv1beta1.Project{ObjectMeta: m} }},
		{kubernikusv1.SchemeGroupVersion.WithResource("klusters"), nil,
			func(m metav1.ObjectMeta) runtime.Object { return &kubernikusv1.Kluster{ObjectMeta: m} }},
		{midonetv1.SchemeGroupVersion.WithResource("translations"), []string{"midonet.org/owner-uid", "midonet.org/global"},
			func(m metav1.ObjectMeta) runtime.Object { return &midonetv1.Translation{ObjectMeta: m} }},
		{gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), []string{"groundskeeper.io/kluster-namespace", "groundskeeper.io/kluster-name", "groundskeeper.io/kluster-uid"},
			func(m metav1.ObjectMeta) runtime.Object { return &gimbalv1.DiscoveryBackend{ObjectMeta: m} }},
	} {
		allowed := &granting{allowed: []string{"delete " + tc.gvr.Resource + " /web"}}
		check := func(what string, object, old metav1.ObjectMeta) {
			t.Helper()
			request := write(tc.gvr, "", tc.object(object), tc.object(old))
			if err := newPlugin(&granting{}).Validate(t.Context(), request, nil); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), what) {
				t.Errorf("%s, %s: without the verb: %v", tc.gvr.Resource, what, err)
			}
			if err := newPlugin(allowed).Validate(t.Context(), request, nil); err != nil {
				t.Errorf("%s, %s: with the verb: %v", tc.gvr.Resource, what, err)
			}
		}
		check("metadata.ownerReferences", owned(owner("ConfigMap", "gone", nil)), owned())
		for _, label := range tc.labels {
			check("metadata.labels["+label+"]", labelled(label, ""), owned())
			check("metadata.labels["+label+"]", labelled(label, "1"), labelled(label, "2"))
			check("metadata.labels["+label+"]", owned(), labelled(label, "1"))
		}
		for name, request := range map[string]admission.Attributes{
			"another label":           write(tc.gvr, "", tc.object(labelled("a", "b")), tc.object(owned())),
			"created with its labels": write(tc.gvr, "", tc.object(labelled("midonet.org/owner-uid", "1")), nil),
			"another resource": write(gardenerv1beta1.SchemeGroupVersion.WithResource("shoots"), "",
				tc.object(owned(owner("ConfigMap", "gone", nil))), tc.object(owned())),
		} {
			if err := newPlugin(&granting{}).Validate(t.Context(), request, nil); err != nil {
				t.Errorf("%s, %s: %v", tc.gvr.Resource, name, err)
			}
		}
	}
}

func TestUnknownOwners(t *testing.T) {
	gvr := kubernikusv1.SchemeGroupVersion.WithResource("klusters")
	blocking := func(apiVersion, kind string) runtime.Object {
		ref := owner(kind, "1", new(true))
		ref.APIVersion = apiVersion
		return &kubernikusv1.Kluster{ObjectMeta: owned(ref)}
	}
	for name, object := range map[string]runtime.Object{"a kind that is not served": blocking("v1", "Nobody"), "no version": blocking("a/b/c", "Node")} {
		if err := newPlugin(&granting{}).Validate(t.Context(), write(gvr, "x", object, nil), nil); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	away := &granting{err: errors.New("kube-apiserver is unavailable")}
	for name, request := range map[string]admission.Attributes{
		"delete": write(gvr, "x", blocking("v1", "Node"), &kubernikusv1.Kluster{}), "block": write(gvr, "x", blocking("v1", "Node"), nil),
		"no object": write(gvr, "x", &kubernikusv1.KlusterList{}, nil),
	} {
		if err := newPlugin(away).Validate(t.Context(), request, nil); !apierrors.IsInternalError(err) {
			t.Errorf("%s: got %v, want an internal error", name, err)
		}
	}
}

func TestValidateInitialization(t *testing.T) {
	plugin := New()
	if plugin.ValidateInitialization() == nil {
		t.Error("it is initialized without anything")
	}
	plugin.SetRESTMapper(meta.NewDefaultRESTMapper(nil))
	if plugin.ValidateInitialization() == nil {
		t.Error("it is initialized without an authorizer")
	}
	plugin.SetUnconditionalAuthorizer(&granting{})
	if err := plugin.ValidateInitialization(); err != nil {
		t.Error(err)
	}
}
