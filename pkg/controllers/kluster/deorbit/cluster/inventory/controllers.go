// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// program is a controller of cloud-provider-openstack that tags what it makes with a name.
type program struct {
	// binary is the name of its program and of its image, flag the one that gives the name, and usual the name without it.
	binary, flag, usual string
}

// Source: https://github.com/kubernetes/cloud-provider-openstack/tree/master/cmd
var (
	cloudControllerManager = program{binary: "openstack-cloud-controller-manager", flag: "cluster-name", usual: "kubernetes"}
	cinderCSIPlugin        = program{binary: "cinder-csi-plugin", flag: "cluster", usual: ""}
)

// NamesOf adds the names that a pod's OpenStack controllers run with, each once. A name that cannot be read is "?", so that
// no other is taken for the only one.
func (w *World) NamesOf(pod *corev1.Pod) {
	for _, container := range pod.Spec.Containers {
		for _, of := range []struct {
			program
			into *[]string
		}{{cloudControllerManager, &w.ClusterNames}, {cinderCSIPlugin, &w.CSIClusterIDs}} {
			if name, runs := of.nameIn(container); runs && !slices.Contains(*of.into, name) {
				*of.into = append(*of.into, name)
			}
		}
	}
}

// unreadable stands for a name that cannot be read, for instance because it comes from a ConfigMap.
const unreadable = "?"

// nameIn returns the name that a container runs the program with. runs is false when it runs something else.
func (p program) nameIn(c corev1.Container) (name string, runs bool) {
	words := slices.Concat(c.Command, c.Args)
	image, _, _ := strings.Cut(path.Base(c.Image), "@")
	image, _, _ = strings.Cut(image, ":")
	isIt := func(word string) bool { return path.Base(word) == p.binary }
	inShell := func(word string) bool { return strings.Contains(word, p.binary) && strings.ContainsAny(word, " \n\t") }
	switch {
	case slices.ContainsFunc(words, inShell):
		return unreadable, true // a script of a shell: Groundskeeper must not guess what it does
	case slices.ContainsFunc(words, isIt), len(c.Command) == 0 && image == p.binary:
	default:
		return "", false
	}
	name = p.usual
	for i, word := range words {
		flag, isFlag := strings.CutPrefix(word, "--")
		switch value, isIts := strings.CutPrefix(flag, p.flag+"="); {
		case isFlag && isIts:
			name = expand(value, c.Env)
		case isFlag && flag == p.flag && i+1 < len(words):
			name = expand(words[i+1], c.Env)
		}
	}
	return name, true
}

var reference = regexp.MustCompile(`\$\(([^)]*)\)`)

// expand puts the variables of a container into a text, as the kubelet does with $(NAME).
func expand(text string, env []corev1.EnvVar) string {
	known := true
	text = reference.ReplaceAllStringFunc(text, func(match string) string {
		// The last of several with one name counts.
		for _, variable := range slices.Backward(env) {
			if variable.Name == match[2:len(match)-1] && variable.ValueFrom == nil && !strings.Contains(variable.Value, "$") {
				return variable.Value
			}
		}
		known = false
		return match
	})
	if !known {
		return unreadable
	}
	return text
}

// Only returns the one name that all controllers run with; "" when there is none, or more than one, or one that cannot be read.
func Only(names []string) string {
	if len(names) != 1 || names[0] == unreadable {
		return ""
	}
	return names[0]
}

// Pod is a pod with claims.
type Pod struct {
	Meta
	// Node is empty until the pod is scheduled.
	Node string
	// Mirror reports that a kubelet made the pod out of a file. Its deletion ends nothing.
	Mirror bool
	// Killed reports that the kubelet is not waited for any more.
	Killed bool
	Claims []Use
}

// Use is how a pod uses a claim.
type Use struct {
	Claim string
	// Own reports that the claim is created and deleted with the pod: it is the pod's only when the pod controls it.
	Own bool
}

// PodOf returns what is kept of a pod. One without claims has none.
func PodOf(pod *corev1.Pod) Pod {
	p := Pod{Meta: MetaOf(pod), Node: pod.Spec.NodeName, Killed: pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0}
	_, p.Mirror = pod.Annotations[corev1.MirrorPodAnnotationKey]
	for _, volume := range pod.Spec.Volumes {
		switch {
		case volume.PersistentVolumeClaim != nil:
			p.Claims = append(p.Claims, Use{Claim: volume.PersistentVolumeClaim.ClaimName})
		case volume.Ephemeral != nil:
			p.Claims = append(p.Claims, Use{Claim: pod.Name + "-" + volume.Name, Own: true})
		}
	}
	return p
}

// IsReady reports whether the kubelet of a node works.
func IsReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
