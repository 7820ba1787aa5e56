// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// counting is a manager that counts what is added. Every other call panics.
type counting struct {
	manager.Manager
	added int
}

// GetLogger implements manager.Manager.
func (*counting) GetLogger() logr.Logger { return logr.Discard() }

// GetControllerOptions implements manager.Manager.
func (*counting) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true)}
}

// Add implements manager.Manager.
func (m *counting) Add(manager.Runnable) error {
	m.added++
	return nil
}

// TestNothingWithoutClasses checks that without a storage class nothing runs and nothing is watched.
func TestNothingWithoutClasses(t *testing.T) {
	config := configv1alpha1.LocalVolumeConfiguration{}
	configv1alpha1.SetDefaults_LocalVolumeConfiguration(&config)
	mgr := &counting{}
	site, err := AddToManager(mgr, localvolume.Dependencies{Config: config}, true)
	if site != nil || err != nil || mgr.added != 0 {
		t.Errorf("site %v, error %v, %d added", site, err, mgr.added)
	}
}

// The Deleter is added with the cleanup, or not at all.
func TestDeleter(t *testing.T) {
	for withDeleter, want := range map[bool]int{true: 2, false: 1} {
		mgr := &counting{}
		if err := addControllers(mgr, localvolumetest.New(t, nil).Site, withDeleter); err != nil || mgr.added != want {
			t.Errorf("Deleter %v: %d controllers, error %v", withDeleter, mgr.added, err)
		}
	}
}

// TestNodesOfStandby checks that a replica that is not the leader fills the cache of nodes, too: it would never be ready otherwise.
func TestNodesOfStandby(t *testing.T) {
	var nodes manager.Runnable = everywhere{}
	if runnable, ok := nodes.(manager.LeaderElectionRunnable); !ok || runnable.NeedLeaderElection() {
		t.Error("the cache of nodes is started on the leader alone")
	}
}
