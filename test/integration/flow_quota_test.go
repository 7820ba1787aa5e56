// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

const (
	configMaps = corev1.ResourceName("count/configmaps")
	klusters   = corev1.ResourceName("count/klusters.kubernikus.sap.cc")
)

// testQuota checks that a Project gets the first quota that applies to it, that a user may raise a limit, and that other changes
// are reverted.
func (p *pair) testQuota(t *testing.T) {
	small := p.project(t, "small", map[string]string{"size": "small"}, olivia())
	p.hasQuota(t, small, corev1.ResourceList{configMaps: resource.MustParse("10"), klusters: resource.MustParse("1")})
	large := p.project(t, "large", map[string]string{"size": "large"}, olivia())
	p.hasQuota(t, large, corev1.ResourceList{configMaps: resource.MustParse("100")})
	none := p.project(t, "none", nil, olivia())
	quotas := &corev1.ResourceQuotaList{}
	if err := p.client.List(t.Context(), quotas, client.InNamespace(none.NamespaceName())); err != nil || len(quotas.Items) > 0 {
		t.Errorf("a project of no size has quotas %v, %v", quotas.Items, err)
	}

	quota := quotaOf(small)
	for _, step := range []struct {
		what string
		edit func(corev1.ResourceList)
		want corev1.ResourceList
	}{
		{
			"raised", func(hard corev1.ResourceList) { hard[configMaps] = resource.MustParse("20") },
			corev1.ResourceList{configMaps: resource.MustParse("20"), klusters: resource.MustParse("1")},
		},
		{
			"lowered", func(hard corev1.ResourceList) { hard[configMaps] = resource.MustParse("2") },
			corev1.ResourceList{configMaps: resource.MustParse("10"), klusters: resource.MustParse("1")},
		},
		{
			"removed", func(hard corev1.ResourceList) { delete(hard, klusters) },
			corev1.ResourceList{configMaps: resource.MustParse("10"), klusters: resource.MustParse("1")},
		},
		{
			"another one", func(hard corev1.ResourceList) { hard[corev1.ResourcePods] = resource.MustParse("0") },
			corev1.ResourceList{configMaps: resource.MustParse("10"), klusters: resource.MustParse("1")},
		},
		{
			"one raised, one lowered", func(hard corev1.ResourceList) {
				hard[configMaps], hard[klusters] = resource.MustParse("0"), resource.MustParse("2")
			},
			corev1.ResourceList{configMaps: resource.MustParse("10"), klusters: resource.MustParse("2")},
		},
	} {
		seen := passes(t, p.Managers)
		p.update(t, quota, func() { step.edit(quota.Spec.Hard) })
		idle(t, p.Managers, seen+1)
		t.Log(step.what)
		p.hasQuota(t, small, step.want)
	}

	// The quota holds for Groundskeeper's kinds too.
	for i := range 3 {
		kluster := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: small.NamespaceName(), Name: fmt.Sprintf("kluster-%d", i)},
			Spec: kubernikusv1.KlusterSpec{Name: "short", Version: "1.36.3"}}
		var err error
		eventually(t, func(ctx context.Context) error { // a conflict means that the quota was updated concurrently
			if err = p.client.Create(ctx, kluster.DeepCopy()); apierrors.IsConflict(err) {
				return err
			}
			return nil
		})
		if i < 2 && err != nil || i == 2 && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: gardener")) {
			t.Errorf("kluster %d of 2: %v", i+1, err)
		}
	}

	if err := p.client.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	p.hasQuota(t, small, corev1.ResourceList{configMaps: resource.MustParse("10"), klusters: resource.MustParse("1")})
	p.update(t, none, func() { none.Labels = map[string]string{"size": "late"} })
	p.hasQuota(t, none, corev1.ResourceList{configMaps: resource.MustParse("100")})
}

// testQuotaScopes checks that a quota is recreated when the quota of the Project has other scopes, because these are immutable, and
// that a limit that an administrator has raised remains raised.
func (p *pair) testQuotaScopes(t *testing.T) {
	project := p.project(t, "scopes", map[string]string{"size": "pods"}, olivia())
	p.hasQuota(t, project, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")})
	quota, raised := quotaOf(project), corev1.ResourceList{corev1.ResourcePods: resource.MustParse("20")}
	p.update(t, quota, func() { quota.Spec.Hard = raised })
	first := quota.UID
	for _, step := range []struct {
		size   string
		scopes []corev1.ResourceQuotaScope
	}{
		{"best-effort", []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}},
		{"pods", nil},
	} {
		p.update(t, project, func() { project.Labels = map[string]string{"size": step.size} })
		eventually(t, func(ctx context.Context) error {
			quota = quotaOf(project)
			if err := p.client.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
				return err
			}
			return diffError(step.scopes, quota.Spec.Scopes)
		})
		if quota.UID == first {
			t.Errorf("size %s: the quota has new scopes and its old UID", step.size)
		}
		p.hasQuota(t, project, raised)
		first = quota.UID
	}
	eventually(t, func(ctx context.Context) error {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}}
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); err != nil {
			return err
		}
		if record, ok := namespace.Annotations["groundskeeper.io/recreated-quota"]; ok {
			return fmt.Errorf("namespace %s still records the quota %s", namespace.Name, record)
		}
		return nil
	})
}

func quotaOf(project *gardenerv1beta1.Project) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: project.NamespaceName(), Name: "gardener"}}
}

// hasQuota waits until the quota of a Project has these limits and Kubernetes enforces them.
func (p *pair) hasQuota(t *testing.T, project *gardenerv1beta1.Project, want corev1.ResourceList) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		quota := quotaOf(project)
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		for _, hard := range []corev1.ResourceList{quota.Spec.Hard, quota.Status.Hard} {
			if err := diffError(want, hard); err != nil {
				return err
			}
		}
		return nil
	})
}
