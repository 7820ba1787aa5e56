// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// CleanersName is the name of the ConfigMap in namespace kube-system of each cluster that records who cleans up its local volumes: a
	// key per storage class, its value a tenure. Two that clean up one class would delete by the settings of the bolder one.
	CleanersName = "groundskeeper-local-volume-cleaners"
	// recordKey begins the key of a record of missing nodes; its namespace follows. No class has a name that begins like this. Two that
	// write one record would take each other's knowledge of nodes for their own after a restart.
	recordKey = "_record."

	// tenureDuration is for how long a cleaner that does not renew its tenure keeps others from cleaning up.
	tenureDuration = 10 * time.Minute
	// tenureValid is for how long after a renewal its holder may delete. Others take over later.
	tenureValid = tenureDuration / 2
	// tenureRenewal is how often a tenure is renewed, tenureRetry how often one that is not held is requested.
	tenureRenewal = 2 * time.Minute
	tenureRetry   = 10 * time.Second
	// maxConflicts is how often a write is retried immediately, because others wrote.
	maxConflicts = 3
)

// CleanersKey is the key of that ConfigMap.
func CleanersKey() client.ObjectKey {
	return client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: CleanersName}
}

// tenure is who cleans up a class, or writes a record. Another process takes it over when it has not observed a renewal for its
// duration: the time is of the holder's clock, and for users.
type tenure struct {
	Holder  string    `json:"holder"`
	Renewed time.Time `json:"renewed"`
}

// sighting is the value of a key, and since when it is known to be unchanged, by the clock of this process.
type sighting struct {
	value string
	since time.Time
}

// then returns what is known of a key after it was read.
func (s sighting) then(value string, now time.Time) sighting {
	if s.since.IsZero() || s.value != value {
		return sighting{value: value, since: now}
	}
	return s
}

// holder returns who holds a key; "" when a process may take it: it has no holder, or that did not renew it for its duration. A value
// that cannot be read may be of a later version, and is held by what wrote it.
func (s sighting) holder(now time.Time) string {
	if s.value == "" || now.Sub(s.since) >= tenureDuration {
		return ""
	}
	var t tenure
	if err := json.Unmarshal([]byte(s.value), &t); err != nil || t.Holder == "" {
		return s.value
	}
	return t.Holder
}

// tenures are what one cleaner holds in a cluster. Without a name it has no permission to do so, and holds everything.
type tenures struct {
	client client.Client
	name   string
	// idle reports that it deletes nothing, and prevents no other process from doing so.
	idle bool

	mu   sync.Mutex
	keys []string
	seen map[string]sighting
	// held is when a key that this cleaner holds was renewed last, tried when it last requested them all.
	held  map[string]moment
	tried time.Time
	// others is who holds the keys that this cleaner does not hold, for messages.
	others map[string]string
}

// newTenures returns what a cleaner of a Site would hold.
func newTenures(d *Dependencies) *tenures {
	var keys []string
	if !*d.Config.DryRun {
		keys = append(keys, d.Config.StorageClassNames...)
	}
	if !d.NoRecord {
		keys = append(keys, recordKey+d.RecordNamespace)
	}
	return &tenures{client: d.Client, name: d.Holder, idle: *d.Config.DryRun, keys: keys, seen: map[string]sighting{},
		held: map[string]moment{}, others: map[string]string{}}
}

// want adds a key that this cleaner has to hold before it deletes anything of it.
func (t *tenures) want(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.idle && !slices.Contains(t.keys, key) {
		t.keys, t.tried = append(t.keys, key), time.Time{}
	}
}

func (t *tenures) holds(key string, now moment) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.name == "" || !slices.Contains(t.keys, key) {
		return true
	}
	renewed, held := t.held[key]
	return held && renewed.until(now) < tenureValid
}

// due returns after how long the keys have to be requested again; false: never.
func (t *tenures) due(now time.Time) (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	interval := tenureRenewal
	if len(t.held) < len(t.keys) {
		interval = tenureRetry
	}
	return max(interval-now.Sub(t.tried), 0), t.name != "" && len(t.keys) > 0
}

// request reads the tenures, takes those without a holder, and renews its own; it reports whether it took any. Without renew it only reads
// which ones it still has.
func (t *tenures) request(ctx context.Context, now moment, renew bool) (taken bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.name == "" {
		return false, nil
	}
	if renew {
		t.tried = now.process
	}
	// By another process, for other classes.
	changed := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	err = retry.OnError(wait.Backoff{Steps: 1 + maxConflicts}, changed, func() error {
		before := len(t.held)
		err := t.exchange(ctx, now, renew)
		taken = len(t.held) > before
		return err
	})
	if apierrors.IsForbidden(err) {
		t.name = ""
		log.FromContext(ctx).Info("Others that clean up local volumes of this cluster are not recognized: run one only",
			"configMap", CleanersKey().String(), "err", err.Error())
		return true, nil
	}
	if err != nil {
		return taken, fmt.Errorf("record in config map %s who cleans up: %w", CleanersKey(), err)
	}
	return taken, nil
}

func (t *tenures) exchange(ctx context.Context, now moment, renew bool) error {
	object := &corev1.ConfigMap{}
	if err := t.client.Get(ctx, CleanersKey(), object); client.IgnoreNotFound(err) != nil {
		return err
	}
	changes := t.read(object.Data, now)
	if !renew || len(changes) == 0 {
		return nil
	}
	if _, err := writeConfigMap(ctx, t.client, CleanersKey(), object.ResourceVersion, nil, changes); err != nil {
		return err
	}
	for key, value := range changes {
		t.held[key], t.seen[key] = now, sighting{value: *value, since: now.process}
	}
	return nil
}

// read takes over what the ConfigMap has, and returns what is to be written to it: the keys that no other process holds.
func (t *tenures) read(data map[string]string, now moment) map[string]*string {
	changes := map[string]*string{}
	t.others = map[string]string{}
	for _, key := range t.keys {
		t.seen[key] = t.seen[key].then(data[key], now.process)
		holder := t.seen[key].holder(now.process)
		if holder != t.name {
			delete(t.held, key)
		}
		if holder != t.name && holder != "" {
			t.others[key] = holder
			continue
		}
		if renewed, held := t.held[key]; held && renewed.until(now) < tenureRenewal {
			continue
		}
		value, err := json.Marshal(tenure{Holder: t.name, Renewed: now.process.UTC()})
		if err == nil { // text and a time can always be encoded
			changes[key] = new(string(value))
		}
	}
	return changes
}

// missing explains why this cleaner does not hold everything; "" if it does. failure is that of the last request.
func (t *tenures) missing(failure error) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(t.others)) {
		if namespace, isRecord := strings.CutPrefix(key, recordKey); isRecord {
			parts = append(parts, fmt.Sprintf("config map %s/%s is written by %s", namespace, RecordName, t.others[key]))
			continue
		}
		parts = append(parts, fmt.Sprintf("storage class %s is cleaned up by %s", key, t.others[key]))
	}
	if failure != nil && len(t.held) < len(t.keys) {
		parts = append(parts, failure.Error())
	}
	return strings.Join(parts, ", ")
}

// Holds reports whether this cleaner may delete what has a storage class.
func (s *Site) Holds(class string) bool { return s.tenures.holds(class, s.moment()) }

// HeldBy explains why it may not, if another one does; otherwise it is "".
func (s *Site) HeldBy(class string) string {
	s.tenures.mu.Lock()
	defer s.tenures.mu.Unlock()
	if other := s.tenures.others[class]; other != "" {
		return fmt.Sprintf("storage class %s is cleaned up by %s; stop one of the two, and delete config map %s if it does not run any more",
			class, other, CleanersKey())
	}
	return ""
}
