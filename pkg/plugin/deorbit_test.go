// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// deorbited returns a Kluster that is being deleted.
func deorbited(change ...func(*kubernikusv1.Kluster)) *kubernikusv1.Kluster {
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u", DeletionTimestamp: at(0),
		Finalizers: []string{kubernikusv1.DeorbiterFinalizer, "example.com/hold"}}}
	for _, f := range change {
		f(k)
	}
	return k
}

// TestEndDeorbit checks that only a Deorbit that has begun is ended, by the annotation of the flag, and after a confirmation.
func TestEndDeorbit(t *testing.T) {
	for name, test := range map[string]struct {
		end         ending
		kluster     *kubernikusv1.Kluster
		declines    bool
		annotations map[string]string
		fails       string
	}{
		"self-destruct": {ending{selfDestruct: true}, deorbited(), false, map[string]string{kubernikusv1.SelfDestructAnnotation: "now"}, ""},
		"thaw":          {ending{thaw: true}, deorbited(), false, map[string]string{kubernikusv1.DetachAnnotation: "true"}, ""},
		"neither":       {ending{}, deorbited(), false, nil, ""},
		"declined":      {ending{thaw: true}, deorbited(), true, nil, errDeclined.Error()},
		"not deleted": {ending{selfDestruct: true}, deorbited(func(k *kubernikusv1.Kluster) { k.DeletionTimestamp = nil }), false, nil,
			"no Deorbit of Kluster default/web has begun"},
		"released": {ending{thaw: true}, deorbited(func(k *kubernikusv1.Kluster) { k.Finalizers = k.Finalizers[1:] }), false, nil,
			"no Deorbit of Kluster default/web has begun"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := on(t, nil, test.kluster)
			c.in = strings.NewReader("n\n")
			err := c.deorbit(t.Context(), "web", test.end, !test.declines, false)
			if (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("error = %v, want %q", err, test.fails)
			}
			got := &kubernikusv1.Kluster{}
			if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(test.kluster), got); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{kubernikusv1.SelfDestructAnnotation, kubernikusv1.DetachAnnotation} {
				if got.Annotations[key] != test.annotations[key] {
					t.Errorf("annotation %s = %q, want %q", key, got.Annotations[key], test.annotations[key])
				}
			}
		})
	}
}

// TestDeleteKluster checks that a Kluster is deleted that a controller takes down, after a confirmation, and as it was shown; and that its
// Deorbit is ended as it was shown.
func TestDeleteKluster(t *testing.T) {
	probed := func(k *kubernikusv1.Kluster) {
		k.DeletionTimestamp = nil
		k.Status.Conditions = []metav1.Condition{condition(kubernikusv1.ConditionOpenStackReachable, "True", "Reachable", "")}
	}
	changed := func(ctx context.Context, c client.Client, k *kubernikusv1.Kluster) error {
		k.Labels = map[string]string{"changed": "meanwhile"}
		return c.Update(ctx, k)
	}
	reported := func(ctx context.Context, c client.Client, k *kubernikusv1.Kluster) error {
		if meta.FindStatusCondition(k.Status.Conditions, "Reported") != nil {
			return nil // at the second try
		}
		k.Status.Conditions = append(k.Status.Conditions, condition("Reported", "True", "Reported", ""))
		return c.Status().Update(ctx, k)
	}
	replaced := func(ctx context.Context, c client.Client, k *kubernikusv1.Kluster) error {
		k.Finalizers = nil
		if err := errors.Join(c.Update(ctx, k), c.Delete(ctx, k)); err != nil {
			return err
		}
		k.UID, k.ResourceVersion = "another", ""
		return c.Create(ctx, k)
	}
	for name, test := range map[string]struct {
		kluster       *kubernikusv1.Kluster
		manager       error // why it cannot be read
		end           ending
		answer        string
		before, after func(context.Context, client.Client, *kubernikusv1.Kluster) error // the patch
		deleted       bool
		fails         string
	}{
		"confirmed":                 {kluster: deorbited(probed), manager: errForbidden, answer: "y", deleted: true},
		"declined":                  {kluster: deorbited(probed), manager: errForbidden, answer: "n", fails: errDeclined.Error()},
		"no controller":             {kluster: deorbited(probed), answer: "y", fails: "no controller would deorbit Kluster default/web"},
		"changed meanwhile":         {kluster: deorbited(probed), manager: errForbidden, answer: "y", before: changed, fails: "modified"},
		"its status changed":        {kluster: deorbited(probed), manager: errForbidden, answer: "y", before: reported, deleted: true},
		"the status of its Deorbit": {kluster: deorbited(), end: ending{thaw: true}, answer: "y", before: reported, deleted: true},
		"replaced after it was confirmed": {kluster: deorbited(probed), manager: errForbidden, answer: "y", after: replaced,
			fails: "precondition failed"},
		"its Deorbit, changed meanwhile": {kluster: deorbited(), end: ending{thaw: true}, answer: "y", before: changed, deleted: true, fails: "modified"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := on(t, map[string]error{"Lease": test.manager}, test.kluster)
			key := client.ObjectKeyFromObject(test.kluster)
			meanwhile := func(ctx context.Context, c client.Client, do func(context.Context, client.Client, *kubernikusv1.Kluster) error) error {
				k := &kubernikusv1.Kluster{}
				if do == nil {
					return nil
				}
				return errors.Join(c.Get(ctx, key, k), do(ctx, c, k))
			}
			c.client = interceptor.NewClient(c.client, interceptor.Funcs{Patch: func(
				ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption,
			) error {
				if err := meanwhile(ctx, c, test.before); err != nil {
					return err
				}
				return errors.Join(c.Patch(ctx, object, patch, options...), meanwhile(ctx, c, test.after))
			}})
			c.in = strings.NewReader(test.answer + "\n")
			err := c.deorbit(t.Context(), "web", test.end, false, false)
			if (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("error = %v, want %q", err, test.fails)
			}
			got := &kubernikusv1.Kluster{}
			if err := c.client.Get(t.Context(), key, got); err != nil || got.DeletionTimestamp.IsZero() == test.deleted {
				t.Errorf("deleted at %v, %v, want deleted = %t", got.DeletionTimestamp, err, test.deleted)
			}
		})
	}
}

// TestStageLine checks that the line of a stage has its name once.
func TestStageLine(t *testing.T) {
	k := deorbited(func(k *kubernikusv1.Kluster) {
		k.Status.Conditions = []metav1.Condition{condition(kubernikusv1.ConditionDeorbited, "False", "Unreachable", "Claims: no route")}
		k.Status.Deorbit = &kubernikusv1.DeorbitStatus{Stage: kubernikusv1.DeorbitClaims}
	})
	if got := stageLine(k, nil, noon); strings.Count(got, "Claims") != 1 || !strings.Contains(got, "no route") {
		t.Errorf("line = %q, want the stage once, and the message", got)
	}
	k.Status.Deorbit, k.Finalizers = nil, []string{kubernikusv1.DeorbiterFinalizer}
	idle := func(name string) string { return "the controller " + name + " is disabled" }
	const want = "waiting for Deorbit to start: Unreachable: Claims: no route: no controller starts it: the controller kluster-deorbit is disabled"
	if got := stageLine(k, idle, noon); got != want {
		t.Errorf("line before the start = %q, want %q", got, want)
	}
}
