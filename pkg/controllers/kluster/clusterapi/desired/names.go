// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
)

// AddonsGroup is the group of ClusterResourceSets.
const AddonsGroup = "addons.cluster.x-k8s.io"

// ResourceSet is what is known of a ClusterResourceSet, which has manifests that Cluster API applies in clusters.
type ResourceSet struct {
	// Selector selects Clusters of its namespace; nil: none.
	Selector labels.Selector
	// ConfigMaps and Secrets are the names of those with its manifests.
	ConfigMaps, Secrets []string
}

type resourceSetObject struct {
	Spec struct {
		ClusterSelector metav1.LabelSelector `json:"clusterSelector"`
		Resources       []struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"resources"`
	} `json:"spec"`
}

// ResourceSetOf returns what is kept of a ClusterResourceSet. One that cannot be read selects no Cluster: it only has names that may be
// unknown.
func ResourceSetOf(content map[string]any) *ResourceSet {
	o := &resourceSetObject{}
	if err := decode(content, o); err != nil {
		return &ResourceSet{}
	}
	selector, err := metav1.LabelSelectorAsSelector(&o.Spec.ClusterSelector)
	if err != nil || selector.Empty() {
		return &ResourceSet{} // an empty selector selects no Cluster
	}
	set := &ResourceSet{Selector: selector}
	for _, resource := range o.Spec.Resources {
		switch resource.Kind {
		case "ConfigMap":
			set.ConfigMaps = append(set.ConfigMaps, resource.Name)
		case "Secret":
			set.Secrets = append(set.Secrets, resource.Name)
		}
	}
	return set
}

// Selects reports whether the manifests are applied in the cluster of a Cluster with these labels.
func (s *ResourceSet) Selects(of map[string]string) bool {
	return s.Selector != nil && s.Selector.Matches(labels.Set(of))
}

// NamesIn returns the names with which manifests run the OpenStack cloud controller manager and the Cinder CSI driver. A name is unknown if
// they have several, or one that cannot be read.
func NamesIn(manifests []string) Names {
	world := &inventory.World{}
	for _, manifest := range manifests {
		reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
		for {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return Names{}
			}
			if pod := podOf(document); pod != nil {
				world.NamesOf(pod)
			}
		}
	}
	return Names{ClusterName: known(world.ClusterNames), CSIClusterID: known(world.CSIClusterIDs)}
}

// Without returns the names that are not known from elsewhere.
func (n Names) Without(others Names) Names {
	if others.ClusterName != "" {
		n.ClusterName = ""
	}
	if others.CSIClusterID != "" {
		n.CSIClusterID = ""
	}
	return n
}

// podOf returns the pod that a manifest runs, nil for another object.
func podOf(document []byte) *corev1.Pod {
	var kind metav1.TypeMeta
	if len(bytes.TrimSpace(document)) == 0 || yaml.Unmarshal(document, &kind) != nil {
		return nil
	}
	switch kind.Kind {
	case "Deployment", "DaemonSet", "StatefulSet":
		var workload struct {
			Spec appsv1.DeploymentSpec `json:"spec"` // the template is at the same place in all of them
		}
		if yaml.Unmarshal(document, &workload) != nil {
			return nil
		}
		return &corev1.Pod{Spec: workload.Spec.Template.Spec}
	case "Pod":
		pod := &corev1.Pod{}
		if yaml.Unmarshal(document, pod) != nil {
			return nil
		}
		return pod
	}
	return nil
}

// known returns the only name, "" if there is none, or one with a variable that a tool would replace.
func known(names []string) string {
	name := inventory.Only(names)
	if strings.ContainsAny(name, "${}") {
		return ""
	}
	return name
}
