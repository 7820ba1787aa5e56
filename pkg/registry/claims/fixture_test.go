// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"context"
	"crypto/aes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/kubernetes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/apis/example/install"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
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
	"groundskeeper.io/groundskeeper/pkg/registry/etcd/etcdtest"
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
	soak := os.Getenv("SOAK")
	if soak == "" {
		return 10
	}
	n, err := strconv.Atoi(soak)
	if err != nil || n < 1 {
		t.Fatalf("SOAK=%q is no positive number", soak)
	}
	return n
}

// byNode claims spec.nodeName, as a Project claims spec.namespace.
func byNode() claims.Rule {
	return claims.Rule{
		Separator: "/",
		Name:      func(o runtime.Object) string { return o.(*example.Pod).Spec.NodeName },
		Refused:   refused,
	}
}

// byName claims metadata.name over all namespaces, with everything below a dash.
func byName() claims.Rule {
	return claims.Rule{
		Separator: "-",
		Name:      func(o runtime.Object) string { return o.(*example.Pod).Name },
		Refused:   refused,
	}
}

func refused(o runtime.Object, held string) error {
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

// server is the store with the requests of the tests.
type server struct{ claims.Store }

// waitReady waits until the watch cache serves.
func (s *server) waitReady(t *testing.T) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return s.ReadinessCheckFunc() == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
}

var dryRun = []string{metav1.DryRunAll}

func in(namespace string) context.Context {
	return genericapirequest.WithNamespace(genericapirequest.NewContext(), namespace)
}

func pod(namespace, name, node string) *example.Pod {
	return &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: example.PodSpec{NodeName: node}}
}

func generated(namespace, generateName, node string) *example.Pod {
	p := pod(namespace, "", node)
	p.GenerateName = generateName
	return p
}

func (s *server) create(ctx context.Context, p *example.Pod, dry ...string) error {
	_, err := s.Create(genericapirequest.WithNamespace(ctx, p.Namespace), p.DeepCopy(), rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: dry})
	return err
}

// apply creates or replaces, on the path of server-side apply.
func (s *server) apply(ctx context.Context, p *example.Pod, dry ...string) error {
	return s.change(ctx, p.Namespace, p.Name, func(current *example.Pod) {
		current.Namespace, current.Name, current.Spec, current.Finalizers = p.Namespace, p.Name, p.Spec, p.Finalizers
	}, dry...)
}

func (s *server) change(ctx context.Context, namespace, name string, change func(*example.Pod), dry ...string) error {
	info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		p := old.DeepCopyObject().(*example.Pod)
		change(p)
		return p, nil
	})
	_, _, err := s.Update(genericapirequest.WithNamespace(ctx, namespace), name, info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{DryRun: dry})
	return err
}

func (s *server) delete(ctx context.Context, namespace, name string, dry ...string) error {
	_, _, err := s.Delete(genericapirequest.WithNamespace(ctx, namespace), name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{DryRun: dry})
	return err
}

// strategy accepts everything but a message that says "invalid".
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
		return field.ErrorList{field.Invalid(field.NewPath("status", "message"), message, "is said to be invalid")}
	}
	return nil
}

func (s strategy) ValidateUpdate(ctx context.Context, o, _ runtime.Object) field.ErrorList {
	return s.Validate(ctx, o)
}

// keys returns what etcd holds below a prefix, by key without it.
func (c *cluster) keys(t *testing.T, root string) map[string]string {
	t.Helper()
	found, err := c.Client.Kubernetes.List(t.Context(), root, kubernetes.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, kv := range found.Kvs {
		keys[strings.TrimPrefix(string(kv.Key), root)] = string(kv.Value)
	}
	return keys
}
