// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// newLock returns the lock of an election, nil when there is none: what controller-runtime would make, with a fence that
// sees it. stop ends its events.
func newLock(restConfig *rest.Config, scheme *runtime.Scheme, election v1alpha1.LeaderElectionConfiguration, fence *Fence) (lock resourcelock.Interface, stop func(), err error) {
	if !*election.LeaderElect {
		return nil, func() {}, nil
	}
	hostname, err := os.Hostname()
	if err != nil {
		return nil, nil, fmt.Errorf("the identity in the Lease: %w", err)
	}
	identity := hostname + "_" + string(uuid.NewUUID())
	config := rest.AddUserAgent(rest.CopyConfig(restConfig), "leader-election")
	config.Timeout = max(election.RenewDeadline.Duration/2, time.Second) // a request that blocks leaves time for another one
	events, err := corev1client.NewForConfig(restConfig)
	if err != nil {
		return nil, nil, fmt.Errorf("events of the Lease: %w", err)
	}
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("the Lease: %w", err)
	}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: events.Events("")})
	return fence.guard(&resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: election.ResourceNamespace, Name: election.ResourceName},
		Client:    leases,
		LockConfig: resourcelock.ResourceLockConfig{
			Identity:      identity,
			EventRecorder: broadcaster.NewRecorder(scheme, corev1.EventSource{Component: identity}),
		},
	}), broadcaster.Shutdown, nil
}

// electedManager is a manager whose lock is from newLock.
type electedManager struct {
	ctrl.Manager
	stop func()
}

// Start implements manager.Manager. The lock records its last event when the rest of the manager has ended.
func (m *electedManager) Start(ctx context.Context) error {
	defer m.stop()
	return m.Manager.Start(ctx)
}
