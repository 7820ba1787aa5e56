// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watchOnce watches an object from the version that is given until the watch ends. No error means that.
func (c *command) watchOnce(ctx context.Context, object client.Object, list client.ObjectList, tell func(client.Object) error, gone error) error {
	options := &client.ListOptions{
		Namespace:     object.GetNamespace(),
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, object.GetName()),
		Raw:           &metav1.ListOptions{ResourceVersion: object.GetResourceVersion()},
	}
	events, err := c.client.Watch(ctx, list, options)
	if err != nil {
		return err
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, ok := <-events.ResultChan():
			if !ok || event.Type == watch.Error {
				return nil
			}
			now, isObject := event.Object.(client.Object)
			if !isObject {
				continue
			}
			if err := tell(now); err != nil {
				return err
			}
			if event.Type == watch.Deleted {
				return gone
			}
		}
	}
}
