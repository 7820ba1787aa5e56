// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	component = "local-volume-node-cleanup"
	// EventQueue is how many events wait at most in a large cluster; further ones are dropped. A queue takes 8 bytes for each.
	EventQueue = 20000
	// eventSenders is how many events are sent concurrently.
	eventSenders = 4
	// eventTimeout ends the sending of one event, and of all that are left at the end.
	eventTimeout = 5 * time.Second
	// maxEventPrefix is what the API server takes of a name, with the suffix.
	maxEventPrefix = 200
)

// EventSender sends events with a dedicated client, so that they take nothing from the deletions, in the order in which they came.
// Permission to create them is all it needs; the uid of a config map that an event only names is read, if that is allowed.
type EventSender struct {
	client  client.Client
	clock   clock.PassiveClock
	metrics *Metrics
	host    string
	queue   chan *corev1.Event
	number  atomic.Int64
}

// NewEventSender returns a sender, with which so many events may wait; Start makes it send.
func NewEventSender(c client.Client, clock clock.PassiveClock, metrics *Metrics, waiting int) *EventSender {
	host, err := os.Hostname()
	if err != nil {
		host = component // the field must not be empty
	}
	return &EventSender{client: c, clock: clock, metrics: metrics, host: host, queue: make(chan *corev1.Event, waiting)}
}

// Event implements Recorder.
func (s *EventSender) Event(object client.Object, eventType, reason, message string) {
	select {
	case s.queue <- s.event(object, eventType, reason, message):
	default:
		s.metrics.EventsLost.Inc()
	}
}

func (s *EventSender) event(object client.Object, eventType, reason, message string) *corev1.Event {
	now := s.clock.Now()
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	prefix := object.GetName()
	if len(prefix) > maxEventPrefix {
		prefix = prefix[:maxEventPrefix]
	}
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      fmt.Sprintf("%s.%x.%x", prefix, now.UnixNano(), s.number.Add(1)),
		},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: KindOf(object), Namespace: object.GetNamespace(), Name: object.GetName(),
			UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		},
		Type: eventType, Reason: reason, Message: kit.Bounded(message, kit.MaxEventMessage), Action: "Cleanup", Count: 1,
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now), EventTime: metav1.NewMicroTime(now),
		Source:              corev1.EventSource{Component: component},
		ReportingController: component, ReportingInstance: s.host,
	}
}

// Start sends events until ctx is done, and then the queued ones, for a few seconds.
func (s *EventSender) Start(ctx context.Context) error {
	var group sync.WaitGroup
	for range eventSenders {
		group.Go(func() {
			for {
				select {
				case event := <-s.queue:
					s.send(context.WithoutCancel(ctx), event)
				case <-ctx.Done():
					s.flush(context.WithoutCancel(ctx))
					return
				}
			}
		})
	}
	group.Wait()
	return nil
}

func (s *EventSender) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case event := <-s.queue:
			s.send(ctx, event)
		default:
			return
		}
	}
}

// identify adds the uid to a reference that only names its object: without it, kubectl describe does not show the event.
func (s *EventSender) identify(ctx context.Context, named *corev1.ObjectReference) {
	if named.UID != "" {
		return
	}
	object := metadataOf(named.Kind)
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: named.Namespace, Name: named.Name}, object); err == nil {
		named.UID, named.ResourceVersion = object.UID, object.ResourceVersion
	}
}

// KindOf returns the kind of a typed object, which it need not have itself.
func KindOf(object client.Object) string { return reflect.TypeOf(object).Elem().Name() }
