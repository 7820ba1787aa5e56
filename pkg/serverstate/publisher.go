// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package serverstate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	writeTimeout = 10 * time.Second
	// firstTimeout is how long the start of a server waits for the kube-apiserver.
	firstTimeout  = 30 * time.Second
	retryInterval = time.Second
)

// Publisher keeps the State of one server in the ConfigMap.
type Publisher struct {
	configMaps    corev1client.ConfigMapInterface
	server        string
	authorization string
	clock         clock.WithTicker
	observer      *Observer
}

// NewPublisher returns a publisher for a server with a unique name, which has to be a key of a ConfigMap.
func NewPublisher(client corev1client.ConfigMapsGetter, server, authorization string, clock clock.WithTicker) *Publisher {
	return &Publisher{client.ConfigMaps(Namespace), server, authorization, clock, NewObserver(clock)}
}

// First publishes the State before the server listens: a server that others do not know of could decide otherwise than they expect. It
// waits for a kube-apiserver that does not respond.
func (p *Publisher) First(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, retryInterval, firstTimeout, true, func(ctx context.Context) (bool, error) {
		last = p.publish(ctx)
		if kit.IsUnavailable(last) {
			return false, nil
		}
		return true, last
	})
	switch {
	case err == nil:
		return nil
	case last == nil:
		return err
	case apierrors.IsForbidden(last):
		return fmt.Errorf("the kube-apiserver does not let this server publish how it authorizes, apply the RBAC of the installation: %w", last)
	}
	return last
}

// Run renews the State until the context ends, and removes it then: the server has drained. Failures are logged once and tried again.
func (p *Publisher) Run(ctx context.Context) {
	ticker := p.clock.NewTicker(Period)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
			defer cancel()
			if _, err := p.patch(ctx, map[string]any{p.server: nil}); err != nil {
				klog.ErrorS(err, "Failed to remove what the server published of itself, which expires")
			}
			return
		case <-ticker.C():
		}
		err := p.publish(ctx)
		if err != nil && !failing {
			klog.ErrorS(err, "Failed to publish how the server authorizes, trying again")
		}
		failing = err != nil
	}
}

// publish writes the State, and removes those of servers that were killed.
func (p *Publisher) publish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	state, err := Encode(State{ProjectAuthorization: p.authorization, Renewed: metav1.NewTime(p.clock.Now())})
	if err != nil {
		return err
	}
	data := map[string]any{}
	for _, server := range p.observer.discarded() {
		data[server] = nil
	}
	data[p.server] = state
	stored, err := p.patch(ctx, data)
	if apierrors.IsNotFound(err) {
		stored, err = p.configMaps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: Name, Labels: map[string]string{"app.kubernetes.io/part-of": "groundskeeper"}},
			Data:       map[string]string{p.server: state},
		}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // another server was quicker
			stored, err = p.patch(ctx, data)
		}
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", Namespace, Name, err)
	}
	states, err := Of(stored.Data)
	if err != nil {
		klog.ErrorS(err, "Found a state of a server that cannot be read")
		return nil
	}
	p.observer.Observe(states)
	return nil
}

// patch changes keys of the ConfigMap, each of which one server writes, so that no write conflicts with another one.
func (p *Publisher) patch(ctx context.Context, data map[string]any) (*corev1.ConfigMap, error) {
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return nil, err
	}
	return p.configMaps.Patch(ctx, Name, types.MergePatchType, patch, metav1.PatchOptions{})
}
