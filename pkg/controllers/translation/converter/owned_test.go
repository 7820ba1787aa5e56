// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
)

// one is a cache with one informer, or the reason why there is none.
type one struct {
	cache.Informers
	informer cache.Informer
	err      error
}

func (o one) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return o.informer, o.err
}

// plain is an informer whose indexes cannot be read, full one that takes none.
type (
	plain struct{ cache.Informer }
	full  struct{ toolscache.SharedIndexInformer }
)

// filled is an informer that reports so when it is instructed to.
type filled struct {
	toolscache.SharedIndexInformer
	synced bool
}

func (f *filled) HasSynced() bool { return f.synced }

func (full) AddIndexers(toolscache.Indexers) error { return errors.New("there is one already") }

// TestOwnedInOneBucket checks that an owner finds its own Translations, and not those of others in the same bucket of the index.
func TestOwnedInOneBucket(t *testing.T) {
	informer := &filled{SharedIndexInformer: toolscache.NewSharedIndexInformer(&toolscache.ListWatch{}, &midonetv1.Translation{}, 0, toolscache.Indexers{})}
	owned, err := indexTranslations(t.Context(), one{informer: informer})
	if err != nil {
		t.Fatal(err)
	}
	first, other := types.UID("0"), types.UID("")
	for i := 1; other == ""; i++ {
		if uid := types.UID(fmt.Sprint(i)); bucketOf(uidKey(uid)) == bucketOf(uidKey(first)) {
			other = uid
		}
	}
	for i, owner := range []types.UID{first, first, other} {
		translation := made(fmt.Sprintf("x.4.%d", i), labelled(midonetv1.LabelOwnerUID, string(owner)))
		kept, err := packed.Pack(translation)
		if err != nil {
			t.Fatal(err)
		}
		if err := informer.GetIndexer().Add(kept); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := owned(uidKey(first)); err == nil {
		t.Errorf("a cache that is not filled has %d", len(found))
	}
	informer.synced = true
	for owner, want := range map[types.UID]int{first: 2, other: 1, "nobody": 0} {
		found, err := owned(uidKey(owner))
		if err != nil || len(found) != want {
			t.Errorf("%d of %s, not %d, error %v", len(found), owner, want, err)
		}
		for _, translation := range found {
			if translation.Labels[midonetv1.LabelOwnerUID] != string(owner) {
				t.Errorf("%s is not of %s", translation.Name, owner)
			}
		}
	}
}

func TestCacheWithoutIndex(t *testing.T) {
	for what, informers := range map[string]one{
		"no informer": {err: errors.New("no kind is registered")},
		"no index":    {informer: plain{}},
		"a full one":  {informer: full{}},
	} {
		if _, err := indexTranslations(t.Context(), informers); err == nil {
			t.Errorf("%s is no error", what)
		}
	}
	if _, err := ownerBuckets(&corev1.Pod{}); err == nil {
		t.Error("a Pod is taken for a Translation")
	}
}
