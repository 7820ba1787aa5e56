// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// namespaceOf returns a namespace in its state after creation by the controller, with changes.
func namespaceOf(project *gardenerv1beta1.Project, changes ...func(*corev1.Namespace)) *corev1.Namespace {
	namespace := newNamespace(project)
	for _, change := range changes {
		change(namespace)
	}
	return namespace
}

// adopted turns a namespace into one that was there before its Project.
func adopted(ns *corev1.Namespace) {
	delete(ns.Annotations, gardenerv1beta1.AnnotationNamespaceCreatedByController)
	ns.Annotations[gardenerv1beta1.AnnotationKeepNamespace] = "true"
}

func annotated(key, value string) func(*corev1.Namespace) {
	return func(ns *corev1.Namespace) { metav1.SetMetaDataAnnotation(&ns.ObjectMeta, key, value) }
}

func unannotated(key string) func(*corev1.Namespace) {
	return func(ns *corev1.Namespace) { delete(ns.Annotations, key) }
}

func labelled(key, value string) func(*corev1.Namespace) {
	return func(ns *corev1.Namespace) { metav1.SetMetaDataLabel(&ns.ObjectMeta, key, value) }
}

func unlabelled(key string) func(*corev1.Namespace) {
	return func(ns *corev1.Namespace) { delete(ns.Labels, key) }
}

func beingDeleted(ns *corev1.Namespace) {
	ns.DeletionTimestamp = new(metav1.NewTime(time.Unix(1, 0)))
}

func ownedByProject(name string, uid types.UID) func(*corev1.Namespace) {
	return func(ns *corev1.Namespace) {
		ns.OwnerReferences = append(ns.OwnerReferences, metav1.OwnerReference{
			APIVersion: "core.gardener.cloud/v1beta1", Kind: "Project", Name: name, UID: uid,
			Controller: new(true), BlockOwnerDeletion: new(true)})
	}
}

func TestDecideNamespace(t *testing.T) {
	project := testProject("dev")
	for name, test := range map[string]struct {
		project   *gardenerv1beta1.Project
		namespace *corev1.Namespace
		want      namespaceAction
		reason    string
		message   string
	}{
		"none there":           {namespace: nil, want: createNamespace},
		"ours":                 {namespace: namespaceOf(project), want: claimNamespace},
		"own, adopted":         {namespace: namespaceOf(project, adopted), want: claimNamespace},
		"labelled, not in use": {namespace: namespaceOf(project, func(ns *corev1.Namespace) { ns.Annotations = nil }), want: claimNamespace},
		"other labels too":     {namespace: namespaceOf(project, labelled("team", "a")), want: claimNamespace},
		"no labels at all": {
			namespace: namespaceOf(project, func(ns *corev1.Namespace) { ns.Labels = nil }),
			want:      rejectNamespace, reason: "NamespaceNotLabelled",
			message: "namespace cannot be used as it needs the project labels gardener.cloud/role=project,project.gardener.cloud/name=dev",
		},
		"label of the role only": {
			namespace: namespaceOf(project, unlabelled(gardenerv1beta1.LabelProjectName)),
			want:      rejectNamespace, reason: "NamespaceNotLabelled",
		},
		"label of the name only": {
			namespace: namespaceOf(project, unlabelled(gardenerv1beta1.LabelRole)),
			want:      rejectNamespace, reason: "NamespaceNotLabelled",
		},
		"label of another role": {
			namespace: namespaceOf(project, labelled(gardenerv1beta1.LabelRole, "garden")),
			want:      rejectNamespace, reason: "NamespaceNotLabelled",
		},
		"label of another project": {
			namespace: namespaceOf(project, labelled(gardenerv1beta1.LabelProjectName, "prod")),
			want:      rejectNamespace, reason: "NamespaceNotLabelled",
		},
		"uid of another project": {
			namespace: namespaceOf(project, annotated(gardenerv1beta1.AnnotationProjectUID, "other")),
			want:      rejectNamespace, reason: "NamespaceInUse", message: fmt.Sprintf("namespace is already in-use by another project: it belongs to "+
				`uid "other", and this Project has %s. If no Project has the other uid any more, as after a restore, adopt the namespace: `+
				"kubectl annotate namespace %s namespace.gardener.cloud/project-", project.UID, *project.Spec.Namespace),
		},
		"empty uid": {
			namespace: namespaceOf(project, annotated(gardenerv1beta1.AnnotationProjectUID, "")),
			want:      rejectNamespace, reason: "NamespaceInUse",
		},
		"own, being deleted": {
			namespace: namespaceOf(project, beingDeleted),
			want:      waitForNamespace, reason: "NamespaceTerminating", message: `namespace "` + *project.Spec.Namespace + `" is being deleted`,
		},
		"foreign, being deleted": {
			namespace: namespaceOf(project, beingDeleted, func(ns *corev1.Namespace) { ns.Labels, ns.Annotations = nil, nil }),
			want:      waitForNamespace, reason: "NamespaceTerminating",
		},
		"being deleted, with a reason why it lasts": {
			namespace: namespaceOf(project, beingDeleted, func(ns *corev1.Namespace) {
				ns.Status.Conditions = []corev1.NamespaceCondition{
					{Type: corev1.NamespaceDeletionContentFailure, Status: corev1.ConditionFalse, Message: "all well"},
					{Type: corev1.NamespaceContentRemaining, Status: corev1.ConditionTrue, Message: "secrets has 1 resource instances"},
					{Type: corev1.NamespaceFinalizersRemaining, Status: corev1.ConditionTrue, Message: "x in 1 resource instances"},
				}
			}),
			want: waitForNamespace, reason: "NamespaceTerminating",
			message: `namespace "` + *project.Spec.Namespace + `" is being deleted: secrets has 1 resource instances; x in 1 resource instances`,
		},
		"kube-system, with Groundskeeper's labels": {
			project:   inNamespace("kube-system"),
			namespace: namespaceOf(inNamespace("kube-system")),
			want:      rejectNamespace, reason: "NamespaceNotAllowed", message: `namespace "kube-system" cannot be used: the name must start with garden-`,
		},
		"default, not there":        {project: inNamespace("default"), want: rejectNamespace, reason: "NamespaceNotAllowed"},
		"a similar name":            {project: inNamespace("gardens"), want: rejectNamespace, reason: "NamespaceNotAllowed"},
		"garden":                    {project: inNamespace("garden"), want: createNamespace},
		"garden-x":                  {project: inNamespace("garden-x"), want: createNamespace},
		"generated, not set before": {project: inNamespace(""), want: createNamespace},
	} {
		t.Run(name, func(t *testing.T) {
			if test.project == nil {
				test.project = project
			}
			before := test.namespace.DeepCopy()
			got := decideNamespace(test.project, test.namespace)
			if got.action != test.want || got.reason != test.reason {
				t.Errorf("got %+v, want %s for %s", got, test.want, test.reason)
			}
			if test.message != "" && got.message != test.message {
				t.Errorf("message %q, want %q", got.message, test.message)
			}
			if diff := cmp.Diff(before, test.namespace); diff != "" {
				t.Errorf("the namespace was changed:\n%s", diff)
			}
		})
	}
}

func inNamespace(name string) *gardenerv1beta1.Project {
	project := testProject("dev")
	project.Spec.Namespace = &name
	return project
}

func TestNewNamespace(t *testing.T) {
	got := newNamespace(inNamespace("garden-x"))
	want := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   "garden-x",
		Labels: map[string]string{"gardener.cloud/role": "project", "project.gardener.cloud/name": "dev"},
		Annotations: map[string]string{
			"namespace.gardener.cloud/project":                       "project-dev",
			"namespace.gardener.cloud/created-by-project-controller": "true",
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if generated := newNamespace(inNamespace("")).Name; generated != gardenerv1beta1.GeneratedNamespace("dev", "project-dev") {
		t.Errorf("the generated namespace is %q", generated)
	}
}

func TestClaimedNamespace(t *testing.T) {
	project := testProject("dev")
	bare := func(ns *corev1.Namespace) { ns.Annotations = nil }
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "o"}
	for name, test := range map[string]struct {
		from, want *corev1.Namespace
	}{
		"an own one remains unchanged":   {namespaceOf(project), namespaceOf(project)},
		"adopted remains unchanged":      {namespaceOf(project, adopted), namespaceOf(project, adopted)},
		"adoption: uid, keep, no owner":  {namespaceOf(project, bare), namespaceOf(project, adopted)},
		"adoption keeps what others set": {namespaceOf(project, bare, labelled("a", "b"), annotated("c", "d")), namespaceOf(project, adopted, labelled("a", "b"), annotated("c", "d"))},
		"adopted: the owner reference of the original is removed": {
			namespaceOf(project, adopted, ownedByProject("dev", "project-dev")), namespaceOf(project, adopted)},
		"adopted: an owner reference to a Project of another uid is removed": {
			namespaceOf(project, adopted, ownedByProject("dev", "gone")), namespaceOf(project, adopted)},
		"adopted: keep is put back": {
			namespaceOf(project, adopted, unannotated(gardenerv1beta1.AnnotationKeepNamespace)), namespaceOf(project, adopted)},
		"own: the owner reference of earlier versions is removed": {
			namespaceOf(project, ownedByProject("dev", "project-dev")), namespaceOf(project)},
		"own: a lost uid is put back": {
			namespaceOf(project, unannotated(gardenerv1beta1.AnnotationProjectUID)), namespaceOf(project)},
		"own: another Project as owner is removed": {
			namespaceOf(project, ownedByProject("dev", "gone")), namespaceOf(project)},
		"own: other owners stay, in order": {
			namespaceOf(project, func(ns *corev1.Namespace) { ns.OwnerReferences = append(ns.OwnerReferences, other) }),
			namespaceOf(project, func(ns *corev1.Namespace) { ns.OwnerReferences = append(ns.OwnerReferences, other) })},
		"own, to be kept: no owner": {
			namespaceOf(project, annotated(gardenerv1beta1.AnnotationKeepNamespace, "true"), ownedByProject("dev", "project-dev")),
			namespaceOf(project, annotated(gardenerv1beta1.AnnotationKeepNamespace, "true"))},
		"own, not to be kept: no owner either": {
			namespaceOf(project, annotated(gardenerv1beta1.AnnotationKeepNamespace, "false"), ownedByProject("dev", "project-dev")),
			namespaceOf(project, annotated(gardenerv1beta1.AnnotationKeepNamespace, "false"))},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.from.DeepCopy()
			got := claimedNamespace(project, test.from)
			if len(got.OwnerReferences) == 0 {
				got.OwnerReferences = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, test.from); diff != "" {
				t.Errorf("the argument was changed:\n%s", diff)
			}
			again := claimedNamespace(project, got)
			if len(again.OwnerReferences) == 0 {
				again.OwnerReferences = nil
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("not the same when done again:\n%s", diff)
			}
		})
	}
}
