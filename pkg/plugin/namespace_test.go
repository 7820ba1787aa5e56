// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// namespaceOf returns the namespace of a Project.
func namespaceOf(uid string, change func(*corev1.Namespace)) *corev1.Namespace {
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-shop", Labels: map[string]string{gardenerv1beta1.LabelProjectName: "shop"},
		Annotations: map[string]string{gardenerv1beta1.AnnotationProjectUID: uid}}}
	if change != nil {
		change(n)
	}
	return n
}

func deleting(condition corev1.NamespaceConditionType, message string) func(*corev1.Namespace) {
	return func(n *corev1.Namespace) {
		n.DeletionTimestamp, n.Finalizers = new(metav1.NewTime(noon)), []string{"kubernetes"}
		n.Status.Conditions = []corev1.NamespaceCondition{{Type: condition, Status: corev1.ConditionTrue, Message: message}}
	}
}

// TestWhyOfNamespaces checks that a namespace is explained also when the API that blocks it is Groundskeeper's, and its Project is named.
func TestWhyOfNamespaces(t *testing.T) {
	down := apierrors.NewServiceUnavailable("no endpoints")
	shop := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "1"}, Status: readyProject()}
	for _, test := range []struct {
		name      string
		namespace *corev1.Namespace
		others    []client.Object
		fails     map[string]error
		code      int
		prints    []string
	}{
		{name: "of a Project", namespace: namespaceOf("1", nil), others: []client.Object{shop}, prints: []string{"nothing blocks it", "garden-shop is the namespace of Project shop"}},
		{name: "of a missing Project", namespace: namespaceOf("2", nil), code: 1, prints: []string{"belongs to Project shop with uid 2, which does not exist"}},
		{name: "of an earlier Project", namespace: namespaceOf("2", nil), others: []client.Object{shop}, code: 1,
			prints: []string{"the Project of this name has uid 1", "kubectl annotate namespace garden-shop namespace.gardener.cloud/project-"}},
		{name: "one kind cannot be listed", namespace: namespaceOf("1", nil), others: []client.Object{shop, stalled()}, fails: map[string]error{"TranslationList": down}, code: 2,
			prints: []string{"list Translations: no endpoints", "garden-shop/web", "SecretMissing", "is the namespace of Project shop"}},
		{name: "the API is down", namespace: namespaceOf("1", deleting(corev1.NamespaceDeletionDiscoveryFailure, "stale GroupVersion discovery: midonet.org/v1")),
			fails: map[string]error{"KlusterList": down, "TranslationList": down, "DiscoveryBackendList": down, "Project": down}, code: 2,
			prints: []string{"the API of Groundskeeper is unavailable", "stale GroupVersion discovery: midonet.org/v1", "kubectl groundskeeper uninstall --force-unregister",
				"get Project shop: no endpoints", "is the namespace of Project shop"}},
		{name: "another API is down", namespace: namespaceOf("1", deleting(corev1.NamespaceDeletionDiscoveryFailure, "stale GroupVersion discovery: example.org/v1")),
			others: []client.Object{shop}, code: 1, prints: []string{"an API of the cluster is unavailable"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, out := on(t, test.fails, append(test.others, test.namespace)...)
			code, text := ExitCode(t.Context(), c.why(t.Context(), namespaceKind(), "garden-shop", ""))
			if code != test.code {
				t.Errorf("exit code = %d (%s), want %d", code, text, test.code)
			}
			for _, want := range test.prints {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output = %s, want %q in it", out, want)
				}
			}
			if another := "--force-unregister"; test.name == "another API is down" && strings.Contains(out.String(), another) {
				t.Errorf("output = %s, want no %s: it does not help", out, another)
			}
		})
	}
}

// TestStatusContinues checks that a kind that cannot be listed hides no other.
func TestStatusContinues(t *testing.T) {
	c, out := on(t, map[string]error{"KlusterList": apierrors.NewServiceUnavailable("no endpoints")})
	r, err := c.inspect(t.Context(), "garden-shop")
	if err != nil {
		t.Fatal(err)
	}
	c.printReport(r)
	for _, want := range []string{"list Klusters: no endpoints", "Translations", "DiscoveryBackends"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output = %s, want %q in it", out, want)
		}
	}
	if code, _ := ExitCode(t.Context(), result(r)); code != ExitFailed {
		t.Errorf("exit code = %d, want %d", code, ExitFailed)
	}
}
