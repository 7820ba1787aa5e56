// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	ctrl "sigs.k8s.io/controller-runtime"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// reviewing responds to reviews by a function.
func reviewing(allowed func(authorizationv1.ResourceAttributes) (bool, error)) permitted {
	clients := fake.NewClientset()
	clients.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		var err error
		review.Status.Allowed, err = allowed(*review.Spec.ResourceAttributes)
		return true, review, err
	})
	config := &v1alpha1.ControllerManagerConfiguration{}
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	return permitted{clients.AuthorizationV1().SelfSubjectAccessReviews(), &config.Controllers, &readiness{}, permissionInterval}
}

// TestControllersWaitForPermissions checks that a controller without permissions does not block others.
func TestControllersWaitForPermissions(t *testing.T) {
	all := []controller{{name: "project"}, {name: "kluster", needs: klusterGrant}, {name: "operator", needs: discoveryGrant}}
	for name, test := range map[string]struct {
		allowed func(authorizationv1.ResourceAttributes) (bool, error)
		image   string
		start   []string
		held    string
	}{
		"all granted":     {allowed: func(authorizationv1.ResourceAttributes) (bool, error) { return true, nil }, start: []string{"project", "kluster", "operator"}},
		"nothing granted": {allowed: func(authorizationv1.ResourceAttributes) (bool, error) { return false, nil }, start: []string{"project", "operator"}, held: "not allowed to get secrets, list secrets, watch secrets, patch secrets, patch klusters: kubectl apply -k artifacts/kluster"},
		"one is missing": {allowed: func(a authorizationv1.ResourceAttributes) (bool, error) {
			return a.Resource != "secrets" || a.Verb != "list", nil
		}, start: []string{"project", "operator"}, held: "not allowed to list secrets: kubectl apply -k artifacts/kluster"},
		"with discoverers": {allowed: func(a authorizationv1.ResourceAttributes) (bool, error) { return a.Resource != "deployments", nil }, image: "discoverer:v1", start: []string{"project", "kluster"}},
		"unknown":          {allowed: func(authorizationv1.ResourceAttributes) (bool, error) { return false, errors.New("not found") }, start: []string{"project", "kluster", "operator"}},
	} {
		p := reviewing(test.allowed)
		p.config.Discovery.Image = test.image
		start, wait := p.split(t.Context(), all)
		if !slices.Equal(names(start), test.start) || len(start)+len(wait) != len(all) {
			t.Errorf("%s: %q start, want %q", name, names(start), test.start)
		}
		if got := p.ready.heldBack("kluster"); got != test.held {
			t.Errorf("%s: the controller waits for %q, want %q", name, got, test.held)
		}
		if err := p.ready.check(); err != nil {
			t.Errorf("%s: not ready: %v", name, err)
		}
	}
}

// TestRangesGrant checks that only Translations on OVN wait for the permission to read ServiceCIDRs.
func TestRangesGrant(t *testing.T) {
	for name, test := range map[string]struct {
		configure func(*v1alpha1.TranslationConfiguration)
		held      string
	}{
		"OVN": {func(c *v1alpha1.TranslationConfiguration) { c.OVN.Endpoints = []string{"tcp:127.0.0.1:6641"} },
			"not allowed to list servicecidrs, watch servicecidrs: kubectl apply -k artifacts/rbac"},
		"MidoNet": {func(c *v1alpha1.TranslationConfiguration) { c.MidoNet.URL = "http://localhost/midonet-api" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := reviewing(func(authorizationv1.ResourceAttributes) (bool, error) { return false, nil })
			test.configure(&p.config.Translation)
			p.split(t.Context(), []controller{{name: "translation-convert", needs: rangesGrant}})
			if got := p.ready.heldBack("translation-convert"); got != test.held {
				t.Errorf("the controller waits for %q, want %q", got, test.held)
			}
		})
	}
}

// TestControllerStartsWhenPermitted checks that a controller starts as soon as its permissions are granted.
func TestControllerStartsWhenPermitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var granted, added atomic.Bool
		p := reviewing(func(authorizationv1.ResourceAttributes) (bool, error) { return granted.Load(), nil })
		_, wait := p.split(t.Context(), []controller{{name: "kluster", needs: klusterGrant, add: func(ctrl.Manager, *v1alpha1.ControllersConfiguration) error {
			added.Store(true)
			return nil
		}}})
		done := make(chan error, 1)
		go func() { done <- awaiting{p, nil, wait}.Start(t.Context()) }()
		synctest.Wait()
		if added.Load() || !strings.Contains(p.ready.heldBack("kluster"), "list secrets") {
			t.Errorf("started without permissions, or without a reason: %q", p.ready.heldBack("kluster"))
		}
		granted.Store(true)
		if err := <-done; err != nil || !added.Load() || p.ready.heldBack("kluster") != "" {
			t.Errorf("after the permissions were granted: started %v, waits for %q, error %v", added.Load(), p.ready.heldBack("kluster"), err)
		}
	})
}
