// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package namespacedeletion

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"groundskeeper.io/groundskeeper/pkg/admission/webhooks"
)

// fixed are the contents that a test specifies.
type fixed struct {
	project    *metav1.PartialObjectMetadata
	projectErr error
	klusters   []string
	backends   []string
	listErr    error
}

func (f fixed) Project(context.Context, *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) {
	return f.project, f.projectErr
}

func (f fixed) Occupants(_ context.Context, _ string, project bool, _ int) ([]string, error) {
	if project {
		return slices.Concat(f.klusters, f.backends), f.listErr
	}
	return f.klusters, f.listErr
}

func project(name string, deleting bool) *metav1.PartialObjectMetadata {
	p := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if deleting {
		p.DeletionTimestamp = new(metav1.Now())
	}
	return p
}

// deletion returns the request to delete a namespace with labels.
func deletion(t *testing.T, namespace *corev1.Namespace) *admissionv1.AdmissionRequest {
	t.Helper()
	raw, err := json.Marshal(namespace)
	if err != nil {
		t.Fatal(err)
	}
	return &admissionv1.AdmissionRequest{
		Operation: admissionv1.Delete, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "namespaces"},
		Name: namespace.Name, Namespace: namespace.Name, OldObject: runtime.RawExtension{Raw: raw},
	}
}

func labelled(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"gardener.cloud/role": "project", "project.gardener.cloud/name": "x"}}}
}

func TestReview(t *testing.T) {
	plain := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}
	unlabelled := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-x"}}
	going := labelled("garden-x")
	going.DeletionTimestamp = new(metav1.NewTime(time.Now()))
	var many []string
	for i := range maxOccupants + 1 {
		many = append(many, "Kluster k"+strconv.Itoa(i))
	}
	down := errors.New("no server responds")
	const direct = `direct deletion of namespace "garden-x" is not permitted (you must delete the corresponding project "x")`
	for name, tc := range map[string]struct {
		namespace *corev1.Namespace
		contents  fixed
		outcome   webhooks.Outcome
		message   string
	}{
		"project lives":                     {labelled("garden-x"), fixed{project: project("x", false)}, webhooks.Denied, direct},
		"project lives, Klusters":           {labelled("garden-x"), fixed{project: project("x", false), klusters: []string{"Kluster a"}}, webhooks.Denied, direct},
		"project lives, lists fail":         {labelled("garden-x"), fixed{project: project("x", false), listErr: down}, webhooks.Denied, direct},
		"project exists, labels removed":    {unlabelled, fixed{project: project("x", false)}, webhooks.Denied, direct},
		"the garden":                        {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden"}}, fixed{project: project("garden", false)}, webhooks.Denied, "corresponding project"},
		"project is being deleted, empty":   {labelled("garden-x"), fixed{project: project("x", true)}, webhooks.Allowed, ""},
		"project is being deleted, Kluster": {labelled("garden-x"), fixed{project: project("x", true), klusters: []string{"Kluster a"}}, webhooks.Denied, `deletion of namespace "garden-x" is not permitted (it still contains Kluster a)`},
		"project is being deleted, several": {labelled("garden-x"), fixed{project: project("x", true), klusters: []string{"Kluster a"}, backends: []string{"DiscoveryBackend b"}}, webhooks.Denied, "(it still contains Kluster a, DiscoveryBackend b)"},
		"project no longer exists, empty":   {labelled("garden-x"), fixed{}, webhooks.Allowed, ""},
		"project no longer exists, backend": {labelled("garden-x"), fixed{backends: []string{"DiscoveryBackend b"}}, webhooks.Denied, "(it still contains DiscoveryBackend b)"},
		"no project's, empty":               {plain, fixed{}, webhooks.Allowed, ""},
		"no project's, Kluster":             {plain, fixed{klusters: []string{"Kluster a"}}, webhooks.Denied, `deletion of namespace "plain" is not permitted (it still contains Kluster a)`},
		"no project's, backend":             {plain, fixed{backends: []string{"DiscoveryBackend b"}}, webhooks.Allowed, ""},
		"no project's, never requested":     {plain, fixed{projectErr: down}, webhooks.Allowed, ""},
		"many":                              {plain, fixed{klusters: many}, webhooks.Denied, "Kluster k9 and more)"},
		"unknown project":                   {labelled("garden-x"), fixed{projectErr: down}, webhooks.Failed, "no server responds"},
		"unknown contents":                  {labelled("garden-x"), fixed{project: project("x", true), listErr: down}, webhooks.Failed, "no server responds"},
		"unknown Klusters":                  {plain, fixed{listErr: down}, webhooks.Failed, "no server responds"},
		"it is already being deleted":       {going, fixed{project: project("x", false), klusters: []string{"Kluster a"}}, webhooks.Allowed, ""},
		"not a namespace":                   {&corev1.Namespace{}, fixed{}, webhooks.Failed, "DELETE of v1 namespaces"},
	} {
		got := New(tc.contents).Review(t.Context(), deletion(t, tc.namespace))
		if got.Outcome != tc.outcome || got.Rejected != (tc.outcome != webhooks.Allowed) || !strings.Contains(got.Message, tc.message) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	for name, change := range map[string]func(*admissionv1.AdmissionRequest){
		"an update":        func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Update },
		"a subresource":    func(r *admissionv1.AdmissionRequest) { r.SubResource = "finalize" },
		"another resource": func(r *admissionv1.AdmissionRequest) { r.Resource.Resource = "pods" },
		"another group":    func(r *admissionv1.AdmissionRequest) { r.Resource.Group = "x" },
	} {
		request := deletion(t, labelled("garden-x"))
		change(request)
		if got := New(fixed{project: project("x", false)}).Review(t.Context(), request); got.Rejected {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
