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
	occupied, held := []string{"Kluster a"}, []string{"ConfigMap a (example.com/hold)"}
	for name, test := range map[string]struct {
		namespace *corev1.Namespace
		occupants []string
		want      releaseAction
		held      []string
	}{
		"gone":                          {nil, nil, releaseDone, nil},
		"ours":                          {namespaceOf(project), nil, releaseDelete, nil},
		"own, occupied":                 {namespaceOf(project), occupied, releaseBlocked, nil},
		"own, with finalizers":          {namespaceOf(project), nil, releaseHeld, held},
		"own, occupied, finalizers":     {namespaceOf(project), occupied, releaseBlocked, held},
		"own, to be kept, finalizers":   {namespaceOf(project, kept), nil, releaseKeep, held},
		"own, terminating, finalizers":  {namespaceOf(project, beingDeleted), nil, releaseWait, held},
		"labels lost, finalizers":       {namespaceOf(project, notLabelled), nil, releaseDone, held},
		"own, terminating":              {namespaceOf(project, beingDeleted), nil, releaseWait, nil},
		"own, terminating and occupied": {namespaceOf(project, beingDeleted), occupied, releaseBlocked, nil},
		"own, to be kept":               {namespaceOf(project, kept), nil, releaseKeep, nil},
		"own, to be kept, occupied":     {namespaceOf(project, kept), occupied, releaseBlocked, nil},
		"own, kept and terminating":     {namespaceOf(project, kept, beingDeleted), nil, releaseWait, nil},
		"own, keep is false":            {namespaceOf(project, annotated(gardenerv1beta1.AnnotationKeepNamespace, "false")), nil, releaseDelete, nil},
		"own, keep is invalid":          {namespaceOf(project, annotated(gardenerv1beta1.AnnotationKeepNamespace, "maybe")), nil, releaseDelete, nil},
		"adopted":                       {namespaceOf(project, adopted), nil, releaseKeep, nil},

		"labels lost":                                       {namespaceOf(project, notLabelled), nil, releaseDone, nil},
		"labels lost, still owned":                          {namespaceOf(project, notLabelled, owned), nil, releaseDisown, nil},
		"labels lost, occupied":                             {namespaceOf(project, notLabelled), occupied, releaseBlocked, nil},
		"labels lost, terminating":                          {namespaceOf(project, notLabelled, beingDeleted), nil, releaseDone, nil},
		"role label only":                                   {namespaceOf(project, unlabelled(gardenerv1beta1.LabelRole)), nil, releaseDone, nil},
		"another project's uid":                             {namespaceOf(project, foreign), nil, releaseDone, nil},
		"another project's uid, but Groundskeeper owns it":  {namespaceOf(project, foreign, owned), nil, releaseDisown, nil},
		"another project's uid, occupied":                   {namespaceOf(project, foreign), occupied, releaseDone, nil},
		"labelled, never claimed":                           {namespaceOf(project, unannotated(gardenerv1beta1.AnnotationProjectUID)), nil, releaseDone, nil},
		"labelled, never claimed, occupied":                 {namespaceOf(project, unannotated(gardenerv1beta1.AnnotationProjectUID)), occupied, releaseDone, nil},
		"owned by a namesake of another uid":                {namespaceOf(project, foreign, ownedByProject("dev", "other")), nil, releaseDone, nil},
		"kube-system with all Groundskeeper marks":          {namespaceOf(inNamespace("kube-system")), nil, releaseDone, nil},
		"kube-system with all Groundskeeper marks, owned":   {namespaceOf(inNamespace("kube-system"), owned), nil, releaseDisown, nil},
		"kube-system with Groundskeeper marks and occupied": {namespaceOf(inNamespace("kube-system")), occupied, releaseDone, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := decideRelease(project, test.namespace, test.occupants, test.held); got != test.want {
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
