// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

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

// pins returns the pins of a volume, or why it is not cleaned up: unsupported when its source is not enabled, unbound when
// it does not name its node. Volumes of sources other than local have to name one node alone.
func (s volumeSources) pins(volume *corev1.PersistentVolume) (pins []pin, unsupported, unbound string) {
	keys := s.nodeKeys
	switch {
	case volume.Spec.Local != nil && s.local:
		if pins = pinsOf(volume, keys); len(pins) == 0 {
			unbound = "not every term of its required node affinity names nodes (In, on a node topology key or on metadata.name)"
		}
		return pins, "", unbound
	case volume.Spec.HostPath != nil && s.hostPath:
		keys = append([]string{corev1.LabelHostname}, keys...)
	case volume.Spec.CSI != nil && s.drivers[volume.Spec.CSI.Driver] != nil:
		keys = append([]string{corev1.LabelHostname}, s.drivers[volume.Spec.CSI.Driver]...)
	case volume.Spec.CSI != nil:
		return nil, fmt.Sprintf("its CSI driver %s is not enabled; add it with its topology key to --csi-drivers (csiDrivers) if its data is lost with the node", volume.Spec.CSI.Driver), ""
	case volume.Spec.Local != nil, volume.Spec.HostPath != nil:
		return nil, fmt.Sprintf("volumes with source %s are not enabled; add it to --volume-sources (volumeSources) if their data is lost with the node", sourceOf(volume)), ""
	default:
		return nil, fmt.Sprintf("volumes with source %s are not bound to a node", sourceOf(volume)), ""
	}
	terms := pinnedTerms(volume, keys)
	if !oneNode(terms) {
		return nil, "", "not every term of its required node affinity names the same single node (In, on " + strings.Join(keys, ", ") + " or metadata.name)"
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
