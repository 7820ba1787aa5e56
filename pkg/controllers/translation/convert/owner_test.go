// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

func TestOwner(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"}
	for name, test := range map[string]struct {
		owner Owner
		want  metav1.ObjectMeta
	}{
		"of a namespace": {OwnerOf("Service", &corev1.Service{ObjectMeta: meta}), metav1.ObjectMeta{
			Namespace: "shop", Labels: map[string]string{"midonet.org/owner-uid": "u"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web", UID: "u"}},
		}},
		"of the cluster": {OwnerOf("Node", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "v"}}), metav1.ObjectMeta{
			Namespace: "default", Labels: map[string]string{"midonet.org/owner-uid": "v"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "v"}},
		}},
		"none": {Owner{}, metav1.ObjectMeta{Namespace: "kube-system", Labels: map[string]string{"midonet.org/global": ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.Name = "pod.4.x"
			test.want.Finalizers = []string{"midonet.org/deleter"}
			expect(t, test.owner.Translation("Pod", "x"), midonetv1.Translation{ObjectMeta: test.want})
		})
	}
}

// TestTranslationsShareNothing has a change of one Translation leave the others alone.
func TestTranslationsShareNothing(t *testing.T) {
	pair := load(t, "node")
	result, again := Node(pair.Node, settings()), Node(pair.Node, settings())
	result.Translations[0].Labels["x"] = "y"
	result.Translations[0].OwnerReferences[0].UID = "other"
	result.Translations[0].Finalizers[0] = "other"
	expect(t, result.Translations[1:], again.Translations[1:])
}
