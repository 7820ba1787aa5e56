// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clientgotesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

func kluster(namespace, name string) *kubernikusv1.Kluster {
	return &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func backend(namespace, name string) *gimbalv1.DiscoveryBackend {
	return &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestBlockingKinds(t *testing.T) {
	var got []string
	for _, kind := range blockingKinds() {
		got = append(got, kind.String())
	}
	want := []string{"kubernikus.sap.cc/v1, Kind=Kluster", "gimbal.heptio.com/v1, Kind=DiscoveryBackend", "core.gardener.cloud/v1beta1, Kind=Shoot"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestContents(t *testing.T) {
	c := newCluster(t, kluster("garden-a", "z"), kluster("garden-a", "b"), backend("garden-a", "us"), kluster("garden-b", "other"))
	for namespace, want := range map[string][]string{
		"garden-a": {"Kluster b", "Kluster z", "DiscoveryBackend us"},
		"garden-b": {"Kluster other"},
		"garden-c": nil,
	} {
		for source, list := range map[string]func(context.Context, string) ([]string, error){
			"cache": c.reconciler.contents.cached, "API server": c.reconciler.contents.current,
		} {
			got, err := list(t.Context(), namespace)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s in the %s:\n%s", namespace, source, diff)
			}
		}
	}
}

// A deletion goes by what the API server says; when that is not to be had, nobody knows.
func TestCurrentContentsAreKnownOrAnError(t *testing.T) {
	shoot := blockingKinds()[2]
	refused := errors.New("refused")
	for name, test := range map[string]struct {
		prepare func(*cluster)
		want    string
	}{
		"all known":                     {func(*cluster) {}, ""},
		"a kind that is not served":     {func(c *cluster) { c.served[shoot] = false }, ""},
		"discovery fails":               {func(c *cluster) { c.servedErr = refused }, "refused"},
		"a kind that was there is gone": {func(c *cluster) { c.served[blockingKinds()[0]] = false }, "kubernikus.sap.cc/v1 is not served any more: "},
		"listing fails": {func(c *cluster) {
			c.reconciler.contents.live = interceptor.NewClient(c.store.(client.WithWatch), interceptor.Funcs{
				List: func(ctx context.Context, store client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					if list.GetObjectKind().GroupVersionKind().Kind == "DiscoveryBackendList" {
						return refused
					}
					return store.List(ctx, list, options...)
				}})
		}, `list DiscoveryBackends in namespace "garden-a": refused`},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, kluster("garden-a", "a"))
			test.prepare(c)
			occupants, err := c.reconciler.contents.current(t.Context(), "garden-a")
			if test.want == "" {
				if err != nil || len(occupants) != 1 {
					t.Errorf("got %q, %v", occupants, err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %q, %v", occupants, err)
			}
		})
	}
}

func TestShootsCountWhereServed(t *testing.T) {
	shoot := blockingKinds()[2]
	c := newCluster(t)
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(shoot)
	object.Namespace, object.Name = "garden-a", "crazy-botany"
	if err := c.store.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	for _, served := range []bool{false, true} {
		c.served[shoot] = served
		got, err := c.reconciler.contents.current(t.Context(), "garden-a")
		if err != nil || (len(got) == 1 && got[0] == "Shoot crazy-botany") != served {
			t.Errorf("served %t: got %q, %v", served, got, err)
		}
	}
}

func TestServedBy(t *testing.T) {
	kind := kubernikusv1.SchemeGroupVersion.WithKind("Kluster")
	list := func(kinds ...string) *metav1.APIResourceList {
		resources := &metav1.APIResourceList{GroupVersion: "kubernikus.sap.cc/v1"}
		for _, kind := range kinds {
			resources.APIResources = append(resources.APIResources, metav1.APIResource{Kind: kind})
		}
		return resources
	}
	unavailable := apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "get", schema.GroupResource{}, "", "no endpoints", 0, true)
	for name, test := range map[string]struct {
		resources []*metav1.APIResourceList
		err       error
		want      bool
		wantErr   bool
	}{
		"served":                     {resources: []*metav1.APIResourceList{list("Other", "Kluster")}, want: true},
		"group without the kind":     {resources: []*metav1.APIResourceList{list("Other")}},
		"no group":                   {},
		"the server does not answer": {resources: []*metav1.APIResourceList{list("Kluster")}, err: unavailable, wantErr: true},
		"forbidden":                  {err: apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")), wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			discoverer := &fakediscovery.FakeDiscovery{Fake: &clientgotesting.Fake{Resources: test.resources}}
			discoverer.AddReactor("*", "*", func(clientgotesting.Action) (bool, runtime.Object, error) { return true, nil, test.err })
			got, err := servedBy(discoverer)(t.Context(), kind)
			if got != test.want || (err != nil) != test.wantErr {
				t.Errorf("got %t, %v", got, err)
			}
			if err != nil && !strings.Contains(err.Error(), "kubernikus.sap.cc/v1") {
				t.Errorf("the error does not name the group: %v", err)
			}
		})
	}
}

func TestOccupiedMessage(t *testing.T) {
	if got, want := occupiedMessage("garden-a", []string{"Kluster a", "Kluster b"}),
		`namespace "garden-a" still has Kluster a, Kluster b: delete them to let the project go`; got != want {
		t.Errorf("got %q", got)
	}
	many := make([]string, maxOccupants+1)
	for i := range many {
		many[i] = fmt.Sprintf("Kluster k%02d", i)
	}
	got := occupiedMessage("garden-a", many)
	if !strings.Contains(got, "Kluster k09 and more: ") || strings.Contains(got, "k10") {
		t.Errorf("got %q", got)
	}
	if more := occupiedMessage("garden-a", append(many, "Kluster z")); more != got {
		t.Errorf("one more changes the message: %q", more)
	}
}
