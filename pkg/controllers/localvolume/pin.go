// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeNameField is the only field that a node selector can match.
const nodeNameField = "metadata.name"

// NodesOf returns the names of the nodes that a volume can be used on, sorted: values of one of the topology keys, or
// names of Node objects. They are none, and the second result is false, unless every term of the required node
// affinity names nodes: a zone, NotIn, Exists or an unknown key in place of it, an empty term, or no term at all, says
// nothing about which nodes have to be gone before the volume is of no use.
//
// Terms are OR-ed and expressions AND-ed: In [1,2] and In [2,3] of one key is node 2. A term that names nodes by two
// keys names those of either: it is the careful reading, as all of them have to be gone.
func NodesOf(volume *corev1.PersistentVolume, topologyKeys []string) (nodes []string, bound bool) {
	affinity := volume.Spec.NodeAffinity
	if affinity == nil || affinity.Required == nil || len(affinity.Required.NodeSelectorTerms) == 0 {
		return nil, false
	}
	for i := range affinity.Required.NodeSelectorTerms {
		named := nodesOfTerm(&affinity.Required.NodeSelectorTerms[i], topologyKeys)
		if len(named) == 0 {
			return nil, false
		}
		nodes = append(nodes, named...)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), true
}

// nodesOfTerm returns the names of the nodes of one term; none when it does not name them, or can match no node.
func nodesOfTerm(term *corev1.NodeSelectorTerm, topologyKeys []string) []string {
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
			restrict("label "+expression.Key, expression.Values)
		}
	}
	for _, field := range term.MatchFields {
		if field.Operator == corev1.NodeSelectorOpIn && field.Key == nodeNameField {
			restrict("field "+field.Key, field.Values)
		}
	}
	var named []string
	for _, values := range allowed {
		if len(values) == 0 || slices.Contains(values, "") {
			return nil
		}
		named = append(named, values...)
	}
	return named
}

// namesOf returns every name by which a volume can mean a node: its own, and the values of its topology labels. A
// node that matches a term of a volume that NodesOf calls bound has one of the names that NodesOf returns, so that no
// node matches the selector when nobody has any of these names.
func namesOf(node metav1.Object, topologyKeys []string) []string {
	names := []string{node.GetName()}
	for _, key := range topologyKeys {
		if value := node.GetLabels()[key]; value != "" && !slices.Contains(names, value) {
			names = append(names, value)
		}
	}
	return names
}
