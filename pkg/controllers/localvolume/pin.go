// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeNameField is the only field that a node selector can match.
const nodeNameField = "metadata.name"

// pin is a name by which a volume means a node: the value of a topology label, or the name of the Node object when key
// is empty.
type pin struct{ key, name string }

// pinsOf returns the pins of the nodes that a volume can be used on, sorted: values of one of the topology keys, or names of Node
// objects. There are none unless every term of the required node affinity names nodes. With a zone, NotIn, Exists, an unknown key, an empty
// term or no term at all, the nodes whose deletion makes the volume unusable are unknown.
//
// Terms are ORed and expressions ANDed: In [1,2] and In [2,3] of one key result in node 2. A term that names nodes by two keys results in
// the nodes of both, which is the conservative interpretation, because all of them have to be deleted.
func pinsOf(volume *corev1.PersistentVolume, topologyKeys []string) []pin {
	var pins []pin
	for _, term := range pinnedTerms(volume, topologyKeys) {
		pins = append(pins, term...)
	}
	slices.SortFunc(pins, func(a, b pin) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.key, b.key)) })
	return slices.Compact(pins)
}

// pinnedTerms returns the pins of each term, or nothing when a term does not name nodes.
func pinnedTerms(volume *corev1.PersistentVolume, topologyKeys []string) [][]pin {
	affinity := volume.Spec.NodeAffinity
	if affinity == nil || affinity.Required == nil {
		return nil
	}
	var terms [][]pin
	for i := range affinity.Required.NodeSelectorTerms {
		named := pinsOfTerm(&affinity.Required.NodeSelectorTerms[i], topologyKeys)
		if len(named) == 0 {
			return nil
		}
		terms = append(terms, named)
	}
	return terms
}

// pinsOfTerm returns the pins of one term; none when it does not name nodes, or can match no node.
func pinsOfTerm(term *corev1.NodeSelectorTerm, topologyKeys []string) []pin {
	allowed := map[string][]string{}
	restrict := func(key string, values []string) {
		before, known := allowed[key]
		if !known {
			allowed[key] = slices.Clone(values)
			return
		}
		allowed[key] = slices.DeleteFunc(before, func(value string) bool { return !slices.Contains(values, value) })
	}
	for _, expression := range term.MatchExpressions {
		if expression.Operator == corev1.NodeSelectorOpIn && slices.Contains(topologyKeys, expression.Key) {
			restrict(expression.Key, expression.Values)
		}
	}
	for _, field := range term.MatchFields {
		if field.Operator == corev1.NodeSelectorOpIn && field.Key == nodeNameField {
			restrict("", field.Values)
		}
	}
	var named []pin
	for key, values := range allowed {
		if len(values) == 0 || slices.Contains(values, "") {
			return nil
		}
		for _, value := range values {
			if p := (pin{key, value}); !slices.Contains(named, p) {
				named = append(named, p)
			}
		}
	}
	return named
}

// namesOf returns every name by which a volume can mean a node: its own, and the values of its topology labels. A
// node that matches a term of a volume with pins has one of the names of these pins, so that no node matches the
// selector when no Node has any of these names.
func namesOf(node metav1.Object, topologyKeys []string) []string {
	names := []string{node.GetName()}
	for _, key := range topologyKeys {
		if value := node.GetLabels()[key]; value != "" && !slices.Contains(names, value) {
			names = append(names, value)
		}
	}
	return names
}
