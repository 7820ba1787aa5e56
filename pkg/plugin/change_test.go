// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// TestChange checks that a change is repeated over what a controller reported meanwhile, and over nothing that a user decides by.
func TestChange(t *testing.T) {
	for what, test := range map[string]struct {
		meanwhile func(*kubernikusv1.Kluster)
		fails     bool
	}{
		"nothing":       {func(*kubernikusv1.Kluster) {}, false},
		"its status":    {func(k *kubernikusv1.Kluster) { k.Status.Deorbit = &kubernikusv1.DeorbitStatus{} }, false},
		"its spec":      {func(k *kubernikusv1.Kluster) { k.Generation++ }, true},
		"an annotation": {func(k *kubernikusv1.Kluster) { metav1.SetMetaDataAnnotation(&k.ObjectMeta, "changed", "meanwhile") }, true},
		"a label":       {func(k *kubernikusv1.Kluster) { metav1.SetMetaDataLabel(&k.ObjectMeta, "changed", "meanwhile") }, true},
		"a finalizer":   {func(k *kubernikusv1.Kluster) { k.Finalizers = append(k.Finalizers, "example.com/changed") }, true},
		"its name only": {func(k *kubernikusv1.Kluster) { k.UID = "another" }, true},
		"its deletion":  {func(k *kubernikusv1.Kluster) { k.DeletionTimestamp = new(metav1.NewTime(noon)) }, true},
	} {
		t.Run(what, func(t *testing.T) {
			k := deorbited(func(k *kubernikusv1.Kluster) { k.UID, k.DeletionTimestamp = "seen", nil })
			c, _ := on(t, nil, k)
			key := client.ObjectKeyFromObject(k)
			if err := c.client.Get(t.Context(), key, k); err != nil {
				t.Fatal(err)
			}
			seen, conflicting := k.DeepCopy(), true
			other := interceptor.NewClient(c.client, interceptor.Funcs{
				Patch: func(ctx context.Context, base client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
					if conflicting {
						conflicting = false
						if err := base.Update(ctx, seen); err != nil { // a new resourceVersion
							return err
						}
					}
					return base.Patch(ctx, object, patch, options...)
				},
				Get: func(ctx context.Context, base client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if err := base.Get(ctx, key, object, options...); err != nil {
						return err
					}
					test.meanwhile(object.(*kubernikusv1.Kluster))
					return nil
				},
			})
			err := change(t.Context(), other, k, func() { metav1.SetMetaDataAnnotation(&k.ObjectMeta, "wanted", "true") })
			if conflicting || (err != nil) != test.fails || test.fails && !strings.Contains(err.Error(), "modified meanwhile") {
				t.Errorf("error = %v, want one: %t", err, test.fails)
			}
			stored := &kubernikusv1.Kluster{}
			if err := c.client.Get(t.Context(), key, stored); err != nil || (stored.Annotations["wanted"] == "") != test.fails {
				t.Errorf("annotations = %v, %v", stored.Annotations, err)
			}
		})
	}
}
