// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// TestValidatingPolicyRejects checks that a ValidatingAdmissionPolicy of the management cluster can reject a Groundskeeper object.
func TestValidatingPolicyRejects(t *testing.T) {
	t.Parallel()
	namespace, policy := freshNamespace(t, "vap"), name(t, "vap")
	inTheCluster(t, &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policy},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: klustersOf(namespace),
			Validations: []admissionregistrationv1.Validation{{
				Expression: "object.spec.version.startsWith('1.36.')", Message: "only 1.36 is allowed here",
			}},
		},
	})
	inTheCluster(t, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	})
	rejectedSoon(t, klusterIn(namespace, "old", "1.35.1"), "only 1.36 is allowed here")
	if err := admin(t).Create(t.Context(), klusterIn(namespace, "new", "1.36.3")); err != nil {
		t.Errorf("a Kluster that the policy allows: %v", err)
	}
}

// TestMutatingPolicyChanges checks that a MutatingAdmissionPolicy of the management cluster can change a Groundskeeper object.
func TestMutatingPolicyChanges(t *testing.T) {
	t.Parallel()
	namespace, policy := freshNamespace(t, "map"), name(t, "map")
	matches := *klustersOf(namespace)
	inTheCluster(t, &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policy},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &matches, ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{
					Expression: `Object{metadata: Object.metadata{labels: {"marked": "by-policy"}}, spec: Object.spec{dex: false}}`,
				},
			}},
		},
	})
	inTheCluster(t, &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policy},
	})
	c := admin(t)
	eventually(t, func(ctx context.Context) error {
		kluster := klusterIn(namespace, "demo", "1.36.3")
		if err := c.Create(ctx, kluster, client.DryRunAll); err != nil {
			return err
		}
		if kluster.Labels["marked"] != "by-policy" || *kluster.Spec.Dex {
			return fmt.Errorf("labels %v, dex %v", kluster.Labels, *kluster.Spec.Dex)
		}
		return nil
	})
}

// TestWebhookRejects checks that a validating webhook of the management cluster can reject a Groundskeeper object, and is called
// only for those it matches.
func TestWebhookRejects(t *testing.T) {
	t.Parallel()
	namespace := freshNamespace(t, "hook")
	webhook(t, namespace, func(request *admissionv1.AdmissionRequest) error {
		kluster := &kubernikusv1.Kluster{}
		if err := json.Unmarshal(request.Object.Raw, kluster); err != nil {
			return err
		}
		if kluster.Spec.Name == "refused" && request.UserInfo.Username == "admin" {
			return errors.New("the webhook does not like that name")
		}
		return nil
	})
	rejectedSoon(t, klusterIn(namespace, "refused", "1.36.3"), "the webhook does not like that name")
	if err := admin(t).Create(t.Context(), klusterIn(namespace, "good", "1.36.3")); err != nil {
		t.Errorf("a Kluster that the webhook allows: %v", err)
	}
}

func klusterIn(namespace, name, version string) *kubernikusv1.Kluster {
	return &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: kubernikusv1.KlusterSpec{Version: version}}
}

// klustersOf matches the creation of Klusters in one namespace.
func klustersOf(namespace string) *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		ResourceRules:     []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: createKlusters()}},
	}
}

func createKlusters() admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"kubernikus.sap.cc"}, APIVersions: []string{"*"}, Resources: []string{"klusters"}},
	}
}

// inTheCluster creates an object on the shared plane and takes it away when the test ends.
func inTheCluster(t *testing.T, object client.Object) {
	t.Helper()
	c := admin(t)
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Patch(context.Background(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		if err := client.IgnoreNotFound(c.Delete(context.Background(), object)); err != nil {
			t.Error(err)
		}
	})
}

// rejectedSoon waits until the creation of an object is rejected with the words: admission receives the objects of the host by a watch.
func rejectedSoon(t *testing.T, object client.Object, words string) {
	t.Helper()
	c := admin(t)
	eventually(t, func(ctx context.Context) error {
		err := c.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
		switch {
		case err == nil:
			return errors.New("not rejected")
		case !strings.Contains(err.Error(), words):
			return err
		}
		return nil
	})
	if err := c.Create(t.Context(), object); err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("creation ends with %v, want %q", err, words)
	}
}
