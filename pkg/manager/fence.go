// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"os"
	"sync"
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
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/ovnbackend"
	"groundskeeper.io/groundskeeper/pkg/controllerstate"
)

// Fence reports whether this process is still allowed to write as the leader to a system that does not check the Lease. Leader election
// alone reacts too late: it stops a retry period after the renew deadline, and a suspended machine resumes its work before it checks
// the time.
//
// Another replica acquires the Lease leaseDuration after the last renewal at the earliest. A write that starts while the fence is open
// and takes less than leaseDuration - renewDeadline is therefore complete by then.
type Fence struct {
	// lease is the name of the Lease, for messages.
	lease string
	// deadline is how long after a renewal the fence is open. 0: there is no election, it is always open.
	deadline time.Duration
	now      func() instant
	// states is what is published in the Lease; nil: nothing.
	states func() map[string]controllerstate.State

	mu sync.Mutex
	// held reports that the last request made this process the holder of the Lease; renewed is when it was sent.
	held    bool
	renewed instant
	// term is the last one of this process.
	term ovnbackend.Term
}

// instant is a moment by two clocks: the monotonic one stands still while the machine is suspended, the wall clock
// can be set back.
type instant struct {
	wall      time.Time
	monotonic time.Duration
}

// since returns how long ago the earlier moment was, by the clock that measured more.
func (i instant) since(earlier instant) time.Duration {
	return max(i.monotonic-earlier.monotonic, i.wall.Sub(earlier.wall))
}

// newFence returns the fence of an election. It is closed until a lock that it guards is held.
func newFence(election v1alpha1.LeaderElectionConfiguration) *Fence {
	start := time.Now()
	fence := &Fence{
		lease: election.ResourceNamespace + "/" + election.ResourceName,
		now: func() instant {
			t := time.Now()
			return instant{wall: t.Round(0), monotonic: t.Sub(start)}
		},
	}
	if *election.LeaderElect {
		fence.deadline = election.RenewDeadline.Duration
	}
	return fence
}

// Check returns nil when a write may start. Its error reports why not; the same write may be tried again, by the holder of the
// Lease at that time.
func (f *Fence) Check() error {
	if f.deadline == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.held {
		return fmt.Errorf("this replica does not hold the Lease %s", f.lease)
	}
	if age := f.now().since(f.renewed); age >= f.deadline {
		return fmt.Errorf("the Lease %s was renewed %s ago, and leaderElection.renewDeadline is %s: another replica may acquire it",
			f.lease, age.Round(time.Millisecond), f.deadline)
	}
	return nil
}

// holder returns the name of the Lease, "" when there is no election, whether this process holds it, and how long ago it
// renewed it then.
func (f *Fence) holder() (lease string, held bool, renewed time.Duration) {
	if f.deadline == 0 {
		return "", true, 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.held {
		return f.lease, false, 0
	}
	return f.lease, true, f.now().since(f.renewed)
}

// Term returns the present term of this process as the leader, for databases that record it.
func (f *Fence) Term() ovnbackend.Term {
	if f.deadline == 0 {
		return ovnbackend.Term{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.term
}

// clusterFence is a Fence that identifies its cluster.
type clusterFence struct {
	*Fence
	cluster self.Cluster
}

// Cluster implements ovnbackend.Lease.
func (f *clusterFence) Cluster(ctx context.Context) (string, error) {
	uid, err := f.cluster.UID(ctx)
	return string(uid), err
}

// guard returns a lock that notifies the fence of its outcome. The lock is one of the Lease of the fence.
func (f *Fence) guard(lock resourcelock.Interface) resourcelock.Interface {
	return &guardedLock{Interface: lock, fence: f}
}

// opened notes that a request that was sent at that moment made this process the holder, or kept it so.
func (f *Fence) opened(sent instant, record resourcelock.LeaderElectionRecord, created bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held, f.renewed = true, sent
	if created || f.term.Transitions != record.LeaderTransitions || f.term.Holder != record.HolderIdentity {
		f.term = ovnbackend.Term{Lease: f.lease, Transitions: record.LeaderTransitions, Holder: record.HolderIdentity, First: created}
	}
}

func (f *Fence) closed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = false
}

// guardedLock is a lock whose requests a fence sees.
type guardedLock struct {
	resourcelock.Interface
	fence *Fence
}

// Get implements resourcelock.Interface. That another client holds the lock closes the fence.
func (l *guardedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.fence.closed()
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *guardedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, true, func() error { return l.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface.
func (l *guardedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, false, func() error { return l.Interface.Update(ctx, record) })
}

// write notifies the fence of a request that makes this process the holder, or none. The time that counts is that of sending it:
// the others may have seen the renewal long before its response is here.
func (l *guardedLock) write(record resourcelock.LeaderElectionRecord, created bool, send func() error) error {
	if record.HolderIdentity != l.Identity() {
		l.fence.closed() // before the others can know
		return send()
	}
	sent := l.fence.now()
	if err := send(); err != nil {
		return err // a renewal that may have arrived is none
	}
	l.fence.opened(sent, record, created)
	return nil
}

// newLock returns the lock of an election, nil when there is none: what controller-runtime would make, with a fence that
// sees it. stop ends its events.
func newLock(
	restConfig *rest.Config, scheme *runtime.Scheme, election v1alpha1.LeaderElectionConfiguration, fence *Fence,
) (lock resourcelock.Interface, stop func(), err error) {
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
	client, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("the Lease: %w", err)
	}
	var leases coordinationv1client.LeasesGetter = client
	if fence.states != nil {
		leases = publisher{client, fence.states}
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
