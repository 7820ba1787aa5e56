// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"groundskeeper.io/groundskeeper/pkg/apiserver/storeidentity"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// page is how many objects are read at a time.
const page = 500

// Export writes all objects of a store, in their state at one revision. Servers may write meanwhile.
func Export(ctx context.Context, store Store, out io.Writer) (Header, error) {
	stored, revision, err := storeidentity.Stored(ctx, store.KV, store.Prefix)
	if err != nil {
		return Header{}, err
	}
	header := Header{Program: version.String(), Time: time.Now().UTC().Truncate(time.Second), Revision: revision}
	if stored != nil {
		header.Store = stored.ID
	}
	for _, resource := range store.Resources {
		n, err := store.count(ctx, resource.root(), revision)
		if err != nil {
			return header, err
		}
		header.Resources = append(header.Resources, Count{
			Group: resource.Group, Version: resource.Version, Resource: resource.name(), Kind: resource.Kind, Objects: int(n),
		})
	}
	if err := store.checkUnknown(ctx, header, stored != nil); err != nil {
		return header, err
	}
	w, err := NewWriter(out, header)
	if err != nil {
		return header, err
	}
	for _, resource := range store.Resources {
		if err := export(ctx, resource, revision, w); err != nil {
			return header, fmt.Errorf("cannot export %s.%s: %w", resource.name(), resource.Group, err)
		}
	}
	return header, w.Close()
}

// count returns the number of keys with a prefix at a revision.
func (s Store) count(ctx context.Context, below string, revision int64) (int64, error) {
	prefix := s.key(below) + "/"
	found, err := s.KV.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly(), clientv3.WithRev(revision))
	if err != nil {
		return 0, fmt.Errorf("etcd keys %s: %w", prefix, err)
	}
	return found.Count, nil
}

// checkUnknown fails when the store holds more than this program knows of: a newer one wrote it, and its backup would
// lack what this one cannot read.
func (s Store) checkUnknown(ctx context.Context, header Header, hasIdentity bool) error {
	all, err := s.count(ctx, "", header.Revision)
	if err != nil {
		return err
	}
	claims, err := s.count(ctx, "claims", header.Revision)
	if err != nil {
		return err
	}
	known := claims + int64(header.Objects())
	if hasIdentity {
		known++
	}
	if all != known {
		return fmt.Errorf("etcd has %d keys below %s, and this program knows of %d: use the version of groundskeeper-apiserver that serves "+
			"this store",
			all, s.key(""), known)
	}
	return nil
}

// export writes the objects of one resource.
func export(ctx context.Context, resource Resource, revision int64, w *Writer) error {
	options := storage.ListOptions{
		Recursive: true, ResourceVersion: strconv.FormatInt(revision, 10), ResourceVersionMatch: metav1.ResourceVersionMatchExact,
		Predicate: storage.SelectionPredicate{Label: labels.Everything(), Field: fields.Everything(), Limit: page},
	}
	for {
		list := resource.Store.NewListFunc()
		if err := resource.storage().GetList(ctx, resource.root(), options, list); err != nil {
			if apierrors.IsResourceExpired(err) {
				return fmt.Errorf("it took longer than etcd keeps old revisions (--etcd-compaction-interval of the servers), run it again: %w", err)
			}
			return err
		}
		err := meta.EachListItem(list, func(obj runtime.Object) error {
			line, err := runtime.Encode(resource.Codec, obj)
			if err != nil {
				return err
			}
			return w.Write(line)
		})
		if err != nil {
			return err
		}
		listed, err := meta.ListAccessor(list)
		if err != nil {
			return err
		}
		if listed.GetContinue() == "" {
			return nil
		}
		options.Predicate.Continue = listed.GetContinue()
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
	}
}
