// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package protectedmetadata

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// kind is one of the four kinds, with an object of it.
type kind struct {
	gvr       schema.GroupVersionResource
	namespace string
	finalizer string
	object    func(metav1.ObjectMeta) runtime.Object
}

func kinds() []kind {
	return []kind{
		{gardenerv1beta1.SchemeGroupVersion.WithResource("projects"), "", "gardener",
			func(m metav1.ObjectMeta) runtime.Object { return &gardenerv1beta1.Project{ObjectMeta: m} }},
		{kubernikusv1.SchemeGroupVersion.WithResource("klusters"), "garden-shop", "kubernikus.sap.cc/deorbiter",
			func(m metav1.ObjectMeta) runtime.Object { return &kubernikusv1.Kluster{ObjectMeta: m} }},
		{kubernikusv1.SchemeGroupVersion.WithResource("klusters"), "garden-shop", "groundskeeper.io/cluster-api",
			func(m metav1.ObjectMeta) runtime.Object { return &kubernikusv1.Kluster{ObjectMeta: m} }},
		{kubernikusv1.SchemeGroupVersion.WithResource("klusters"), "garden-shop", "deorbiter",
			func(m metav1.ObjectMeta) runtime.Object { return &kubernikusv1.Kluster{ObjectMeta: m} }},
		{midonetv1.SchemeGroupVersion.WithResource("translations"), "garden-shop", "midonet.org/deleter",
			func(m metav1.ObjectMeta) runtime.Object { return &midonetv1.Translation{ObjectMeta: m} }},
		{gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), "garden-shop", "gimbal.heptio.com/discovery-backend",
			func(m metav1.ObjectMeta) runtime.Object { return &gimbalv1.DiscoveryBackend{ObjectMeta: m} }},
	}
}

// granting is an authorizer that allows some verbs, and records the requests.
type granting struct {
	verbs    []string
	err      error
	requests []authorizer.Attributes
}

func (g *granting) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	g.requests = append(g.requests, a)
	if slices.Contains(g.verbs, a.GetVerb()) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", g.err
}

// attributes returns those of a write by a member; old is nil when it creates.
func (k kind) attributes(object, old *metav1.ObjectMeta, subresource string) admission.Attributes {
	operation, before := admission.Create, runtime.Object(nil)
	if old != nil {
		operation, before = admission.Update, k.object(*old)
	}
	return admission.NewAttributesRecord(k.object(*object), before, k.gvr.GroupVersion().WithKind("Any"), k.namespace, object.Name, k.gvr, subresource,
		operation, nil, false, &user.DefaultInfo{Name: "mara"})
}

func TestNeeds(t *testing.T) {
	annotated := func(pairs ...string) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Name: "web", Annotations: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			m.Annotations[pairs[i]] = pairs[i+1]
		}
		return m
	}
	const paused, detach, destroy, protection = "groundskeeper.io/paused", "groundskeeper.io/detach", "kubernikus.sap.cc/self-destruct", "kubernikus.cloud.sap/termination-protection"
	plain, kept, bare := annotated(), annotated(), annotated()
	for _, tc := range []struct {
		name        string
		object, old *metav1.ObjectMeta
		verbs       []string
	}{
		{"nothing, created", &plain, nil, nil},
		{"nothing", &plain, &plain, nil},
		{"another annotation", new(annotated("a", "b")), &plain, nil},
		{"the confirmation of a deletion", new(annotated("confirmation.gardener.cloud/deletion", "true")), &plain, nil},
		{"paused at creation", new(annotated(paused, "true")), nil, []string{VerbPause}},
		{"paused", new(annotated(paused, "true")), &plain, []string{VerbPause}},
		{"resumed", &plain, new(annotated(paused, "true")), []string{VerbPause}},
		{"another value", new(annotated(paused, "false")), new(annotated(paused, "true")), []string{VerbPause}},
		{"an empty value", new(annotated(paused, "")), &plain, []string{VerbPause}},
		{"an empty value removed", &plain, new(annotated(paused, "")), []string{VerbPause}},
		{"still paused", new(annotated(paused, "true", "a", "b")), new(annotated(paused, "true")), nil},
		{"detached", new(annotated(detach, "true")), &plain, []string{VerbDetach}},
		{"created detached", new(annotated(detach, "true")), nil, []string{VerbDetach}},
		{"self-destruct", new(annotated(destroy, "now")), &plain, []string{VerbDetach}},
		{"both", new(annotated(destroy, "now", detach, "true")), &plain, []string{VerbDetach}},
		{"protected", new(annotated(protection, "true")), &plain, []string{VerbProtect}},
		{"no longer protected", &plain, new(annotated(protection, "true")), []string{VerbProtect}},
		{"a drift check", new(annotated("midonet.org/check-drift", "1")), &plain, []string{VerbCheckDrift}},
		{"a Cluster of Cluster API", new(annotated("groundskeeper.io/cluster-api-uid", "uid")), &plain, []string{VerbManageClusterAPI}},
		{"its Machines", new(annotated("groundskeeper.io/machines", "Deleted")), new(annotated("groundskeeper.io/machines", "Present")), []string{VerbManageClusterAPI}},
		{"its pause", &plain, new(annotated("groundskeeper.io/paused-with-cluster", "true")), []string{VerbManageClusterAPI}},
		{"another cluster", new(annotated("gimbal.heptio.com/confirmed-cluster", "uid")), &plain, []string{VerbConfirmCluster}},
		{"one allowed does not carry another", new(annotated(paused, "true", detach, "true")), &plain, []string{VerbPause, VerbDetach}},
	} {
		for _, k := range kinds() {
			auth := &granting{verbs: tc.verbs}
			plugin := New()
			plugin.SetUnconditionalAuthorizer(auth)
			if err := plugin.Validate(t.Context(), k.attributes(tc.object, tc.old, ""), nil); err != nil {
				t.Errorf("%s, %s: with the verbs %q: %v", k.gvr.Resource, tc.name, tc.verbs, err)
			}
			var requests []string
			for _, a := range auth.requests {
				requests = append(requests, a.GetVerb())
				if a.GetUser().GetName() != "mara" || a.GetName() != "web" || a.GetNamespace() != k.namespace || a.GetResource() != k.gvr.Resource ||
					a.GetAPIGroup() != k.gvr.Group || a.GetSubresource() != "" || !a.IsResourceRequest() {
					t.Errorf("%s, %s: reviewed %+v", k.gvr.Resource, tc.name, a)
				}
			}
			if !slices.Equal(requests, tc.verbs) {
				t.Errorf("%s, %s: reviewed %q, want %q", k.gvr.Resource, tc.name, requests, tc.verbs)
			}
			for i, verb := range tc.verbs {
				auth.verbs = slices.Delete(slices.Clone(tc.verbs), i, i+1)
				err := plugin.Validate(t.Context(), k.attributes(tc.object, tc.old, "status"), nil)
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), verb) {
					t.Errorf("%s, %s: without the verb %q: %v", k.gvr.Resource, tc.name, verb, err)
				}
			}
		}
	}
	for _, k := range kinds() {
		kept.Finalizers, bare.Finalizers = []string{"example.com/other", k.finalizer}, []string{"example.com/other"}
		for name, tc := range map[string]struct {
			object, old *metav1.ObjectMeta
			rejected    bool
		}{
			"known one removed": {&bare, &kept, true},
			"all removed":       {&plain, &kept, true},
			"known one added":   {&kept, &bare, false},
			"created without":   {&bare, nil, false},
			"unchanged":         {&kept, &kept, false},
			"theirs removed":    {&metav1.ObjectMeta{Name: "web", Finalizers: []string{k.finalizer}}, &kept, false},
			"another spelling":  {&metav1.ObjectMeta{Name: "web", Finalizers: []string{strings.ToUpper(k.finalizer)}}, &kept, true},
		} {
			for _, verbs := range [][]string{nil, {VerbPause, VerbDetach, VerbProtect}, {VerbManageFinalizers}} {
				plugin := New()
				plugin.SetUnconditionalAuthorizer(&granting{verbs: verbs})
				err := plugin.Validate(t.Context(), k.attributes(tc.object, tc.old, ""), nil)
				if rejected := tc.rejected && !slices.Contains(verbs, VerbManageFinalizers); apierrors.IsForbidden(err) != rejected || err != nil != rejected {
					t.Errorf("%s, %s, with the verbs %q: %v", k.finalizer, name, verbs, err)
				}
			}
		}
	}
}

func TestOtherResourcesPass(t *testing.T) {
	k := kinds()[0]
	k.gvr = gardenerv1beta1.SchemeGroupVersion.WithResource("shoots")
	object, old := metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"groundskeeper.io/paused": "true"}}, metav1.ObjectMeta{Name: "web"}
	plugin := New()
	plugin.SetUnconditionalAuthorizer(&granting{})
	if err := plugin.Validate(t.Context(), k.attributes(&object, &old, ""), nil); err != nil {
		t.Error(err)
	}
}

// TestUnknownDecision checks that an unknown decision is neither allowed nor forbidden.
func TestUnknownDecision(t *testing.T) {
	object, old := metav1.ObjectMeta{Name: "web"}, metav1.ObjectMeta{Name: "web", Finalizers: []string{"gardener"}}
	away := errors.New("kube-apiserver is unavailable")
	plugin := New()
	if plugin.ValidateInitialization() == nil {
		t.Error("it is initialized without an authorizer")
	}
	plugin.SetUnconditionalAuthorizer(&granting{err: away})
	if err := plugin.Validate(t.Context(), kinds()[0].attributes(&object, &old, ""), nil); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), away.Error()) {
		t.Errorf("got %v, want an internal error", err)
	}
	list := admission.NewAttributesRecord(&gardenerv1beta1.ProjectList{}, nil, gardenerv1beta1.SchemeGroupVersion.WithKind("Any"), "", "web",
		gardenerv1beta1.SchemeGroupVersion.WithResource("projects"), "", admission.Create, nil, false, &user.DefaultInfo{Name: "mara"})
	if err := plugin.Validate(t.Context(), list, nil); !apierrors.IsInternalError(err) {
		t.Errorf("got %v, want an internal error", err)
	}
}
