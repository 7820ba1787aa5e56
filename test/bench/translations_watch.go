// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/pkg/generated/informers/externalversions"
)

// tracker watches all Translations and notes when as many exist, and have a condition, as are expected.
type tracker struct {
	// condition is the type of the condition.
	condition string

	mu sync.Mutex
	// synced has all Translations that exist, and whether the condition is true for their present content.
	synced map[types.UID]bool
	inSync int
	want   int
	// exist and done are when all that are expected existed and had the condition.
	exist, done time.Time
	reached     chan struct{}
}

// trackTranslations begins to watch, until ctx ends, for each of the conditions. It queries Groundskeeper's API server itself, so that what is watched for the
// measurement costs kube-apiserver nothing.
func trackTranslations(ctx context.Context, config *rest.Config, conditions ...string) ([]*tracker, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	informer := externalversions.NewSharedInformerFactory(client, 0).Midonet().V1().Translations().Informer()
	if err := informer.SetTransform(essence); err != nil {
		return nil, err
	}
	trackers := make([]*tracker, len(conditions))
	for i, condition := range conditions {
		t := &tracker{condition: condition, synced: map[types.UID]bool{}}
		trackers[i] = t
		_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    t.see,
			UpdateFunc: func(_, now any) { t.see(now) },
			DeleteFunc: t.lose,
		})
		if err != nil {
			return nil, err
		}
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, errors.Join(errors.New("translations cannot be watched"), context.Cause(ctx))
	}
	return trackers, nil
}

// essence drops what is not checked.
func essence(object any) (any, error) {
	if translation, ok := object.(*midonetv1.Translation); ok {
		translation.ManagedFields, translation.OwnerReferences, translation.Labels = nil, nil, nil
		translation.Resources, translation.Status.Resources = nil, nil
	}
	return object, nil
}

func (t *tracker) see(object any) {
	translation, ok := object.(*midonetv1.Translation)
	if !ok {
		return
	}
	status := &translation.Status
	synced := status.ObservedGeneration == translation.Generation && isTrue(status.Conditions, t.condition, translation.Generation)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.synced[translation.UID] {
		t.inSync--
	}
	t.synced[translation.UID] = synced
	if synced {
		t.inSync++
	}
	t.check()
}

// isTrue reports whether a condition is true for a generation.
func isTrue(conditions []metav1.Condition, kind string, generation int64) bool {
	condition := meta.FindStatusCondition(conditions, kind)
	return condition != nil && condition.Status == metav1.ConditionTrue && condition.ObservedGeneration == generation
}

func (t *tracker) lose(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	translation, ok := object.(*midonetv1.Translation)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.synced[translation.UID] {
		t.inSync--
	}
	delete(t.synced, translation.UID)
	t.check()
}

// check notes what is reached.
func (t *tracker) check() {
	if t.reached == nil || len(t.synced) != t.want {
		return
	}
	if t.exist.IsZero() {
		t.exist = time.Now()
	}
	if t.inSync == t.want {
		t.done = time.Now()
		close(t.reached)
		t.reached = nil
	}
}

// until waits until that many Translations exist and have the condition, and returns when the last one existed and when the last one
// had it. It reports how far it is.
func (t *tracker) until(ctx context.Context, want int) (exist, synced time.Time, err error) {
	reached := make(chan struct{})
	t.mu.Lock()
	t.want, t.reached, t.exist, t.done = want, reached, time.Time{}, time.Time{}
	t.check()
	t.mu.Unlock()
	ticks := time.NewTicker(progressInterval)
	defer ticks.Stop()
	for {
		select {
		case <-reached:
			t.mu.Lock()
			defer t.mu.Unlock()
			return t.exist, t.done, nil
		case <-ticks.C:
			fmt.Fprintf(os.Stderr, "%s\n", t)
		case <-ctx.Done():
			return exist, synced, fmt.Errorf("%s: %w", t, context.Cause(ctx))
		}
	}
}

// progressInterval is how often users are given how far a long measurement is.
const progressInterval = 10 * time.Second

// String returns the progress.
func (t *tracker) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("of %d translations %d exist and %d are %s", t.want, len(t.synced), t.inSync, t.condition)
}
