// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcesize

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"groundskeeper.io/groundskeeper/pkg/admission/webhooks"
	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// store has a number of objects, and is listed like a server that returns how many remain, or not.
type store struct {
	metadata.Interface
	metadata.Getter
	number, requests int
	reports          bool
	err              error
	namespace        string
}

func (s *store) Resource(schema.GroupVersionResource) metadata.Getter { return s }
func (s *store) Namespace(namespace string) metadata.ResourceInterface {
	s.namespace = namespace
	return s
}

func (s *store) List(_ context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	s.requests++
	list := &metav1.PartialObjectMetadataList{}
	if s.err != nil {
		return nil, s.err
	}
	from := len(options.Continue)
	size := min(int(options.Limit), s.number-from)
	list.Items = make([]metav1.PartialObjectMetadata, size)
	if rest := s.number - from - size; rest > 0 {
		list.Continue = strings.Repeat("x", from+size)
		if s.reports {
			list.RemainingItemCount = new(int64(rest))
		}
	}
	return list, nil
}

func quantity(text string) *resource.Quantity { return new(resource.MustParse(text)) }

func create(body string) *admissionv1.AdmissionRequest {
	return &admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Resource: metav1.GroupVersionResource{Group: "g", Version: "v1", Resource: "things"}, Namespace: "n",
		Object:   runtime.RawExtension{Raw: []byte(body)},
		UserInfo: authenticationv1.UserInfo{Username: "olivia", Groups: []string{"people"}},
	}
}

func things(size string, count int64) []v1alpha1.ResourceLimit {
	limit := v1alpha1.ResourceLimit{APIGroups: []string{"g"}, Resources: []string{"things"}}
	if size != "" {
		limit.Size = quantity(size)
	}
	if count >= 0 {
		limit.Count = &count
	}
	return []v1alpha1.ResourceLimit{limit}
}

func TestReview(t *testing.T) {
	// 61 bytes count, the rest does not.
	object := `{"metadata":{"name":"a","managedFields":[{"manager":"` + strings.Repeat("m", 30) + `"}]},"spec":{"x":"` + strings.Repeat("x", 20) + `"},"status":{"y":"` + strings.Repeat("y", 100) + `"}}`
	const counted = len(`{"metadata":{"name":"a"},"spec":{"x":"xxxxxxxxxxxxxxxxxxxx"}}`)
	exactly, less := resource.NewQuantity(int64(counted), resource.DecimalSI).String(), resource.NewQuantity(int64(counted-1), resource.DecimalSI).String()
	for name, tc := range map[string]struct {
		limits  []v1alpha1.ResourceLimit
		number  int
		change  func(*admissionv1.AdmissionRequest)
		message string
	}{
		"no limits":           {nil, 9, nil, ""},
		"small enough":        {things(exactly, -1), 9, nil, ""},
		"too large":           {things(less, -1), 9, nil, "the object has 61 bytes without its status and usual managed fields, 60 are allowed for things.g"},
		"too large an update": {things(less, -1), 9, func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Update }, "61 bytes"},
		"much in managed fields": {things("400", -1), 9, func(r *admissionv1.AdmissionRequest) {
			r.Object.Raw = []byte(strings.Replace(object, strings.Repeat("m", 30), strings.Repeat("m", 500), 1))
		}, "the object has 516 bytes"},
		"few enough":           {things("", 3), 2, nil, ""},
		"too many":             {things("", 3), 3, nil, `there are 3 things.g in namespace "n", 3 are allowed`},
		"none are allowed":     {things("", 0), 0, nil, "there are 0"},
		"too many of a page":   {things("", 700), 701, nil, "there are 701"},
		"an update adds none":  {things("", 3), 3, func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Update }, ""},
		"a deletion":           {things(less, 0), 9, func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Delete }, ""},
		"a subresource":        {things(less, 0), 9, func(r *admissionv1.AdmissionRequest) { r.SubResource = "status" }, ""},
		"of the cluster":       {things("", 1), 1, func(r *admissionv1.AdmissionRequest) { r.Namespace = "" }, "there are 1 things.g, 1 are allowed"},
		"another resource":     {things(less, 0), 9, func(r *admissionv1.AdmissionRequest) { r.Resource.Resource = "other" }, ""},
		"another group":        {things(less, 0), 9, func(r *admissionv1.AdmissionRequest) { r.Resource.Group = "h" }, ""},
		"the first one counts": {append(things("1Mi", -1), things(less, 0)...), 9, nil, ""},
		"all of all":           {[]v1alpha1.ResourceLimit{{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}, Count: new(int64(0))}}, 1, nil, "there are 1"},
		"another version":      {[]v1alpha1.ResourceLimit{{APIGroups: []string{"*"}, APIVersions: []string{"v2"}, Resources: []string{"*"}, Count: new(int64(0))}}, 1, nil, ""},
		"unrestricted":         {things(less, 0), 9, func(r *admissionv1.AdmissionRequest) { r.UserInfo.Username = "root" }, ""},
		"unrestricted group":   {things(less, 0), 9, func(r *admissionv1.AdmissionRequest) { r.UserInfo.Groups = []string{"a", "admins"} }, ""},
		"unrestricted account": {things(less, 0), 9, func(r *admissionv1.AdmissionRequest) { r.UserInfo.Username = "system:serviceaccount:ns:robot" }, ""},
		"account elsewhere":    {things(less, -1), 9, func(r *admissionv1.AdmissionRequest) { r.UserInfo.Username = "system:serviceaccount:other:robot" }, "bytes"},
		"a group as a user":    {things(less, -1), 9, func(r *admissionv1.AdmissionRequest) { r.UserInfo.Username = "admins" }, "bytes"},
	} {
		for mode, reports := range map[v1alpha1.ResourceSizeMode]bool{v1alpha1.ResourceSizeBlock: true, v1alpha1.ResourceSizeLog: false} {
			config := v1alpha1.ResourceSizeConfiguration{Mode: mode, Limits: tc.limits, UnrestrictedSubjects: []rbacv1.Subject{
				{Kind: "User", Name: "root"}, {Kind: "Group", Name: "admins"}, {Kind: "ServiceAccount", Namespace: "ns", Name: "robot"},
			}}
			request := create(object)
			if tc.change != nil {
				tc.change(request)
			}
			objects := &store{number: tc.number, reports: reports}
			got := New(config, objects).Review(t.Context(), request)
			if blocks := mode == v1alpha1.ResourceSizeBlock && tc.message != ""; got.Rejected != blocks || blocks && !strings.Contains(got.Message, tc.message) {
				t.Errorf("%s, %s: got %+v", name, mode, got)
			}
			if logs := mode == v1alpha1.ResourceSizeLog && tc.message != ""; logs != (len(got.Warnings) > 0) || logs && !strings.Contains(got.Warnings[0], tc.message) {
				t.Errorf("%s, %s: got %+v", name, mode, got)
			}
			if reports && objects.requests > 1 || objects.namespace != "" && objects.namespace != request.Namespace {
				t.Errorf("%s: %d requests, namespace %q", name, objects.requests, objects.namespace)
			}
		}
	}
}

// TestReviewFailsOpen checks that a request that cannot be checked is allowed with a warning.
func TestReviewFailsOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		limits []v1alpha1.ResourceLimit
		body   string
	}{
		"not counted": {things("", 0), `{}`},
		"no object":   {things("1", -1), `nonsense`},
	} {
		config := v1alpha1.ResourceSizeConfiguration{Mode: v1alpha1.ResourceSizeBlock, Limits: tc.limits}
		got := New(config, &store{err: errors.New("forbidden")}).Review(t.Context(), create(tc.body))
		if got.Rejected || got.Outcome != webhooks.Failed || len(got.Warnings) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
