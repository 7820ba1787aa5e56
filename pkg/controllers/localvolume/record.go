// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// RecordName is the name of the ConfigMap that records since when nodes are missing: a key per node, its value an RFC 3339
	// time by the clock of the API server.
	RecordName = "groundskeeper-missing-nodes"
	// SeenPrefix begins the keys of that ConfigMap that report which Nodes responded to a name that volumes use: the name follows,
	// and the value has the Nodes, separated by commas. No name of a node and no label value begins like this.
	SeenPrefix = "_seen."
	// RegisteredPrefix begins the keys of that ConfigMap with a time for each name that a Node without the label could have: one that was
	// registered before, by the clock of the API server, does not have it.
	RegisteredPrefix = "_registered."
	// ConfirmedAnnotation on that ConfigMap is when all the nodes in it were last confirmed to be missing, by the clock of the API
	// server. Earlier versions wrote groundskeeper.io/missing-nodes-confirmed by their own clock, which is ignored.
	ConfirmedAnnotation = "groundskeeper.io/missing-nodes-confirmed-at"
	// AcknowledgeAnnotation on that ConfigMap is how many missing nodes a user acknowledged.
	AcknowledgeAnnotation = "groundskeeper.io/acknowledge-missing-nodes"
)

// WorkloadRecordNamespace is the namespace of the record in a cluster that is cleaned up from another one. Every cluster has it.
const WorkloadRecordNamespace = "kube-system"

// Recorded is what the record has for users.
type Recorded struct {
	Plan
	// Confirmed is when a controller last confirmed that the nodes are missing, by the clock of the API server.
	Confirmed *time.Time `json:"confirmed,omitempty"`
	// Acknowledged is how many missing nodes a user acknowledged.
	Acknowledged string `json:"acknowledged,omitempty"`
}

// FindRecord reads the record from the first of the namespaces that has one; nil if none does. Namespaces that may not be read are
// skipped, as long as one that may be has a record: otherwise there may be one.
func FindRecord(ctx context.Context, c client.Reader, namespaces ...string) (*Recorded, error) {
	var forbidden error
	for _, namespace := range namespaces {
		object := &corev1.ConfigMap{}
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: RecordName}, object)
		if err == nil {
			return recordedIn(object)
		}
		failure := fmt.Errorf("get config map %s/%s: %w", namespace, RecordName, err)
		switch {
		case apierrors.IsNotFound(err):
		case !apierrors.IsForbidden(err):
			return nil, failure
		case forbidden == nil:
			forbidden = failure
		}
	}
	return nil, forbidden
}

func recordedIn(object *corev1.ConfigMap) (*Recorded, error) {
	recorded := &Recorded{Acknowledged: object.Annotations[AcknowledgeAnnotation]}
	if at, err := time.Parse(time.RFC3339Nano, object.Annotations[ConfirmedAnnotation]); err == nil {
		recorded.Confirmed = &at
	}
	text := object.Data[PlanKey]
	if text == "" {
		return recorded, nil
	}
	if err := json.Unmarshal([]byte(text), &recorded.Plan); err != nil {
		return nil, fmt.Errorf("read key %s of config map %s/%s: %w", PlanKey, object.Namespace, object.Name, err)
	}
	return recorded, nil
}

// record keeps what should outlive the process in a ConfigMap, so that a restart neither loses nor restarts the time that nodes are
// missing. Without the permissions to do so it keeps nothing.
type record struct {
	client    client.Client
	namespace string

	// mu guards what follows; both controllers read the acknowledgement.
	mu sync.Mutex
	// lacking reports that there is nowhere to keep anything, loaded that it was read once.
	lacking, loaded bool
	// stored is what the ConfigMap had when it was last read or written, and nil when that is not known.
	stored *corev1.ConfigMap
}

// load reads the record once and returns its content, nil when that was done before.
func (r *record) load(ctx context.Context) (*Knowledge, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loaded || r.lacking {
		return nil, nil
	}
	object, err := r.read(ctx)
	if object == nil || err != nil {
		return nil, err
	}
	r.loaded = true
	return knowledgeOf(object), nil
}

// read reads the ConfigMap; one without a resource version does not exist, and nil reports that it must not be read.
func (r *record) read(ctx context.Context) (*corev1.ConfigMap, error) {
	object, err := r.get(ctx)
	if apierrors.IsForbidden(err) {
		r.giveUp(ctx, err)
		return nil, nil
	}
	return object, err
}

func (r *record) get(ctx context.Context) (*corev1.ConfigMap, error) {
	object := &corev1.ConfigMap{}
	if err := r.client.Get(ctx, r.key(), object); client.IgnoreNotFound(err) != nil {
		return object, fmt.Errorf("get config map %q in namespace %q: %w", RecordName, r.namespace, err)
	}
	return object, nil
}

// save writes what differs, in one request, and with confirm also that the nodes are missing still, once in a while. What
// it writes is the whole truth: a ConfigMap that was changed meanwhile is read again first, because a key that is left in
// it by mistake would be confirmed with the others.
func (r *record) save(ctx context.Context, known Knowledge, plan planner, confirm bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lacking || !r.loaded {
		return nil
	}
	for attempt := 0; ; attempt++ {
		if r.stored == nil {
			object, err := r.read(ctx)
			if object == nil || err != nil {
				return err
			}
			r.stored = object
		}
		err := r.saveChanges(ctx, known, plan, confirm)
		switch {
		case err == nil:
			return nil
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err) && r.stored.ResourceVersion == "": // no permission to it, or no namespace
			r.giveUp(ctx, err)
			return nil
		}
		r.stored = nil
		changed := apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)
		if !changed || attempt > 0 {
			return fmt.Errorf("write config map %q in namespace %q: %w", RecordName, r.namespace, err)
		}
	}
}

func (r *record) saveChanges(ctx context.Context, known Knowledge, plan planner, confirm bool) error {
	wanted, err := recordData(known, r.stored, plan)
	if err != nil {
		return err
	}
	changes := map[string]*string{}
	for key, value := range wanted {
		if stored, ok := r.stored.Data[key]; !ok || stored != value {
			changes[key] = &value
		}
	}
	for key := range r.stored.Data {
		if _, ok := wanted[key]; !ok {
			changes[key] = nil
		}
	}
	last, parseErr := time.Parse(time.RFC3339Nano, r.stored.Annotations[ConfirmedAnnotation])
	age := known.Confirmed.Sub(last)
	confirm = confirm && len(known.Missing) > 0 && (parseErr != nil || age >= BeatInterval || age < 0)
	if len(changes) == 0 && !confirm {
		return nil
	}
	annotations := map[string]string{ConfirmedAnnotation: known.Confirmed.UTC().Format(time.RFC3339Nano)}
	written, err := writeConfigMap(ctx, r.client, r.key(), r.stored.ResourceVersion, annotations, changes)
	if err == nil {
		r.stored = written
	}
	return err
}

// maxRecord is how large a ConfigMap may be, with the keys, which the API server does not count, but etcd does.
const maxRecord = 1 << 20

// planner makes the Plan of the recorded times at which nodes went missing.
type planner func(missing map[string]time.Time) Plan

// recordData returns the content of the ConfigMap. A name that cannot be a key is left out. A stored time is kept if it
// differs by the granularity of the clock at most, so that a record without a change is not written. What does not fit is left out where
// that is safe: the Plan, and times of registration, without which more nodes are in doubt.
func recordData(known Knowledge, stored *corev1.ConfigMap, plan planner) (map[string]string, error) {
	data := map[string]string{}
	set := func(key, value string) {
		if len(validation.IsConfigMapKey(key)) == 0 {
			data[key] = value
		}
	}
	for node, observed := range known.Missing {
		since := known.Confirmed.Add(-observed)
		if before, err := time.Parse(time.RFC3339Nano, stored.Data[node]); err == nil && before.Sub(since).Abs() <= dateGranularity {
			set(node, stored.Data[node])
			continue
		}
		set(node, since.UTC().Format(time.RFC3339Nano))
	}
	for name, nodes := range known.Seen {
		set(SeenPrefix+name, strings.Join(slices.Sorted(slices.Values(nodes)), ","))
	}
	for name, registered := range known.Registered {
		if before, err := time.Parse(time.RFC3339Nano, stored.Data[RegisteredPrefix+name]); registered.IsZero() && err == nil {
			registered = before
		} else if registered.IsZero() {
			registered = known.Confirmed
		}
		set(RegisteredPrefix+name, registered.UTC().Format(time.RFC3339Nano))
	}
	room := maxRecord
	for key, value := range data {
		room -= len(key) + len(value)
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(known.Registered))) {
		if room >= 0 {
			break
		}
		room += len(RegisteredPrefix) + len(name) + len(data[RegisteredPrefix+name])
		delete(data, RegisteredPrefix+name)
	}
	text, err := plan(recordedMissing(data)).encode(min(maxPlan, room-len(PlanKey)))
	if text != "" {
		data[PlanKey] = text
	}
	return data, err
}

// recordedMissing returns since when nodes are missing, from the content of the ConfigMap.
func recordedMissing(data map[string]string) map[string]time.Time {
	missing := map[string]time.Time{}
	for key, value := range data {
		if at, err := time.Parse(time.RFC3339Nano, value); err == nil && !strings.HasPrefix(key, "_") {
			missing[key] = at
		}
	}
	return missing
}

// knowledgeOf reads the record. Values that are not timestamps are ignored and overwritten. How long a node was missing is rounded down.
func knowledgeOf(object *corev1.ConfigMap) *Knowledge {
	known := &Knowledge{Missing: map[string]time.Duration{}, Seen: map[string][]string{}, Registered: map[string]time.Time{}}
	for key, value := range object.Data {
		if name, ok := strings.CutPrefix(key, SeenPrefix); ok {
			known.Seen[name] = strings.Split(value, ",")
		}
		if name, ok := strings.CutPrefix(key, RegisteredPrefix); ok {
			known.Registered[name], _ = time.Parse(time.RFC3339Nano, value) // the zero time excludes no Node
		}
	}
	known.Confirmed, _ = time.Parse(time.RFC3339Nano, object.Annotations[ConfirmedAnnotation]) // the zero time is too old
	for node, since := range recordedMissing(object.Data) {
		known.Missing[node] = known.Confirmed.Sub(since) - dateGranularity
	}
	return known
}

func (r *record) key() client.ObjectKey {
	return client.ObjectKey{Namespace: r.namespace, Name: RecordName}
}

// acknowledged reads how many missing nodes a user acknowledged.
func (r *record) acknowledged(ctx context.Context) (int, error) {
	r.mu.Lock()
	lacking := r.lacking
	r.mu.Unlock()
	if lacking {
		return 0, nil
	}
	object, err := r.get(ctx)
	text, ok := object.Annotations[AcknowledgeAnnotation]
	if apierrors.IsForbidden(err) || err == nil && !ok {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		log.FromContext(ctx).Info("Ignored the acknowledgement", "annotation", AcknowledgeAnnotation, "value", text, "err", err.Error())
		number = 0 // one that is too large would be the largest there is
	}
	return int(number), nil
}

func (r *record) giveUp(ctx context.Context, err error) {
	r.lacking = true
	log.FromContext(ctx).Info("The times at which nodes were lost are in memory only: "+
		"a restart starts the delays over, and the brake cannot be acknowledged",
		"configMap", r.namespace+"/"+RecordName, "err", err.Error())
}
