// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package klusterrange

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/admission"
	clienttesting "k8s.io/client-go/testing"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/fake"
)

const first, second = "7d1f9b3e-0c55-4d3c-a0d4-9d3f1c0a4b11", "7d1f9b3e-0c55-4d3c-a0d4-9d3f1c0a4b12"

// kluster returns a Kluster in a dedicated namespace with a router in its spec.
func kluster(namespace, router, pods string, changes ...func(*kubernikusv1.Kluster)) *kubernikusv1.Kluster {
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	k.Spec.ClusterCIDR, k.Spec.Openstack.RouterID = new(pods), router
	for _, change := range changes {
		change(k)
	}
	return k
}

// found moves the router from the spec to the status.
func found(k *kubernikusv1.Kluster) {
	k.Status.Openstack = &kubernikusv1.OpenstackStatus{RouterID: k.Spec.Openstack.RouterID}
	k.Spec.Openstack.RouterID = ""
}

func noCloud(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true }

func deleting(k *kubernikusv1.Kluster) {
	k.DeletionTimestamp, k.Finalizers = new(metav1.Now()), []string{kubernikusv1.DeorbiterFinalizer}
}

// write returns a request that creates a Kluster, or updates an old one.
func write(object, old runtime.Object, subresource string) admission.Attributes {
	operation := admission.Update
	if old == nil {
		operation = admission.Create
	}
	gv := kubernikusv1.SchemeGroupVersion
	return admission.NewAttributesRecord(object, old, gv.WithKind("Kluster"), "shop", "", gv.WithResource("klusters"), subresource, operation, nil, false, nil)
}

// serving returns the plugin of a server with these Klusters.
func serving(t *testing.T, klusters ...runtime.Object) (*Plugin, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset(klusters...)
	p := New()
	p.SetClient(client)
	p.SetDrainedNotification(t.Context().Done())
	if err := p.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	if err := p.Known(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p, client
}

func TestValidate(t *testing.T) {
	const rejection = `klusters.kubernikus.sap.cc "web" is forbidden: spec.clusterCIDR: 100.100.0.0/16 overlaps 100.100.128.0/17 of Kluster bank/web on the same router ` +
		first + `: choose a range that is free, or another router in spec.openstack.routerID`
	bank := func(changes ...func(*kubernikusv1.Kluster)) *kubernikusv1.Kluster {
		return kluster("bank", first, "100.100.128.0/17", changes...)
	}
	mine := func(router string, changes ...func(*kubernikusv1.Kluster)) *kubernikusv1.Kluster {
		return kluster("shop", router, "100.100.0.0/16", changes...)
	}
	elsewhere := func(pods string) *kubernikusv1.Kluster { return kluster("shop", first, pods) }
	for name, tc := range map[string]struct {
		others []runtime.Object
		object *kubernikusv1.Kluster
		old    *kubernikusv1.Kluster
		want   string // the rejection
	}{
		"no other":                             {nil, mine(first), nil, ""},
		"overlapping":                          {[]runtime.Object{bank()}, mine(first), nil, rejection},
		"within":                               {[]runtime.Object{bank()}, elsewhere("100.100.129.0/24"), nil, "overlaps 100.100.128.0/17 of Kluster bank/web"},
		"adjacent":                             {[]runtime.Object{bank()}, elsewhere("100.100.0.0/17"), nil, ""},
		"host bits":                            {[]runtime.Object{bank()}, elsewhere("100.100.200.7/16"), nil, "100.100.0.0/16 overlaps"},
		"another router":                       {[]runtime.Object{bank()}, mine(second), nil, ""},
		"no router yet":                        {[]runtime.Object{bank()}, mine(""), nil, ""},
		"its router was found":                 {[]runtime.Object{bank(found)}, mine(first), nil, rejection},
		"it is being deleted, with its routes": {[]runtime.Object{bank(deleting)}, mine(first), nil, rejection},
		"it has no cloud":                      {[]runtime.Object{bank(noCloud)}, mine(first), nil, ""},
		"no cloud":                             {[]runtime.Object{bank()}, mine(first, noCloud), nil, ""},
		"no range":                             {[]runtime.Object{bank()}, mine(first, noCloud, func(k *kubernikusv1.Kluster) { k.Spec.ClusterCIDR = new("") }), nil, ""},
		"the router is set later":              {[]runtime.Object{bank(), mine("")}, mine(first), mine(""), rejection},
		"the router is the one found":          {[]runtime.Object{bank(), mine(first, found)}, mine(first), mine(first, found), ""},
		"another one than found":               {[]runtime.Object{bank(), mine(second, found)}, mine(first), mine(second, found), rejection},
		"a cloud is added later":               {[]runtime.Object{bank(), mine(first, noCloud)}, mine(first), mine(first, noCloud), rejection},
		"an existing conflict":                 {[]runtime.Object{bank(), mine(first)}, mine(first, func(k *kubernikusv1.Kluster) { k.Spec.Version = "1.36.3" }), mine(first), ""},
		"out of a conflict":                    {[]runtime.Object{bank(), mine(first)}, mine(second), mine(first), ""},
		"itself":                               {[]runtime.Object{mine(first)}, mine(first), mine(""), ""},
		"its name in another namespace":        {[]runtime.Object{kluster("bank", first, "100.100.0.0/16")}, mine(first), nil, "Kluster bank/web"},
		"the second of many":                   {[]runtime.Object{kluster("a", first, "10.0.0.0/8"), bank(), kluster("c", second, "100.100.0.0/16")}, mine(first), nil, rejection},
		"the first of two, by its names":       {[]runtime.Object{kluster("zoo", first, "100.100.0.0/17"), bank()}, mine(first), nil, rejection},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := serving(t, tc.others...)
			var old runtime.Object
			if tc.old != nil {
				old = tc.old
			}
			err := p.Validate(t.Context(), write(tc.object, old, ""), nil)
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// A Kluster with generateName is checked against Klusters of all names.
func TestGenerateName(t *testing.T) {
	p, _ := serving(t, kluster("shop", first, "100.100.0.0/16"))
	unnamed := kluster("shop", first, "100.100.0.0/16", func(k *kubernikusv1.Kluster) { k.Name = "" })
	if err := p.Validate(t.Context(), write(unnamed, nil, ""), nil); !apierrors.IsForbidden(err) {
		t.Errorf("error = %v, want Forbidden", err)
	}
}

// The index is updated by watch events.
func TestValidateFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		client, events := fake.NewClientset(), watch.NewRaceFreeFake()
		client.PrependWatchReactor("klusters", clienttesting.DefaultWatchReactor(events, nil))
		current := kluster("bank", first, "100.100.0.0/16")
		client.PrependReactor("get", "klusters", func(clienttesting.Action) (bool, runtime.Object, error) { return true, current, nil })
		p := New()
		p.SetClient(client)
		p.SetDrainedNotification(ctx.Done())
		if err := p.ValidateInitialization(); err != nil {
			t.Fatal(err)
		}
		check := func(what string, rejected bool) {
			t.Helper()
			synctest.Wait()
			if err := p.Validate(ctx, write(kluster("shop", first, "100.100.0.0/16"), nil, ""), nil); (err != nil) != rejected {
				t.Errorf("%s: %v", what, err)
			}
		}
		check("at first", false)
		events.Add(kluster("bank", "", "100.100.0.0/16"))
		check("without a router", false)
		events.Modify(current)
		check("the router is known", true)
		events.Modify(kluster("bank", second, "100.100.0.0/16"))
		check("moved", false)
		events.Modify(current)
		check("moved back", true)
		events.Delete(current)
		check("deleted", false)
		p.Read(func(x *index) {
			if len(x.places)+len(x.routers) > 0 {
				t.Errorf("left %v, %v", x.places, x.routers)
			}
		})
	})
}

// A request is not rejected because of an outdated index, and not allowed if the current state is unknown.
func TestValidateReadsCurrentState(t *testing.T) {
	sibling := kluster("bank", first, "100.100.0.0/16")
	p, client := serving(t, sibling)
	var response runtime.Object
	var failure error
	client.PrependReactor("get", "klusters", func(clienttesting.Action) (bool, runtime.Object, error) { return true, response, failure })
	for name, tc := range map[string]struct {
		response runtime.Object
		failure  error
		is       func(error) bool
	}{
		"it is current":       {sibling, nil, apierrors.IsForbidden},
		"it moved":            {kluster("bank", second, "100.100.0.0/16"), nil, func(err error) bool { return err == nil }},
		"it no longer exists": {nil, apierrors.NewNotFound(kubernikusv1.Resource("klusters"), "web"), func(err error) bool { return err == nil }},
		"it is unknown": {nil, errors.New("etcd is unavailable"), func(err error) bool {
			return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "etcd is unavailable")
		}},
	} {
		response, failure = tc.response, tc.failure
		if err := p.Validate(t.Context(), write(kluster("shop", first, "100.100.0.0/16"), nil, ""), nil); !tc.is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Before the index has synced, requests that need it are rejected as unavailable.
func TestValidateBeforeSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		for name, harmless := range map[string]admission.Attributes{
			"without a router": write(kluster("shop", "", "100.100.0.0/16"), nil, ""),
			"unchanged":        write(kluster("shop", first, "100.100.0.0/16"), kluster("shop", first, "100.100.0.0/16"), ""),
			"the status":       write(kluster("shop", first, "100.100.0.0/16", found), kluster("shop", "", "100.100.0.0/16"), "status"),
		} {
			if err := p.Validate(t.Context(), harmless, nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := p.Validate(t.Context(), write(kluster("shop", first, "100.100.0.0/16"), nil, ""), nil); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Validate(ctx, write(kluster("shop", first, "100.100.0.0/16"), nil, ""), nil); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("canceled request: %v", err)
		}
	})
}

func TestValidateIgnoresOtherRequests(t *testing.T) {
	p := New()
	gv := kubernikusv1.SchemeGroupVersion
	other := admission.NewAttributesRecord(kluster("shop", first, "100.100.0.0/16"), nil, gv.WithKind("Kluster"), "shop", "", gv.WithResource("others"), "", admission.Create, nil, false, nil)
	if err := p.Validate(t.Context(), other, nil); err != nil {
		t.Errorf("another resource: %v", err)
	}
	for operation, want := range map[admission.Operation]bool{admission.Create: true, admission.Update: true, admission.Delete: false} {
		if got := p.Handles(operation); got != want {
			t.Errorf("handles %s: %t", operation, got)
		}
	}
	for name, bad := range map[string]admission.Attributes{
		"new": write(&gardenerv1beta1.Project{}, nil, ""), "old": write(kluster("shop", first, "100.100.0.0/16"), &gardenerv1beta1.Project{}, ""),
	} {
		if err := p.Validate(t.Context(), bad, nil); !apierrors.IsInternalError(err) {
			t.Errorf("%s is no Kluster: %v", name, err)
		}
	}
}

func TestValidateInitialization(t *testing.T) {
	p := New()
	if err := p.ValidateInitialization(); err == nil {
		t.Error("ValidateInitialization without a client: no error")
	}
	p.SetClient(fake.NewClientset())
	if err := p.ValidateInitialization(); err == nil {
		t.Error("ValidateInitialization without a drained notification: no error")
	}
}
