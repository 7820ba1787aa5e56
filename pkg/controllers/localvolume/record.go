// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// RecordName is the name of the ConfigMap that says since when nodes are missing: a key per node, its value an
	// RFC 3339 time.
	RecordName = "groundskeeper-missing-nodes"
	// AcknowledgeAnnotation on that ConfigMap is how many missing nodes somebody said are all right.
	AcknowledgeAnnotation = "groundskeeper.io/acknowledge-missing-nodes"
)

// record keeps since when nodes are missing, so that a restart neither loses nor restarts the time. Without the
// rights to do so it keeps nothing.
type record struct {
	client    client.Client
	namespace string

	// mu guards what follows; both controllers read the acknowledgement.
	mu sync.Mutex
	// lacking says that there is nowhere to keep anything.
	lacking bool
	loaded  bool
	// exists says whether the ConfigMap was there when we last looked, stored what it had.
	exists bool
	stored map[string]string
}

// load reads the record once and returns what it says, nil when that was done before.
func (r *record) load(ctx context.Context) (map[string]time.Time, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loaded || r.lacking {
		return nil, nil
	}
	object := &corev1.ConfigMap{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: RecordName}, object)
	switch {
	case apierrors.IsForbidden(err):
		r.giveUp(ctx, err)
		return nil, nil
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("get config map %q in namespace %q: %w", RecordName, r.namespace, err)
	}
	r.loaded, r.exists, r.stored = true, err == nil, map[string]string{}
	since := map[string]time.Time{}
	for node, text := range object.Data {
		r.stored[node] = text
		// What is no time says nothing, and is overwritten.
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			since[node] = at
		}
	}
	return since, nil
}

// save writes what differs, in one request.
func (r *record) save(ctx context.Context, missing map[string]time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lacking || !r.loaded {
		return nil
	}
	wanted := recordData(missing)
	changes := map[string]any{}
	for node, at := range wanted {
		if r.stored[node] != at {
			changes[node] = at
		}
	}
	for node := range r.stored {
		if _, ok := wanted[node]; !ok {
			changes[node] = nil
		}
	}
	if len(changes) == 0 {
		return nil
	}
	err := r.write(ctx, wanted, changes)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err) && !r.exists: // no right to it, or no namespace
		r.giveUp(ctx, err)
		return nil
	case apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err): // somebody removed it, or made it
		r.exists = !r.exists
		r.stored = map[string]string{}
		return fmt.Errorf("write config map %q in namespace %q: %w", RecordName, r.namespace, err)
	case err != nil:
		return fmt.Errorf("write config map %q in namespace %q: %w", RecordName, r.namespace, err)
	}
	r.exists, r.stored = true, wanted
	return nil
}

func (r *record) write(ctx context.Context, wanted map[string]string, changes map[string]any) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: RecordName}}
	if !r.exists {
		object.Data = wanted
		return r.client.Create(ctx, object)
	}
	patch, err := json.Marshal(map[string]any{"data": changes})
	if err != nil {
		return err
	}
	return r.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}

// recordData is the record as the ConfigMap has it. A name that cannot be a key is left out.
func recordData(missing map[string]time.Time) map[string]string {
	data := map[string]string{}
	for node, since := range missing {
		if len(validation.IsConfigMapKey(node)) == 0 {
			data[node] = since.UTC().Format(time.RFC3339Nano)
		}
	}
	return data
}

// acknowledged reads how many missing nodes somebody said are all right.
func (r *record) acknowledged(ctx context.Context) (int, error) {
	r.mu.Lock()
	lacking := r.lacking
	r.mu.Unlock()
	if lacking {
		return 0, nil
	}
	object := &corev1.ConfigMap{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: RecordName}, object)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("get config map %q in namespace %q: %w", RecordName, r.namespace, err)
	}
	text, ok := object.Annotations[AcknowledgeAnnotation]
	if !ok {
		return 0, nil
	}
	number, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		log.FromContext(ctx).Info("The acknowledgement does not count", "annotation", AcknowledgeAnnotation, "value", text, "reason", err.Error())
		number = 0 // one that is too large would be the largest there is
	}
	return int(number), nil
}

func (r *record) giveUp(ctx context.Context, err error) {
	r.lacking = true
	log.FromContext(ctx).Info("The times at which nodes went missing are kept in memory only: a restart begins them anew, and the brake cannot be acknowledged",
		"configMap", r.namespace+"/"+RecordName, "reason", err.Error())
}
