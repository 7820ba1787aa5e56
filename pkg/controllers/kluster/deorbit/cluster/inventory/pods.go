// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

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

// PodOf is what is kept of a pod. One without claims has none.
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
