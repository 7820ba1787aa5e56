// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// volumeSources are the enabled sources of volumes, and the labels by which their volumes name a node.
type volumeSources struct {
	local, hostPath bool
	// nodeKeys are the labels for local and hostPath volumes, drivers those of each CSI driver, and all has every one of them.
	nodeKeys []string
	drivers  map[string][]string
	all      []string
}

func volumeSourcesOf(config *configv1alpha1.LocalVolumeConfiguration) volumeSources {
	s := volumeSources{
		local:    slices.Contains(config.VolumeSources, configv1alpha1.VolumeSourceLocal),
		hostPath: slices.Contains(config.VolumeSources, configv1alpha1.VolumeSourceHostPath),
		nodeKeys: config.NodeTopologyKeys, drivers: map[string][]string{}, all: slices.Clone(config.NodeTopologyKeys),
	}
	if s.hostPath || len(config.CSIDrivers) > 0 {
		s.all = append(s.all, corev1.LabelHostname)
	}
	for _, driver := range config.CSIDrivers {
		s.drivers[driver.Name] = append(s.drivers[driver.Name], driver.TopologyKey)
		s.all = append(s.all, driver.TopologyKey)
	}
	slices.Sort(s.all)
	s.all = slices.Compact(s.all)
	return s
}

// pins returns the pins of a volume, or why it is not cleaned up, with the reason of the event: EventUnsupported when its source is not
// enabled, EventNotNodeBound when it does not name its node. Volumes of sources other than local have to name one node alone.
func (s volumeSources) pins(volume *corev1.PersistentVolume) (pins []pin, reason, why string) {
	keys := s.nodeKeys
	switch {
	case volume.Spec.Local != nil && s.local:
		if pins = pinsOf(volume, keys); len(pins) == 0 {
			return nil, EventNotNodeBound, "not every term of its required node affinity names nodes " +
				"(In, on a node topology key or on metadata.name)"
		}
		return pins, "", ""
	case volume.Spec.HostPath != nil && s.hostPath:
		keys = append([]string{corev1.LabelHostname}, keys...)
	case volume.Spec.CSI != nil && s.drivers[volume.Spec.CSI.Driver] != nil:
		keys = append([]string{corev1.LabelHostname}, s.drivers[volume.Spec.CSI.Driver]...)
	case volume.Spec.CSI != nil:
		return nil, EventUnsupported, fmt.Sprintf("its CSI driver %s is not enabled; "+
			"add it with its topology key to --csi-drivers (csiDrivers) if its data is lost with the node", volume.Spec.CSI.Driver)
	case volume.Spec.Local != nil, volume.Spec.HostPath != nil:
		return nil, EventUnsupported, fmt.Sprintf("volumes with source %s are not enabled; "+
			"add it to --volume-sources (volumeSources) if their data is lost with the node", sourceOf(volume))
	default:
		return nil, EventUnsupported, fmt.Sprintf("volumes with source %s are not bound to a node", sourceOf(volume))
	}
	if !oneNode(pinnedTerms(volume, keys)) {
		return nil, EventNotNodeBound, "not every term of its required node affinity names the same single node (In, on " +
			strings.Join(keys, ", ") + " or metadata.name)"
	}
	return pinsOf(volume, keys), "", ""
}

// oneNode reports whether all terms name the same one node: each key has one value, and no term has another.
func oneNode(terms [][]pin) bool {
	var first []string
	for i, term := range terms {
		keys, names := map[string]bool{}, []string{}
		for _, p := range term {
			if keys[p.key] {
				return false
			}
			keys[p.key] = true
			names = append(names, p.name)
		}
		slices.Sort(names)
		if names = slices.Compact(names); i == 0 {
			first = names
		} else if !slices.Equal(first, names) {
			return false
		}
	}
	return len(terms) > 0
}

// sourceOf returns the name of the source of a volume, as in a manifest.
func sourceOf(volume *corev1.PersistentVolume) string {
	source := reflect.ValueOf(volume.Spec.PersistentVolumeSource)
	for i := range source.NumField() {
		if !source.Field(i).IsNil() {
			name, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return "unknown"
}

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
	pins := slices.Concat(pinnedTerms(volume, topologyKeys)...)
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
