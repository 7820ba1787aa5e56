// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSigns checks what shows that a machine lived after its signs were read.
func TestSigns(t *testing.T) {
	lease := func(version string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	}
	type change struct {
		manager, subresource string
		at                   time.Duration
	}
	pod := func(changes ...change) []metav1.PartialObjectMetadata {
		p := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "1"}}
		for _, c := range changes {
			at := metav1.NewTime(noon.Add(c.at))
			p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{Manager: c.manager, Subresource: c.subresource, Time: &at})
		}
		return []metav1.PartialObjectMetadata{p}
	}
	kubelet := func(at time.Duration) change { return change{"kubelet", "status", at} }
	const renewed, reported = "its Lease was renewed", "it reported the status of pod ns/p"
	for name, test := range map[string]struct {
		before, now signs
		want        string
	}{
		"nothing":                   {signsOf(lease(""), nil), signsOf(lease(""), nil), ""},
		"nothing changed":           {signsOf(lease("1"), pod(kubelet(0))), signsOf(lease("1"), pod(kubelet(0))), ""},
		"the lease changed":         {signsOf(lease("1"), nil), signsOf(lease("2"), nil), renewed},
		"the lease was made":        {signsOf(lease(""), nil), signsOf(lease("1"), nil), renewed},
		"the lease was deleted":     {signsOf(lease("1"), nil), signsOf(lease(""), nil), ""},
		"a status changed":          {signsOf(lease(""), pod(kubelet(0))), signsOf(lease(""), pod(kubelet(time.Second))), reported},
		"by a clock that is behind": {signsOf(lease(""), pod(kubelet(0))), signsOf(lease(""), pod(kubelet(-time.Hour))), reported},
		"a first status":            {signsOf(lease(""), pod()), signsOf(lease(""), pod(kubelet(0))), reported},
		"a pod appeared":            {signsOf(lease(""), nil), signsOf(lease(""), pod(kubelet(0))), reported},
		"a pod without a status":    {signsOf(lease(""), nil), signsOf(lease(""), pod()), ""},
		"a pod was deleted":         {signsOf(lease(""), pod(kubelet(0))), signsOf(lease(""), nil), ""},
		"the pod is changed, but its status is not": {signsOf(lease(""), pod(kubelet(0))),
			signsOf(lease(""), pod(kubelet(0), change{"kubectl", "", time.Second})), ""},
		"the control plane changed a status": {signsOf(lease(""), pod(kubelet(0))), signsOf(lease(""), pod(kubelet(0),
			change{"kube-controller-manager", "status", time.Second}, change{"kube-scheduler", "status", time.Second})), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.now.since(test.before); got != test.want {
				t.Errorf("it lives because %q, want %q", got, test.want)
			}
		})
	}
}
