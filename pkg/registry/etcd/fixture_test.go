// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/apis/example/install"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"

	"groundskeeper.io/groundskeeper/pkg/registry/claims"
)

func newOptions(t *testing.T, servers ...string) *genericoptions.EtcdOptions {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	codec := serializer.NewCodecFactory(scheme).LegacyCodec(examplev1.SchemeGroupVersion)
	options := genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/test-registry", codec))
	options.StorageConfig.Transport.ServerList = servers
	return options
}

// open builds the storage of pods as a registry store does.
func open(t *testing.T, getter *Getter) (storage.Interface, factory.DestroyFunc, error) {
	t.Helper()
	options, err := getter.GetRESTOptions(pods, &example.Pod{})
	if err != nil {
		return nil, nil, err
	}
	const root = "/example.apiserver.k8s.io/pods"
	return options.Decorator(options.StorageConfig, root,
		func(o runtime.Object) (string, error) { return root + "/" + o.(*example.Pod).Name, nil },
		func() runtime.Object { return &example.Pod{} }, func() runtime.Object { return &example.PodList{} },
		storage.DefaultClusterScopedAttr, nil, nil)
}

func newGetter(options *genericoptions.EtcdOptions, rules map[schema.GroupResource]claims.Rule, written func(int64)) *Getter {
	next := options.CreateRESTOptionsGetter(&genericoptions.SimpleStorageFactory{StorageConfig: options.StorageConfig}, nil)
	return NewGetter(next, options, rules, written)
}

func byNode() map[schema.GroupResource]claims.Rule {
	return map[schema.GroupResource]claims.Rule{pods: {
		Separator: "/",
		Name:      func(o runtime.Object) string { return o.(*example.Pod).Spec.NodeName },
		Rejection: func(o runtime.Object, held string) error {
			return apierrors.NewForbidden(pods, o.(*example.Pod).Name, fmt.Errorf("%s is taken", held))
		},
	}}
}

func newPod(name, node string) *example.Pod {
	return &example.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: example.PodSpec{NodeName: node}}
}

func create(ctx context.Context, s storage.Interface, p *example.Pod) error {
	return s.Create(ctx, "/example.apiserver.k8s.io/pods/"+p.Name, p, &example.Pod{}, 0)
}
