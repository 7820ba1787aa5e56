// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllerstate"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

// TestCheckNamesWaitingControllers checks that a controller that waits for permissions is no controller that works.
func TestCheckNamesWaitingControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		states := map[string]controllerstate.State{
			"kluster": {State: controllerstate.Waiting, Reason: "not allowed to patch secrets: kubectl apply -k artifacts/kluster"}, "project": {State: controllerstate.Running},
			"kluster-deorbit": {State: controllerstate.Waiting, Reason: "not allowed to patch secrets: kubectl apply -k artifacts/kluster"},
		}
		c, out := on(t, nil, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: uninstall.SystemNamespace, Name: "groundskeeper-controller-manager",
				Annotations: map[string]string{controllerstate.Annotation: controllerstate.Encode(states)}},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: new("manager")},
		})
		c.client = interceptor.NewClient(c.client, interceptor.Funcs{Get: renewed})
		const want = "✗ controller kluster-deorbit  waiting for permissions: not allowed to patch secrets: kubectl apply -k artifacts/kluster\n✓ controller project          ok\n"
		if err := c.check(t.Context(), 0, ""); !errors.Is(err, errFindings) || !strings.Contains(out.String(), want) {
			t.Errorf("error = %v, output = %s, want %q in it", err, out, want)
		}
	})
}

// TestFindingsOfControllers checks that check and status report what a controller found that belongs to no object.
func TestFindingsOfControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		states := map[string]controllerstate.State{"translation-push": {State: controllerstate.Running, Findings: []string{"4 resources that no Translation lists"}}}
		c, out := on(t, nil, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: uninstall.SystemNamespace, Name: uninstall.ManagerName,
				Annotations: map[string]string{controllerstate.Annotation: controllerstate.Encode(states)}},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: new("manager")},
		})
		c.client = interceptor.NewClient(c.client, interceptor.Funcs{Get: renewed})
		const want, checked = "translation-push: 4 resources that no Translation lists", "✗ controller translation-push  4 resources that no Translation lists\n"
		if err := c.check(t.Context(), 0, ""); !errors.Is(err, errFindings) || !strings.Contains(out.String(), checked) {
			t.Errorf("check: error = %v, output = %s, want %q in it", err, out, checked)
		}
		r := &report.Report{}
		if err := c.manager(r, func() (uninstall.Manager, error) { return c.published(t.Context()) }); err != nil || len(r.Findings) != 1 || r.Findings[0].Message != want {
			t.Errorf("status: %v, %+v; want the finding %q", err, r, want)
		}
		denied, _ := on(t, nil)
		denied.client = interceptor.NewClient(denied.client, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, uninstall.ManagerName, nil)
		}})
		r = &report.Report{}
		if err := denied.manager(r, func() (uninstall.Manager, error) { return denied.published(t.Context()) }); err != nil || len(r.Checked) != 1 || !strings.Contains(r.Checked[0].Problem, "not allowed to read its Lease") {
			t.Errorf("status without permission: %v, %+v; want a problem", err, r)
		}
	})
}

// renewed is a manager that works: it renews its Lease all the time.
func renewed(ctx context.Context, base client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := base.Get(ctx, key, object, options...)
	if lease, is := object.(*coordinationv1.Lease); is {
		lease.Spec.RenewTime = new(metav1.NowMicro())
	}
	return err
}

// TestCheckWaits checks that check --wait ends when everything works, or reports what does not work when the time has passed.
func TestCheckWaits(t *testing.T) {
	const serves = 20 * time.Second // from then on, the API of Klusters is served
	for name, test := range map[string]struct {
		wait   time.Duration
		err    error
		prints string
	}{
		"until it works": {time.Hour, nil, "API of Klusters            ok\n"},
		"too short":      {10 * time.Second, errFindings, "API of Klusters            no endpoints\n"},
		"not at all":     {0, errFindings, "API of Klusters            no endpoints\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: uninstall.SystemNamespace, Name: "groundskeeper-controller-manager"},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: new("manager")}}
			c, out := on(t, nil, lease)
			c.client = interceptor.NewClient(c.client, interceptor.Funcs{
				List: func(ctx context.Context, base client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					if _, is := list.(*kubernikusv1.KlusterList); is && time.Since(began) < serves {
						return apierrors.NewServiceUnavailable("no endpoints")
					}
					return base.List(ctx, list, options...)
				},
				Get: renewed,
			})
			if err := c.check(t.Context(), test.wait, ""); !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Errorf("%s: error = %v, want %v", name, err, test.err)
			}
			if !strings.Contains(out.String(), test.prints) || !strings.Contains(out.String(), "controller manager         ok\n") {
				t.Errorf("%s: printed\n%s\nwant %q in it", name, out, test.prints)
			}
			if took := time.Since(began); took > max(test.wait, serves)+time.Minute || test.wait > serves && took < serves {
				t.Errorf("%s: it took %s", name, took)
			}
		})
	}
}
