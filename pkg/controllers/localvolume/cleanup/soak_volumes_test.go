// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// makeVolume makes a volume of a random form on random machines, with a claim or without.
func (s *soak) makeVolume() {
	s.T.Helper()
	s.number++
	var original []*machine // no volume has labels that its node does not have
	for _, m := range s.machines {
		if !m.relabelled {
			original = append(original, m)
		}
	}
	first, second := original[s.rand.IntN(len(original))], original[s.rand.IntN(len(original))]
	first.known, second.known = false, false
	v := &soakVolume{name: fmt.Sprintf("v%d", s.number), class: []string{"local", "fast", "other"}[s.rand.IntN(3)],
		source: []string{"local", "local", "hostPath", "csi", "nfs"}[s.rand.IntN(5)], form: s.rand.IntN(12), machines: []*machine{first}, seen: map[*machine]bool{}}
	expression := func(key string, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	term := func(expressions ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: expressions}
	}
	host, zone := expression(corev1.LabelHostname, first.hostname), expression(corev1.LabelTopologyZone, "z")
	byID := expression(nodeID, first.id)
	if first.bare { // no driver makes volumes on it
		byID = host
	}
	var terms []corev1.NodeSelectorTerm
	switch v.form {
	case 0:
		terms = append(terms, term(host))
	case 1:
		terms = append(terms, term(zone, host))
	case 2:
		terms = append(terms, term(host), term(host))
	case 3:
		terms = append(terms, term(byID))
	case 4:
		terms = append(terms, corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{expression("metadata.name", first.original)}})
	case 5:
		terms = append(terms, term(host, byID))
	case 6:
		terms = append(terms, term(expression(corev1.LabelHostname, first.hostname, second.hostname)))
		v.machines = append(v.machines, second)
	case 7:
		terms = append(terms, term(host), term(expression(corev1.LabelHostname, second.hostname)))
		v.machines = append(v.machines, second)
	case 8:
		terms = append(terms, term(zone))
	case 9:
		host.Operator = corev1.NodeSelectorOpNotIn
		terms = append(terms, term(host))
	case 10:
		terms = append(terms, term(corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpExists}))
	}
	s.note("make volume %+v on %s, %s", *v, first.original, second.original)
	volume := localvolumetest.Volume(v.name, "", func(pv *corev1.PersistentVolume) {
		pv.CreationTimestamp = metav1.NewTime(s.now())
		pv.Spec.StorageClassName = v.class
		pv.Spec.NodeAffinity.Required.NodeSelectorTerms = terms
		pv.Spec.PersistentVolumeSource = map[string]corev1.PersistentVolumeSource{
			"local": {Local: &corev1.LocalVolumeSource{}}, "hostPath": {HostPath: &corev1.HostPathVolumeSource{}}, "nfs": {NFS: &corev1.NFSVolumeSource{}},
			"csi": {CSI: &corev1.CSIPersistentVolumeSource{Driver: soakDriver, VolumeHandle: v.name}},
		}[v.source]
		if v.source == "csi" {
			pv.Finalizers = []string{"external-provisioner.volume.kubernetes.io/finalizer"}
		}
	})
	if v.claim = s.rand.IntN(3) > 0; v.claim {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: v.name}}
		claim.Spec.VolumeName = v.name
		s.Add(claim)
		volume.Status.Phase = corev1.VolumeBound
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: v.name, UID: claim.UID}
	}
	v.free = s.now()
	s.Add(volume)
	s.volumes[v.name] = v
}
