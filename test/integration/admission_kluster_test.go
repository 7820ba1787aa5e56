// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// allowed gives users verbs on a resource in a namespace, and waits until the kube-apiserver knows.
func allowed(t *testing.T, namespace, group, resource string, verbs []string, users ...string) {
	t.Helper()
	role := name(t, "allowed")
	inTheCluster(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{group}, Resources: []string{resource, resource + "/status"}, Verbs: verbs,
	}}})
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role}}
	for _, user := range users {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user})
	}
	inTheCluster(t, binding)
	for _, user := range users {
		for _, verb := range verbs {
			may(t, as(t, user), authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: resource})
		}
	}
}

// registered creates a Kluster on the shared plane, and takes it away when the test ends.
func registered(t *testing.T, c client.Client, k *kubernikusv1.Kluster) *kubernikusv1.Kluster {
	t.Helper()
	if err := c.Create(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, c := context.Background(), admin(t)
		release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		for _, err := range []error{confirm(ctx, c, k), c.Delete(ctx, k), client.IgnoreNotFound(c.Patch(ctx, k, release))} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return k
}

// TestAnnouncingNeedsPermission checks that a user who enables the announcement of a Kluster must be allowed to create
// DiscoveryBackends in the target namespace, whatever the path of the request.
func TestAnnouncingNeedsPermission(t *testing.T) {
	t.Parallel()
	namespace, team := freshNamespace(t, "announce"), freshNamespace(t, "team")
	anna, bert := name(t, "anna"), name(t, "bert")
	allowed(t, namespace, kubernikusv1.GroupName, "klusters", []string{"get", "create", "update", "patch"}, anna, bert)
	allowed(t, discoveryNamespace, gimbalv1.GroupName, "discoverybackends", []string{"create"}, bert)
	words := func(field, in string) string {
		return fmt.Sprintf("%s: user %q cannot create discoverybackends.gimbal.heptio.com in namespace %q", field, anna, in)
	}
	enabled := func(object string) *kubernikusv1.Kluster {
		k := klusterIn(namespace, object, "1.36.3")
		k.Spec.Discovery = &kubernikusv1.DiscoverySpec{Enabled: true}
		return k
	}
	plain := registered(t, admin(t), klusterIn(namespace, "plain", "1.36.3"))
	apply := func(object string) client.Patch {
		return client.RawPatch(types.ApplyPatchType, fmt.Appendf(nil, `{"apiVersion":"kubernikus.sap.cc/v1","kind":"Kluster","metadata":{"name":%q,"namespace":%q},
			"spec":{"version":"1.36.3","discovery":{"enabled":true}}}`, object, namespace))
	}
	merge := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"discovery":{"enabled":true}}}`))
	sneaky := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"discovery":{"enabled":true}},"status":{"phase":"Running"}}`))
	for who, rejection := range map[string]string{anna: words("spec.discovery.enabled", discoveryNamespace), bert: ""} {
		c := as(t, who)
		judge := func(what string, err error) {
			t.Helper()
			if rejection == "" && err != nil {
				t.Errorf("%s by who may: %v", what, err)
			} else if rejection != "" {
				rejected(t, err, rejection)
			}
		}
		created := enabled("created")
		judge("create", c.Create(t.Context(), created, client.DryRunAll))
		generated := enabled("")
		generated.GenerateName, generated.Spec.Name = "generated-", "short"
		judge("create with a generated name", c.Create(t.Context(), generated, client.DryRunAll))
		judge("apply a new one", c.Patch(t.Context(), enabled("applied"), apply("applied"), client.FieldOwner("test"), client.DryRunAll))
		judge("apply", c.Patch(t.Context(), klusterIn(namespace, plain.Name, ""), apply(plain.Name), client.FieldOwner("test"), client.ForceOwnership, client.DryRunAll))
		judge("merge", c.Patch(t.Context(), klusterIn(namespace, plain.Name, ""), merge, client.DryRunAll))
		update := plain.DeepCopy()
		update.ResourceVersion = ""
		update.Spec.Discovery = &kubernikusv1.DiscoverySpec{Enabled: true}
		judge("update", c.Update(t.Context(), update, client.DryRunAll))
		_, err := protobufAs(t, who).KubernikusV1().Klusters(namespace).Create(t.Context(), enabled("binary"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		judge("create in protobuf", err)
		// The status does not carry a spec past.
		stored := klusterIn(namespace, plain.Name, "")
		accepted(t, c.Status().Patch(t.Context(), stored, sneaky))
		if get(t, stored); stored.Spec.Discovery != nil {
			t.Errorf("the status brought %+v", stored.Spec.Discovery)
		}
	}

	// One that is announced: to move it takes the right in the other namespace; all else takes none.
	announced := registered(t, as(t, bert), enabled("announced"))
	patch := func(who, discovery string) error {
		return as(t, who).Patch(t.Context(), klusterIn(namespace, announced.Name, ""), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"discovery":`+discovery+`}}`)), client.DryRunAll)
	}
	accepted(t, patch(anna, `{"drainPolicy":"KeepSole"}`))
	accepted(t, patch(anna, `{"enabled":false}`))
	accepted(t, patch(anna, `null`))
	rejected(t, patch(anna, `{"namespace":"`+team+`"}`), words("spec.discovery.namespace", team))
	rejected(t, patch(bert, `{"namespace":"`+team+`"}`), "spec.discovery.namespace", team)
	allowed(t, team, gimbalv1.GroupName, "discoverybackends", []string{"create"}, anna)
	eventually(t, func(context.Context) error { return patch(anna, `{"namespace":"`+team+`"}`) }) // rejections are cached for a while
	accepted(t, as(t, anna).Patch(t.Context(), klusterIn(namespace, announced.Name, ""), annotate(), client.DryRunAll))
}

// TestRangesOnOneRouter checks that Klusters on one router cannot have overlapping ranges, whichever API server receives the
// requests.
func TestRangesOnOneRouter(t *testing.T) {
	t.Parallel()
	bank, shop, router := freshNamespace(t, "bank"), freshNamespace(t, "shop"), uuid.NewString()
	placed := func(namespace, object, router, pods string) *kubernikusv1.Kluster {
		k := klusterIn(namespace, object, "1.36.3")
		k.Spec.Openstack.RouterID, k.Spec.ClusterCIDR = router, new(pods)
		return k
	}
	registered(t, admin(t), placed(bank, "web", router, "100.100.0.0/16"))
	words := "spec.clusterCIDR: 100.100.128.0/17 overlaps 100.100.0.0/16 of Kluster " + bank + "/web on the same router " + router
	for i, config := range []*versioned.Clientset{clientsetOf(t, 0), clientsetOf(t, 1)} {
		eventually(t, func(ctx context.Context) error { // its index follows the write
			_, err := config.KubernikusV1().Klusters(shop).Create(ctx, placed(shop, "late", router, "100.100.128.0/17"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil {
				return fmt.Errorf("server %d lets it pass", i)
			}
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), words) {
				return fmt.Errorf("server %d: %w", i, err)
			}
			return nil
		})
	}
	c := admin(t)
	other := registered(t, c, placed(shop, "other", "", "100.100.128.0/17"))
	route := func(spec map[string]any) error {
		patch, err := json.Marshal(map[string]any{"spec": spec})
		if err != nil {
			t.Fatal(err)
		}
		return c.Patch(t.Context(), other.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	}
	rejected(t, route(map[string]any{"openstack": map[string]any{"routerID": router}}), words)
	accepted(t, c.Create(t.Context(), placed(shop, "beside", router, "100.101.0.0/16"), client.DryRunAll))
	accepted(t, c.Create(t.Context(), placed(shop, "elsewhere", uuid.NewString(), "100.100.0.0/16"), client.DryRunAll))
	alone := placed(shop, "alone", router, "100.100.0.0/16")
	alone.Spec.NoCloud = true
	accepted(t, c.Create(t.Context(), alone, client.DryRunAll))

	// A router that was found is no request; the conflict stays editable, and cannot be requested again.
	accepted(t, c.Status().Patch(t.Context(), other.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"openstack":{"routerID":"`+router+`"}}}`))))
	accepted(t, route(map[string]any{"version": "1.36.4"}))
	accepted(t, route(map[string]any{"openstack": map[string]any{"routerID": router}}))
	get(t, other)
	if other.RouterID() != router || other.Spec.Version != "1.36.4" {
		t.Errorf("got %+v, %s", other.Spec.Openstack, other.Spec.Version)
	}
}

// clientsetOf returns a client of one of the servers of the shared plane: 0 is the aggregator, 1 the second server.
func clientsetOf(t *testing.T, server int) *versioned.Clientset {
	t.Helper()
	config := shared.Config()
	if server > 0 {
		config = shared.DirectConfig(server)
	}
	c, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
