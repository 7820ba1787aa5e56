// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// TestTerminationProtection checks that no request deletes a protected Kluster, with or without confirmation, alone or in a
// collection.
func TestTerminationProtection(t *testing.T) {
	t.Parallel()
	const annotation = "kubernikus.cloud.sap/termination-protection"
	namespace, mara := freshNamespace(t, "protected"), name(t, "mara")
	allowedKlusters(t, namespace, mara)
	c := as(t, mara)
	for kluster, value := range map[string]string{"guarded": "false", "open": ""} {
		k := klusterIn(namespace, kluster, "1.36.3")
		k.Annotations = map[string]string{annotation: value, kubernikusv1.DetachAnnotation: "true"}
		accepted(t, c.Create(t.Context(), k))
		accepted(t, confirm(t.Context(), c, k))
	}
	guarded, open := klusterIn(namespace, "guarded", ""), klusterIn(namespace, "open", "")
	all := func(c client.Client, options ...client.DeleteAllOfOption) error {
		return c.DeleteAllOf(t.Context(), &kubernikusv1.Kluster{}, append(options, client.InNamespace(namespace))...)
	}
	want := `klusters.kubernikus.sap.cc "guarded" is forbidden: metadata.annotations[` + annotation + `] protects it: remove the annotation to delete it ` +
		`(kubectl annotate kluster --namespace ` + namespace + ` guarded ` + annotation + `-)`
	user, groups := account("kube-system", "namespace-controller")
	for _, c := range []client.WithWatch{c, admin(t), clientOf(t, shared.DirectConfig(1))} {
		rejected(t, c.Delete(t.Context(), guarded), want)
		rejected(t, c.Delete(t.Context(), guarded, client.DryRunAll, client.GracePeriodSeconds(0)), want)
		rejected(t, c.Delete(t.Context(), guarded, client.PropagationPolicy(metav1.DeletePropagationOrphan)), want)
		rejected(t, all(c), want)
	}
	rejected(t, all(as(t, user, groups...)), want)
	for _, kluster := range []*kubernikusv1.Kluster{guarded, open} {
		if get(t, kluster); kluster.DeletionTimestamp != nil {
			t.Errorf("%s is being deleted", kluster.Name)
		}
	}
	accepted(t, c.Delete(t.Context(), open)) // an empty value does not protect
	_, err := kubectl(t, "", "annotate", "kluster", "--namespace", namespace, "guarded", annotation+"-")
	accepted(t, err)
	accepted(t, all(c))
	if get(t, guarded); guarded.DeletionTimestamp == nil {
		t.Error("it is not being deleted")
	}
	// A protection that comes too late pauses Deorbit. It does not make a second DELETE an error.
	accepted(t, c.Patch(t.Context(), guarded, mergePatch(`{"metadata":{"annotations":{"`+annotation+`":"true"}}}`)))
	accepted(t, c.Delete(t.Context(), guarded))
	for _, kluster := range []*kubernikusv1.Kluster{guarded, open} {
		deleteNow(t, kluster)
	}
}
