// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metadatafake "k8s.io/client-go/metadata/fake"
	clientgotesting "k8s.io/client-go/testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

var serviceExports = schema.GroupVersionResource{Group: client.ExportsGroup, Version: "v1beta1", Resource: "serviceexports"}

func serviceExport(namespace, name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: client.ExportsGroup + "/v1beta1", Kind: "ServiceExport"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
}

// newServiceExports returns those of a backend.
func newServiceExports(t *testing.T, objects ...runtime.Object) (*metadatafake.FakeMetadataClient, *Exports) {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	all := metadatafake.NewSimpleMetadataClient(scheme, objects...)
	of := func(namespace string) client.ServiceExports { return all.Resource(serviceExports).Namespace(namespace) }
	return all, &Exports{Client: of, Watching: of}
}

// Only Services with a ServiceExport are copied; one that loses it loses its copy. The slices have the labels of those of a
// ServiceImport.
func TestOnlyExportedServices(t *testing.T) {
	web, api := service("shop", "web"), service("shop", "api")
	webSlice := endpoints("shop", "web", "a", "10.1.0.1")
	all, exports := newServiceExports(t, serviceExport("shop", "web"), serviceExport("shop", "missing"))
	w := newWorld(t, []runtime.Object{web, webSlice, api, endpoints("shop", "api", "a", "10.1.0.2")}, append(copied("us", api), namespace("shop")))
	w.start(setup{exports: exports})
	w.until("the ServiceExports are watched", func() bool {
		return slices.ContainsFunc(all.Actions(), func(action clientgotesting.Action) bool { return action.GetVerb() == "watch" })
	})
	w.until("what is exported is here", func() bool { return slices.Equal(w.names(), []string{"shop/us-web"}) })
	slice := w.slice("shop", sliceName("web", webSlice.Name))
	if slice == nil || slice.Labels[desired.LabelImport] != "us-web" || slice.Labels[desired.LabelSourceCluster] != "us" {
		t.Errorf("the copied slice is %+v", slice)
	}
	if err := all.Tracker().Create(serviceExports, serviceExport("shop", "api"), "shop"); err != nil {
		t.Fatal(err)
	}
	w.until("what is exported later is here", func() bool { return slices.Equal(w.names(), []string{"shop/us-api", "shop/us-web"}) })
	if err := all.Tracker().Delete(serviceExports, "shop", "web"); err != nil {
		t.Fatal(err)
	}
	w.until("the deletion is to be confirmed", w.waits)
	if names := w.names(); len(names) != 2 {
		t.Errorf("before a listing confirms the deletion there are %v", names)
	}
	w.clock.Step(withdrawalPause)
	w.until("what is not exported any more is deleted", func() bool {
		return slices.Equal(w.names(), []string{"shop/us-api"}) && w.slice("shop", sliceName("web", webSlice.Name)) == nil
	})
	refs, err := w.upstream.Copies(t.Context())
	if err != nil || len(refs) != 2 {
		t.Errorf("a second listing has %v, %v", refs, err)
	}
}

// A CustomResourceDefinition that is deleted takes all ServiceExports with it, whose deletions a watch reports. That withdraws nothing:
// the copies stay, and follow their Services, until the ServiceExports can be listed again.
func TestServiceExportsAreUninstalled(t *testing.T) {
	web, slice := service("shop", "web"), endpoints("shop", "web", "a", "10.1.0.1")
	all, exports := newServiceExports(t, serviceExport("shop", "web"))
	w := newWorld(t, []runtime.Object{web, slice}, []runtime.Object{namespace("shop")})
	w.start(setup{exports: exports})
	w.until("the ServiceExports are watched", func() bool {
		return slices.ContainsFunc(all.Actions(), func(action clientgotesting.Action) bool { return action.GetVerb() == "watch" })
	})
	w.until("what is exported is here", func() bool { return slices.Equal(w.names(), []string{"shop/us-web"}) })
	var installed atomic.Bool
	all.PrependReactor("list", "*", func(clientgotesting.Action) (bool, runtime.Object, error) {
		return !installed.Load(), nil, apierrors.NewNotFound(serviceExports.GroupResource(), "")
	})
	if err := all.Tracker().Delete(serviceExports, "shop", "web"); err != nil {
		t.Fatal(err)
	}
	w.until("the deletion is to be confirmed", w.waits)
	for range 3 {
		w.clock.Step(withdrawalPause)
		w.until("it is not confirmed, and tried again", w.waits)
	}
	slice.Endpoints[0].Addresses = []string{"10.1.0.2"}
	update(t, w.there, slice)
	w.until("the copy follows its Service", func() bool {
		copied := w.slice("shop", sliceName("web", slice.Name))
		return copied != nil && copied.Endpoints[0].Addresses[0] == "10.1.0.2"
	})
	// Installed again, without what was exported.
	installed.Store(true)
	w.clock.Step(withdrawalPause)
	w.until("a listing confirms it", func() bool { return len(w.names()) == 0 })
}

// A Service that is exported again before the deletion of its ServiceExport is confirmed keeps its copy.
func TestServiceIsExportedAgain(t *testing.T) {
	all, exports := newServiceExports(t, serviceExport("shop", "web"))
	w := newWorld(t, []runtime.Object{service("shop", "web")}, []runtime.Object{namespace("shop")})
	w.start(setup{exports: exports})
	w.until("the ServiceExports are watched", func() bool {
		return slices.ContainsFunc(all.Actions(), func(action clientgotesting.Action) bool { return action.GetVerb() == "watch" })
	})
	w.until("what is exported is here", func() bool { return slices.Equal(w.names(), []string{"shop/us-web"}) })
	w.writes()
	if err := all.Tracker().Delete(serviceExports, "shop", "web"); err != nil {
		t.Fatal(err)
	}
	w.until("the deletion is to be confirmed", w.waits)
	if err := all.Tracker().Create(serviceExports, serviceExport("shop", "web"), "shop"); err != nil {
		t.Fatal(err)
	}
	w.until("it is exported again", func() bool { return len(w.upstream.withdrawn.list()) == 0 })
	w.clock.Step(withdrawalPause)
	w.until("nothing is to be confirmed", func() bool { return !w.waits() })
	if written := w.writes(); len(written) > 0 {
		t.Errorf("wrote %v", written)
	}
}

// Without the definition of ServiceExports, or the permission to list them, it is unknown what is exported: nothing is listed, so that
// nothing is deleted, and the message has the remedy.
func TestServiceExportsAreUnknown(t *testing.T) {
	resource := serviceExports.GroupResource()
	for name, test := range map[string]struct {
		err        error
		kind, want string
	}{
		"not served":    {apierrors.NewNotFound(resource, ""), gimbalv1.ErrorConnection, "install this CustomResourceDefinition"},
		"not permitted": {apierrors.NewForbidden(resource, "", nil), gimbalv1.ErrorAuthentication, "may not list serviceexports"},
	} {
		t.Run(name, func(t *testing.T) {
			all, exports := newServiceExports(t)
			all.PrependReactor("list", "*", func(clientgotesting.Action) (bool, runtime.Object, error) { return true, nil, test.err })
			w := newWorld(t, []runtime.Object{service("shop", "web")}, nil)
			w.read(setup{exports: exports}, func() int { return 0 })
			problem := Classify(w.upstream.query(t.Context()))
			if problem == nil || problem.Type != test.kind || !strings.Contains(problem.Message, test.want) || !strings.Contains(problem.Message, "servicePolicy") {
				t.Errorf("problem = %+v", problem)
			}
			if copies, err := w.upstream.Copies(t.Context()); err == nil {
				t.Errorf("a second listing has %v", copies)
			}
		})
	}
}
