// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package twins

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	clienttesting "k8s.io/client-go/testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/fake"
)

// TestOtherRequests checks that nothing is read for other resources, and for the status.
func TestOtherRequests(t *testing.T) {
	client := fake.NewClientset(backend("eu", secretOf("usa")), kluster("db", leadsTo("1")))
	got := slices.Concat(warned(t, client, OfBackends(), backend("usa"), nil, "status"),
		warned(t, client, OfKlusters(), kluster("web", leadsTo("1")), kluster("web"), "status"))
	pods := admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "shop", "", gimbalv1.SchemeGroupVersion.WithResource("pods"), "",
		admission.Create, nil, false, nil)
	if err := OfBackends().Validate(t.Context(), pods, nil); err != nil {
		t.Errorf("another resource: error = %v, want none", err)
	}
	if len(got) > 0 || len(client.Actions()) > 0 {
		t.Errorf("warnings = %q, requests = %v, want none", got, client.Actions())
	}
}

// TestFailedRead checks that no request fails because of a warning.
func TestFailedRead(t *testing.T) {
	client := fake.NewClientset(kluster("db", leadsTo("1")), backend("eu", identity("1")))
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("failed") })
	got := slices.Concat(warned(t, client, OfKlusters(), nil, kluster("web", leadsTo("1")), ""),
		warned(t, client, OfBackends(), backend("usa", identity("1")), nil, ""))
	if len(got) > 0 {
		t.Errorf("warnings = %q, want none", got)
	}
}

// recorder records warnings.
type recorder struct{ texts []string }

func (r *recorder) AddWarning(_, text string) { r.texts = append(r.texts, text) }

// warned returns the warnings of a request that creates an object, updates an old one, or deletes it if there is no new one. A dry run makes
// no difference.
func warned[O any, P interface {
	*O
	runtime.Object
	metav1.Object
}](t *testing.T, client *fake.Clientset, p *Plugin[O], now, old P, subresource string) []string {
	t.Helper()
	p.SetClient(client)
	operation, of := admission.Create, now
	var object, before runtime.Object
	if now != nil {
		object = now
	}
	if old != nil {
		before, operation, of = old, admission.Update, old
	}
	if now == nil {
		operation = admission.Delete
	}
	var found [2][]string
	for i, dryRun := range []bool{false, true} {
		r := &recorder{}
		a := admission.NewAttributesRecord(object, before, schema.GroupVersionKind{}, of.GetNamespace(), of.GetName(), p.resource.WithVersion("v1"),
			subresource, operation, nil, dryRun, nil)
		if err := p.Validate(warning.WithWarningRecorder(context.WithoutCancel(t.Context()), r), a, nil); err != nil {
			t.Fatal(err)
		}
		found[i] = r.texts
	}
	if !slices.Equal(found[0], found[1]) {
		t.Errorf("warnings of a dry run = %q, want %q", found[1], found[0])
	}
	return found[0]
}

// check compares warnings with the parts of each that a test wants.
func check(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("warnings = %q, want %d with %q", got, len(want), want)
	}
	for i, part := range want {
		if !strings.Contains(got[i], part) {
			t.Errorf("warning = %q, want %q in it", got[i], part)
		}
	}
}

// with returns a client of a server that has these objects.
func with(old *kubernikusv1.Kluster, objects ...runtime.Object) *fake.Clientset {
	if old != nil {
		objects = append(objects, old)
	}
	return fake.NewClientset(objects...)
}
