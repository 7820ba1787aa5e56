// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// informers measures how long it takes until an informer of 10,000 objects has synced.
func (c *comparison) informers(ctx context.Context) error {
	all, err := contenders(c.Plane, administrator)
	if err != nil {
		return err
	}
	results := rounds{}
	spaces := map[string]string{}
	for round := range c.Rounds {
		for i := range all {
			turn := all[(i+round)%len(all)]
			if spaces[turn.root] == "" {
				if spaces[turn.root], err = c.space(ctx); err != nil {
					return err
				}
				if _, err := turn.fill(ctx, spaces[turn.root], memoryObjects); err != nil {
					return err
				}
			}
			r, err := measured(ctx, []int{0}, 0, 1, append([]*plane.Process{c.Etcd}, turn.processes...), func(ctx context.Context, _, _ int) error {
				return turn.sync(ctx, spaces[turn.root], memoryObjects)
			})
			if err != nil {
				return fmt.Errorf("%s: %w", turn.name, err)
			}
			results[turn.name] = append(results[turn.name], r)
		}
	}
	return c.report(fmt.Sprintf("sync of an informer with %d objects", memoryObjects), results)
}

// sync runs an informer until it has as many objects.
func (c *contender) sync(ctx context.Context, space string, objects int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	version, err := schema.ParseGroupVersion(c.root[len("/apis/"):])
	if err != nil {
		return err
	}
	types := runtime.NewScheme()
	types.AddKnownTypeWithName(version.WithKind("Translation"), &midonetv1.Translation{})
	types.AddKnownTypeWithName(version.WithKind("TranslationList"), &midonetv1.TranslationList{})
	metav1.AddToGroupVersion(types, version)
	config := rest.CopyConfig(c.config)
	config.APIPath, config.GroupVersion, config.QPS = "/apis", &version, -1
	config.ContentType, config.AcceptContentTypes = c.media, c.media
	config.NegotiatedSerializer = serializer.NewCodecFactory(types).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return err
	}
	informer := cache.NewSharedIndexInformer(cache.NewListWatchFromClient(client, plural, space, fields.Everything()), &midonetv1.Translation{}, 0, nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	limit, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	if !cache.WaitForCacheSync(limit.Done(), informer.HasSynced) {
		return errors.New("the informer has not synced within a minute")
	}
	if n := len(informer.GetStore().ListKeys()); n != objects {
		return fmt.Errorf("the informer has %d objects, not %d", n, objects)
	}
	cancel()
	<-ended
	return nil
}
