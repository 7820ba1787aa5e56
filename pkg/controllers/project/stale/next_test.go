// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

func TestNextDeletion(t *testing.T) {
	const name = "groundskeeper_project_next_auto_deletion_timestamp_seconds"
	project := func(name string, at int64) *gardenerv1beta1.Project {
		p := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if at > 0 {
			p.Status.StaleAutoDeleteTimestamp = new(metav1.NewTime(time.Unix(at, 0)))
		}
		return p
	}
	deleting := project("deleting", 100)
	deleting.DeletionTimestamp, deleting.Finalizers = new(metav1.Now()), []string{"gardener"}
	registry := prometheus.NewRegistry()
	if err := registerNext(registry, newCluster(t, project("used", 0), deleting).store); err != nil {
		t.Fatal(err)
	}
	if n, err := testutil.GatherAndCount(registry, name); n != 0 || err != nil {
		t.Errorf("samples = %d, %v, want none while no deletion is planned", n, err)
	}
	// A second manager of this process replaces the first one.
	if err := registerNext(registry, newCluster(t, project("used", 0), deleting, project("late", 300), project("soon", 200)).store); err != nil {
		t.Fatal(err)
	}
	want := "# HELP " + name + " When the next stale Project will be deleted, in seconds since 1970. There is no sample if none is planned.\n" +
		"# TYPE " + name + " gauge\n" + name + " 200\n"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), name); err != nil {
		t.Error(err)
	}
}
