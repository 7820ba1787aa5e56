// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// checkReadiness reads every revision of every object that the tests stored in the shared plane. For kstatus, by which Flux, Helm
// and cli-utils wait, none may be Current that was just created, that was just changed, or whose generation no controller
// has reconciled; and what the plugin and the console call ok is what is Current.
func checkReadiness(ctx context.Context) error {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{shared.EtcdEndpoint()}, TLS: shared.EtcdTLS()})
	if err != nil {
		return err
	}
	defer func() { _ = etcd.Close() }()
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	put, err := etcd.Put(ctx, storePrefix+"/end-of-readiness", "")
	if err != nil {
		return fmt.Errorf("mark the end of the history: %w", err)
	}
	decoder, generations, current := protobuf.NewSerializer(s, s), map[types.UID]int64{}, 0
	for response := range etcd.Watch(ctx, storePrefix+"/", clientv3.WithPrefix(), clientv3.WithRev(1), clientv3.WithFragment()) {
		if err := response.Err(); err != nil {
			return fmt.Errorf("read the history of etcd: %w", err)
		}
		for _, event := range response.Events {
			if event.Kv.ModRevision >= put.Header.Revision {
				if current == 0 && !selected() {
					return errors.New("no revision of any object is Current: readiness was not tested")
				}
				return nil
			}
			key := strings.TrimPrefix(string(event.Kv.Key), storePrefix)
			if event.Type != clientv3.EventTypePut || strings.HasPrefix(key, "/claims/") || strings.Count(key, "/") < 3 {
				continue
			}
			object, _, err := decoder.Decode(event.Kv.Value, nil, nil)
			if err != nil {
				return fmt.Errorf("decode %s: %w", key, err)
			}
			ready, err := checkRevision(object, generations)
			if err != nil {
				return fmt.Errorf("%s at revision %d: %w", key, event.Kv.ModRevision, err)
			}
			if ready {
				current++
			}
		}
	}
	return errors.Join(errors.New("the watch of etcd ended early"), ctx.Err())
}

// checkRevision reports whether a revision is Current, with an error if it must not be. It records generations, by UID.
func checkRevision(object runtime.Object, generations map[types.UID]int64) (bool, error) {
	o, ok := object.(metav1.Object)
	if !ok {
		return false, fmt.Errorf("%T has no metadata", object)
	}
	before, known := generations[o.GetUID()]
	generations[o.GetUID()] = o.GetGeneration()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return false, err
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		return false, err
	}
	if stored, ok := object.(client.Object); ok {
		if findings := report.Of(stored, nil, time.Now()); report.OK(findings) != (result.Status == status.CurrentStatus) {
			return false, fmt.Errorf("it is %s for kstatus, and the findings of the plugin are %+v", result.Status, findings)
		}
	}
	if result.Status != status.CurrentStatus {
		return false, nil
	}
	observed, _, _ := unstructured.NestedInt64(content, "status", "observedGeneration")
	switch {
	case !known:
		return true, errors.New("it is Current and was just created")
	case before != o.GetGeneration():
		return true, fmt.Errorf("it is Current and was just changed to generation %d", o.GetGeneration())
	case observed != o.GetGeneration():
		return true, fmt.Errorf("it is Current, and generation %d has not been reconciled, but %d", o.GetGeneration(), observed)
	}
	return true, nil
}
