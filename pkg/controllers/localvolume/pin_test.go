// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const hostname = "kubernetes.io/hostname"

// in returns the expression key In [values]; other operators by name.
func in(key string, values ...string) corev1.NodeSelectorRequirement {
	return requirement(key, corev1.NodeSelectorOpIn, values...)
}

func requirement(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
}

func term(expressions ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: expressions}
}

func field(requirements ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: requirements}
}

// withAffinity returns a volume with these required terms.
func withAffinity(terms ...corev1.NodeSelectorTerm) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}}}
}

func TestPinsOf(t *testing.T) {
	const rack = "example.com/rack"
	keys := []string{hostname, rack}
	for name, test := range map[string]struct {
		volume *corev1.PersistentVolume
		want   []string
	}{
		"one node":                    {withAffinity(term(in(hostname, "a"))), []string{"a"}},
		"several nodes":               {withAffinity(term(in(hostname, "b", "a"))), []string{"a", "b"}},
		"terms are OR-ed":             {withAffinity(term(in(hostname, "a")), term(in(hostname, "b"))), []string{"a", "b"}},
		"expressions are AND-ed":      {withAffinity(term(in(hostname, "1", "2"), in(hostname, "2", "3"))), []string{"2"}},
		"the same in two terms":       {withAffinity(term(in(hostname, "a")), term(in(hostname, "a"))), []string{"a"}},
		"a configured key":            {withAffinity(term(in(rack, "r1"))), []string{"r1"}},
		"two keys: all of them":       {withAffinity(term(in(hostname, "a"), in(rack, "r1"))), []string{"a", "r1"}},
		"the name of the node":        {withAffinity(field(in("metadata.name", "a"))), []string{"a"}},
		"a zone beside the node":      {withAffinity(term(in("topology.kubernetes.io/zone", "z"), in(hostname, "a"))), []string{"a"}},
		"NotIn beside In":             {withAffinity(term(in(hostname, "a", "b"), requirement(hostname, corev1.NodeSelectorOpNotIn, "b"))), []string{"a", "b"}},
		"no affinity":                 {&corev1.PersistentVolume{}, nil},
		"no required affinity":        {&corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{NodeAffinity: &corev1.VolumeNodeAffinity{}}}, nil},
		"no term":                     {withAffinity(), nil},
		"an empty term":               {withAffinity(term(in(hostname, "a")), term()), nil},
		"a zone":                      {withAffinity(term(in("topology.kubernetes.io/zone", "z"))), nil},
		"a zone in the second term":   {withAffinity(term(in(hostname, "a")), term(in("topology.kubernetes.io/zone", "z"))), nil},
		"an unknown key":              {withAffinity(term(in("example.com/host", "a"))), nil},
		"NotIn":                       {withAffinity(term(requirement(hostname, corev1.NodeSelectorOpNotIn, "a"))), nil},
		"Exists":                      {withAffinity(term(requirement(hostname, corev1.NodeSelectorOpExists))), nil},
		"DoesNotExist":                {withAffinity(term(requirement(hostname, corev1.NodeSelectorOpDoesNotExist))), nil},
		"Gt":                          {withAffinity(term(requirement(hostname, corev1.NodeSelectorOpGt, "1"))), nil},
		"a name that is not In":       {withAffinity(field(requirement("metadata.name", corev1.NodeSelectorOpNotIn, "a"))), nil},
		"another field":               {withAffinity(field(in("metadata.namespace", "a"))), nil},
		"no value":                    {withAffinity(term(in(hostname))), nil},
		"an empty value":              {withAffinity(term(in(hostname, ""))), nil},
		"nodes that exclude others":   {withAffinity(term(in(hostname, "a"), in(hostname, "b"))), nil},
		"a term that nothing matches": {withAffinity(term(in(hostname, "c")), term(in(hostname, "a"), in(hostname, "b"))), nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.volume.DeepCopy()
			var got []string
			for _, p := range pinsOf(test.volume, keys) {
				got = append(got, p.name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, test.volume); diff != "" {
				t.Errorf("the volume of the cache was changed:\n%s", diff)
			}
		})
	}
}

func TestNamesOf(t *testing.T) {
	node := func(labels map[string]string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels}}
	}
	for name, test := range map[string]struct {
		labels map[string]string
		want   []string
	}{
		"no label":         {nil, []string{"n"}},
		"another hostname": {map[string]string{hostname: "h"}, []string{"n", "h"}},
		"the same name":    {map[string]string{hostname: "n"}, []string{"n"}},
		"two keys":         {map[string]string{hostname: "h", "rack": "r"}, []string{"n", "h", "r"}},
		"an unknown key":   {map[string]string{"other": "o"}, []string{"n"}},
	} {
		if diff := cmp.Diff(test.want, namesOf(node(test.labels), []string{hostname, "rack"})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
