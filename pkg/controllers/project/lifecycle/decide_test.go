// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

func TestDecideRelease(t *testing.T) {
	project := testProject("dev")
	kept := annotated(gardenerv1beta1.AnnotationKeepNamespace, "true")
	notLabelled := unlabelled(gardenerv1beta1.LabelProjectName)
	owned := ownedByProject("dev", "project-dev") // by an earlier version
	foreign := annotated(gardenerv1beta1.AnnotationProjectUID, "other")
	occupied := []string{"Kluster a"}
	for name, test := range map[string]struct {
		namespace *corev1.Namespace
		occupants []string
		want      releaseAction
	}{
		"gone":                          {nil, nil, releaseDone},
		"ours":                          {namespaceOf(project), nil, releaseDelete},
		"own, occupied":                 {namespaceOf(project), occupied, releaseBlocked},
		"own, terminating":              {namespaceOf(project, beingDeleted), nil, releaseWait},
		"own, terminating and occupied": {namespaceOf(project, beingDeleted), occupied, releaseBlocked},
		"own, to be kept":               {namespaceOf(project, kept), nil, releaseKeep},
		"own, to be kept, occupied":     {namespaceOf(project, kept), occupied, releaseBlocked},
		"own, kept and terminating":     {namespaceOf(project, kept, beingDeleted), nil, releaseWait},
		"own, keep is false":            {namespaceOf(project, annotated(gardenerv1beta1.AnnotationKeepNamespace, "false")), nil, releaseDelete},
		"own, keep is invalid":          {namespaceOf(project, annotated(gardenerv1beta1.AnnotationKeepNamespace, "maybe")), nil, releaseDelete},
		"adopted":                       {namespaceOf(project, adopted), nil, releaseKeep},

		"labels lost":                                       {namespaceOf(project, notLabelled), nil, releaseDone},
		"labels lost, still owned":                          {namespaceOf(project, notLabelled, owned), nil, releaseDisown},
		"labels lost, occupied":                             {namespaceOf(project, notLabelled), occupied, releaseBlocked},
		"labels lost, terminating":                          {namespaceOf(project, notLabelled, beingDeleted), nil, releaseDone},
		"role label only":                                   {namespaceOf(project, unlabelled(gardenerv1beta1.LabelRole)), nil, releaseDone},
		"another project's uid":                             {namespaceOf(project, foreign), nil, releaseDone},
		"another project's uid, but Groundskeeper owns it":  {namespaceOf(project, foreign, owned), nil, releaseDisown},
		"another project's uid, occupied":                   {namespaceOf(project, foreign), occupied, releaseDone},
		"labelled, never claimed":                           {namespaceOf(project, unannotated(gardenerv1beta1.AnnotationProjectUID)), nil, releaseDone},
		"labelled, never claimed, occupied":                 {namespaceOf(project, unannotated(gardenerv1beta1.AnnotationProjectUID)), occupied, releaseDone},
		"owned by a namesake of another uid":                {namespaceOf(project, foreign, ownedByProject("dev", "other")), nil, releaseDone},
		"kube-system with all Groundskeeper marks":          {namespaceOf(inNamespace("kube-system")), nil, releaseDone},
		"kube-system with all Groundskeeper marks, owned":   {namespaceOf(inNamespace("kube-system"), owned), nil, releaseDisown},
		"kube-system with Groundskeeper marks and occupied": {namespaceOf(inNamespace("kube-system")), occupied, releaseDone},
	} {
		t.Run(name, func(t *testing.T) {
			if got := decideRelease(project, test.namespace, test.occupants); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestReleasedNamespace(t *testing.T) {
	project := testProject("dev")
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "o"}
	from := namespaceOf(project, labelled("team", "a"), annotated("b", "c"), annotated(gardenerv1beta1.AnnotationKeepNamespace, "true"),
		func(ns *corev1.Namespace) { ns.OwnerReferences = append(ns.OwnerReferences, other) })
	before := from.DeepCopy()
	want := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: from.Name,
		Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"b": "c"}, OwnerReferences: []metav1.OwnerReference{other}}}
	if diff := cmp.Diff(want, releasedNamespace(from)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, from); diff != "" {
		t.Errorf("the argument was changed:\n%s", diff)
	}
}

func TestDisownedNamespace(t *testing.T) {
	project := testProject("dev")
	from := namespaceOf(project, ownedByProject("dev", "project-dev"), ownedByProject("dev", "another"))
	want := from.DeepCopy()
	want.OwnerReferences = want.OwnerReferences[1:]
	if diff := cmp.Diff(want, disownedNamespace(project, from)); diff != "" {
		t.Error(diff)
	}
}
