// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

const (
	// fieldOwner is the manager of what the discoverer writes into a status. The operator and the maintenance
	// controller have their own.
	fieldOwner = "groundskeeper-discoverer"

	// settle is how long a change of the errors waits for others, period how often counts and times are checked.
	settle = time.Second
	period = 10 * time.Second
)

// Reasons of the condition Discovered.
const (
	// ReasonPending: the backend was not listed yet, or not everything of it copied.
	ReasonPending = "Pending"
	// ReasonSynced: everything is copied.
	ReasonSynced = "Synced"
	// ReasonIncomplete: some services cannot be copied, status.errors reports why.
	ReasonIncomplete = "Incomplete"
)

// State is what a status reports beside errors.
type State struct {
	// Discovered has status, reason and message of that condition.
	Discovered metav1.Condition
	// Counted reports that Services and Endpoints are known.
	Counted             bool
	Services, Endpoints int
	// LastSync is when all copies last agreed with a listing. It is zero before.
	LastSync time.Time
}

// Writer brings problems and state into the status of a DiscoveryBackend. It writes when something changed: errors immediately, all
// else every ten seconds at most.
type Writer struct {
	Client          Client
	Namespace, Name string
	Ledger          *Ledger
	State           func() State
	Clock           clock.Clock
	// Contact is whether the backend responds.
	Contact *Contact

	before *gimbalv1.DiscoveryBackend
	last   string
}

// Run writes until ctx is done.
func (w *Writer) Run(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	reported := ""
	for {
		err := w.write(ctx)
		if err != nil && ctx.Err() == nil && reported != err.Error() {
			reported = err.Error()
			log.Error(err, "The status of the DiscoveryBackend cannot be written")
		} else if err == nil {
			reported = ""
		}
		select {
		case <-ctx.Done():
			return
		case <-w.Clock.After(period):
		case <-w.Ledger.Changed():
			select {
			case <-ctx.Done():
				return
			case <-w.Clock.After(settle):
			}
		}
	}
}

// write writes the status when it differs from what was written last.
func (w *Writer) write(ctx context.Context) error {
	if w.before == nil {
		before, err := get(ctx, w.Client, w.Namespace, w.Name)
		if err != nil {
			return err
		}
		w.before = before
	}
	state, entries := w.State(), w.Ledger.Entries()
	known := meta.FindStatusCondition(w.before.Status.Conditions, gimbalv1.ConditionDiscovered) != nil
	if state.Discovered.Reason == ReasonPending && len(entries) == 0 && known {
		return nil // a restart is no news
	}
	status := w.render(state, entries)
	text, err := json.Marshal(status)
	if err != nil {
		return fmt.Errorf("status of DiscoveryBackend %s/%s: %w", w.Namespace, w.Name, err)
	}
	if string(text) == w.last {
		return nil
	}
	after, err := apply(ctx, w.Client, w.before, w.Name, fieldOwner, status)
	if err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			w.before, w.last = nil, ""
		}
		return fmt.Errorf("apply the status of DiscoveryBackend %s/%s: %w", w.Namespace, w.Name, err)
	}
	w.before, w.last = after, string(text)
	return nil
}

// render returns the status. What is not known yet remains unchanged: leaving it out would take it away.
func (w *Writer) render(state State, entries []Entry) *status {
	before := &w.before.Status
	rendered := &status{
		Errors: errorsOf(entries, ""), Conditions: []metav1.Condition{w.condition(state.Discovered)},
		Services: before.Services, Endpoints: before.Endpoints, LastSyncTime: before.LastSyncTime,
	}
	reachable := w.Contact.condition(meta.FindStatusCondition(before.Conditions, gimbalv1.ConditionReachable), w.before.Generation)
	if reachable != nil {
		rendered.Conditions = append(rendered.Conditions, *reachable)
	}
	if state.Counted {
		rendered.Services, rendered.Endpoints = new(int32(state.Services)), new(int32(state.Endpoints))
	}
	if !state.LastSync.IsZero() {
		rendered.LastSyncTime = new(metav1.NewTime(state.LastSync.Truncate(time.Second)))
	}
	return rendered
}

// errorsOf returns entries as in a status, each message after a prefix.
func errorsOf(entries []Entry, prefix string) []gimbalv1.DiscoveryError {
	errs := make([]gimbalv1.DiscoveryError, 0, len(entries))
	for _, entry := range entries {
		errs = append(errs, gimbalv1.DiscoveryError{Type: entry.Type, Message: prefix + entry.Message,
			StatusTime: new(metav1.NewTime(entry.Seen))})
	}
	return errs
}

// condition returns the condition Discovered, whose time changes with its status.
func (w *Writer) condition(discovered metav1.Condition) metav1.Condition {
	discovered.Type, discovered.ObservedGeneration = gimbalv1.ConditionDiscovered, w.before.Generation
	discovered.LastTransitionTime = metav1.NewTime(w.Clock.Now().Truncate(time.Second))
	if old := meta.FindStatusCondition(w.before.Status.Conditions, discovered.Type); old != nil && old.Status == discovered.Status {
		discovered.LastTransitionTime = old.LastTransitionTime
	}
	return discovered
}

// Client reads a DiscoveryBackend and writes its status.
type Client interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*gimbalv1.DiscoveryBackend, error)
	Patch(
		ctx context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string,
	) (*gimbalv1.DiscoveryBackend, error)
}

// status is the part of the status of a DiscoveryBackend that discoverers write. Unset fields belong to another manager,
// or are removed.
type status struct {
	Errors       []gimbalv1.DiscoveryError `json:"errors,omitempty"`
	Conditions   []metav1.Condition        `json:"conditions,omitempty"`
	Services     *int32                    `json:"services,omitempty"`
	Endpoints    *int32                    `json:"endpoints,omitempty"`
	LastSyncTime *metav1.Time              `json:"lastSyncTime,omitempty"`
	// Identity has its own manager.
	Identity []gimbalv1.ClusterIdentity `json:"identity,omitempty"`
}

// document is what is sent to the server for a server-side apply. With the uid it is for this very object: not for one
// of the same name made since, and none is made by it.
type document struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Status          *status           `json:"status"`
}

// identityOwner is the manager of the identity of the backend, which is written once and stays whatever else is reported.
const identityOwner = "groundskeeper-discoverer-identity"

// Identity records by what the backend is recognized. It is a conflict when the DiscoveryBackend changed since it was read:
// another discoverer may have recorded another cluster.
func Identity(ctx context.Context, client Client, backend *gimbalv1.DiscoveryBackend, recorded []gimbalv1.ClusterIdentity) error {
	meta := metav1.ObjectMeta{Name: backend.Name, UID: backend.UID, ResourceVersion: backend.ResourceVersion}
	_, err := send(ctx, client, meta, identityOwner, &status{Identity: recorded})
	return err
}

func get(ctx context.Context, client Client, namespace, name string) (*gimbalv1.DiscoveryBackend, error) {
	backend, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get DiscoveryBackend %s/%s: %w", namespace, name, err)
	}
	return backend, nil
}

// apply makes a status what a manager reports about a DiscoveryBackend.
func apply(
	ctx context.Context, client Client, backend *gimbalv1.DiscoveryBackend, name, manager string, status *status,
) (*gimbalv1.DiscoveryBackend, error) {
	return send(ctx, client, metav1.ObjectMeta{Name: name, UID: backend.UID}, manager, status)
}

func send(
	ctx context.Context, client Client, meta metav1.ObjectMeta, manager string, status *status,
) (*gimbalv1.DiscoveryBackend, error) {
	kind := metav1.TypeMeta{APIVersion: gimbalv1.SchemeGroupVersion.String(), Kind: "DiscoveryBackend"}
	text, err := json.Marshal(document{TypeMeta: kind, Metadata: meta, Status: status})
	if err != nil {
		return nil, fmt.Errorf("status of DiscoveryBackend %s: %w", meta.Name, err)
	}
	return client.Patch(ctx, meta.Name, types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: manager, Force: new(true)}, "status")
}
