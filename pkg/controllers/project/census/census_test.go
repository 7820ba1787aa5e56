// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package census

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

func project(name string, phase gardenerv1beta1.ProjectPhase) *gardenerv1beta1.Project {
	return &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: gardenerv1beta1.ProjectStatus{Phase: phase}}
}

// A census counts what is in the cache of the latest manager, at the time of the scrape.
func TestCensus(t *testing.T) {
	registry := prometheus.NewRegistry()
	census := Gauge{Name: "projects", Help: "By phase.", Labels: []string{"phase"},
		Of: Count([]string{"Ready", "Failed"}, func(p *gardenerv1beta1.Project) string { return string(p.Status.Phase) })}
	if err := census.Register(registry, kubetest.New(t, project("a", "Failed"))); err != nil {
		t.Fatal(err)
	}
	cache := kubetest.New(t, project("a", "Ready"), project("b", "Ready"), project("c", ""))
	if err := census.Register(registry, cache); err != nil {
		t.Fatal(err)
	}
	cache.Add(project("d", "Ready"))
	want := "# HELP projects By phase.\n# TYPE projects gauge\nprojects{phase=\"Failed\"} 0\nprojects{phase=\"Ready\"} 3\n"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	// A cache that cannot be read has no count, which is something else than none.
	cache.ReadCache = func(string, runtime.Object) error { return errors.New("the cache is not filled") }
	if err := census.Register(registry, cache.Client()); err != nil {
		t.Fatal(err)
	}
	if families, err := registry.Gather(); err != nil || len(families) > 0 {
		t.Errorf("%v, %v", families, err)
	}
}
