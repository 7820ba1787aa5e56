// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// Kinds of owners. The first Translation of an owner has the owner's kind in its name.
const (
	KindNode    = "Node"
	KindPod     = "Pod"
	KindService = "Service"
	// KindNamespace and KindNetworkPolicy are of backends with NetworkPolicies.
	KindNamespace     = "Namespace"
	KindNetworkPolicy = "NetworkPolicy"
)

// GroupVersionOf returns the API of a kind of owners.
func GroupVersionOf(kind string) schema.GroupVersion {
	if kind == KindNetworkPolicy {
		return networkingv1.SchemeGroupVersion
	}
	return corev1.SchemeGroupVersion
}

// Owner is the object that a Translation is made of. The zero Owner is that of the globals: none.
type Owner struct {
	// Kind is one of the constants above.
	Kind      string
	Namespace string
	Name      string
	UID       types.UID
}

// OwnerOf returns an object as owner. The kind has to be reported: objects from a client do not know theirs.
func OwnerOf(kind string, object metav1.Object) Owner {
	return Owner{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID()}
}

// TranslationNamespace returns the namespace of the Translations of the owner: its own, default for that of a Node or a
// Namespace, kube-system for the globals.
func (o Owner) TranslationNamespace() string {
	switch {
	case o.Kind == "":
		return metav1.NamespaceSystem
	case o.Namespace == "":
		return metav1.NamespaceDefault
	default:
		return o.Namespace
	}
}

// Labels returns the label that finds the Translations of the owner.
func (o Owner) Labels() map[string]string {
	if o.Kind == "" {
		return map[string]string{midonetv1.LabelGlobal: ""}
	}
	return map[string]string{midonetv1.LabelOwnerUID: string(o.UID)}
}

// References returns the one owner reference of its Translations. The globals have none, or garbage collection would
// take the network with it.
func (o Owner) References() []metav1.OwnerReference {
	if o.Kind == "" {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: GroupVersionOf(o.Kind).String(), Kind: o.Kind, Name: o.Name, UID: o.UID}}
}

// Translation returns a Translation of the owner as it must be created. Kind and key name it, see TranslationName.
func (o Owner) Translation(kind, key string, resources ...midonetv1.BackendResource) midonetv1.Translation {
	return midonetv1.Translation{
		ObjectMeta: metav1.ObjectMeta{
			Name:            TranslationName(kind, key),
			Namespace:       o.TranslationNamespace(),
			Labels:          o.Labels(),
			OwnerReferences: o.References(),
			Finalizers:      []string{midonetv1.FinalizerName},
		},
		Resources: resources,
	}
}
