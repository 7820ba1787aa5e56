// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"context"
	"crypto/aes"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/v3/kubernetes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/apis/example/install"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"
	aestransformer "k8s.io/apiserver/pkg/storage/value/encrypt/aes"

	"groundskeeper.io/groundskeeper/pkg/registry/claims"
	"groundskeeper.io/groundskeeper/pkg/registry/etcd"
	"groundskeeper.io/groundskeeper/test/support/etcdtest"
	"groundskeeper.io/groundskeeper/test/support/soaktest"
)

const (
	prefix     = "/test-registry"
	objectRoot = prefix + "/example.apiserver.k8s.io/pods/"
	claimRoot  = prefix + "/claims/example.apiserver.k8s.io/pods/"
)

var pods = example.Resource("pods")

// rounds is how often the random tests repeat.
func rounds(t *testing.T) int {
	t.Helper()
	return soaktest.Rounds(t, 10)
}

// byNode claims spec.nodeName, as a Project claims spec.namespace.
func byNode() claims.Rule {
	return claims.Rule{
		Separator: "/",
		Name:      func(o runtime.Object) string { return o.(*example.Pod).Spec.NodeName },
		Rejection: rejected,
	}
}

// byName claims metadata.name over all namespaces, with everything below a dash.
func byName() claims.Rule {
	return claims.Rule{
		Separator: "-",
		Name:      func(o runtime.Object) string { return o.(*example.Pod).Name },
		Rejection: rejected,
	}
}

func rejected(o runtime.Object, held string) error {
	pod := o.(*example.Pod)
	if pod.GenerateName != "" {
		return apierrors.NewAlreadyExists(pods, pod.Name)
	}
	return apierrors.NewForbidden(pods, pod.Name, fmt.Errorf("%q is taken", held))
}

// cluster is an etcd, and the key with which servers encrypt.
type cluster struct {
	*kubernetes.Client
	codec       runtime.Codec
	scheme      *runtime.Scheme
	transformer value.Transformer
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	t.Setenv("ETCD_CLIENT_DEBUG", "panic") // no line for each abandoned request
	scheme := runtime.NewScheme()
	install.Install(scheme)
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	block, err := aes.NewCipher([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	transformer, err := aestransformer.NewGCMTransformer(block)
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{
		Client:      etcdtest.Run(t),
		codec:       serializer.NewCodecFactory(scheme).LegacyCodec(examplev1.SchemeGroupVersion),
		scheme:      scheme,
		transformer: transformer,
	}
}

// server returns one server's store on the cluster.
func (c *cluster) server(t *testing.T, rule claims.Rule) *server {
	t.Helper()
	options := genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig(prefix, c.codec))
	options.StorageConfig.Transport.ServerList = c.Endpoints()
	options.StorageConfig.CompactionInterval = 0 // tests read the history
	options.StorageConfig.CountMetricPollPeriod = 0
	next := options.CreateRESTOptionsGetter(&genericoptions.SimpleStorageFactory{StorageConfig: options.StorageConfig}, transformers{c.transformer})
	strategy := strategy{ObjectTyper: c.scheme, NameGenerator: names.SimpleNameGenerator}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &example.Pod{} },
		NewListFunc:               func() runtime.Object { return &example.PodList{} },
		DefaultQualifiedResource:  pods,
		SingularQualifiedResource: example.Resource("pod"),
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		TableConvertor:            rest.NewDefaultTableConvertor(pods),
		TTLFunc: func(o runtime.Object, ttl uint64, _ bool) (uint64, error) {
			if seconds := o.(*example.Pod).Spec.ActiveDeadlineSeconds; seconds != nil {
				return uint64(*seconds), nil
			}
			return ttl, nil
		},
	}
	getter := etcd.NewGetter(next, options, map[schema.GroupResource]claims.Rule{pods: rule}, nil)
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: getter}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Destroy)
	return &server{claims.Store{Store: store}}
}

type transformers struct{ value.Transformer }

func (t transformers) TransformerForResource(schema.GroupResource) value.Transformer {
	return t.Transformer
}

var dryRun = []string{metav1.DryRunAll}

// strategy accepts everything but a message that is "invalid".
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
}

func (strategy) NamespaceScoped() bool                                            { return true }
func (strategy) AllowCreateOnUpdate(context.Context) bool                         { return false }
func (strategy) AllowUnconditionalUpdate(context.Context) bool                    { return true }
func (strategy) PrepareForCreate(context.Context, runtime.Object)                 {}
func (strategy) PrepareForUpdate(_ context.Context, _, _ runtime.Object)          {}
func (strategy) Canonicalize(runtime.Object)                                      {}
func (strategy) WarningsOnCreate(context.Context, runtime.Object) []string        { return nil }
func (strategy) WarningsOnUpdate(_ context.Context, _, _ runtime.Object) []string { return nil }

func (strategy) Validate(_ context.Context, o runtime.Object) field.ErrorList {
	if message := o.(*example.Pod).Status.Message; message == "invalid" {
		return field.ErrorList{field.Invalid(field.NewPath("status", "message"), message, "is reported to be invalid")}
	}
	return nil
}

func (s strategy) ValidateUpdate(ctx context.Context, o, _ runtime.Object) field.ErrorList {
	return s.Validate(ctx, o)
}

// keys returns what etcd holds below a prefix, by key without it.
func (c *cluster) keys(t *testing.T, root string) map[string]string {
	t.Helper()
	found, err := c.Kubernetes.List(t.Context(), root, kubernetes.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, kv := range found.Kvs {
		keys[strings.TrimPrefix(string(kv.Key), root)] = string(kv.Value)
	}
	return keys
}
